"""The roofline as SVG and PNG: what stands on it, by its structure; matplotlib's own bytes differ between versions."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import captures
import matplotlib
import matplotlib.image
import msgspec
import pytest
from report_runs import hostile, imported, recorded
from running import REPO

from kprof.blocks.roofline_records import Point
from kprof.renderers import json as json_renderer
from kprof.renderers import png, svg
from kprof.renderers.plot.marks import diameter
from kprof.renderers.plot.placing import Placer, centred
from kprof.renderers.plot.scene import scene_of
from kprof.renderers.plot.theme import DARK, FILLS, INK, LEVELS, MARKERS, MUTED, PAPER
from kprof.report import Report, build_report

NS = {"s": "http://www.w3.org/2000/svg"}
NAMES = ("cuda_naive_4x8192x4096", "cuda_naive_4x10x32", "triton_fused_4x8192x4096", "matmul_bf16")


def tree(report: Report) -> ElementTree.Element:
    return ElementTree.fromstring(svg.render(report))


@cache
def drawn(name: str) -> str:
    return svg.render(recorded(name))


def tree_of(name: str) -> ElementTree.Element:
    return ElementTree.fromstring(drawn(name))


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(one.itertext()) for one in root.iterfind(".//s:text", NS)]


def titles(root: ElementTree.Element) -> dict[str, str]:
    """What hovering a point says, by the point's id."""
    return {
        group.get("id", ""): "".join(found.itertext())
        for group in root.iterfind(".//s:g", NS)
        if (found := group.find("s:title", NS)) is not None
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_point_of_the_report_is_drawn_and_says_its_numbers(name: str) -> None:
    report = recorded(name)
    root = tree_of(name)
    found = titles(root)
    expected = {f"kprof-roofline-{one.number}-{one.level}" for one in report.blocks.roofline.points or ()}
    assert set(found) == expected
    assert all("GB/s" in text and "TFLOP/s" in text for text in found.values())
    for identity in expected:
        group = root.find(f".//s:g[@id='{identity}']", NS)
        assert group is not None
        assert group.find(".//s:use", NS) is not None


def test_a_point_says_whose_it_is_and_how_much_of_the_time() -> None:
    found = titles(tree_of("cuda_naive_4x8192x4096"))
    assert found["kprof-roofline-1-dram"] == (
        "1. logsumexp_kernel (kernel), 100 % of the time\nDRAM: 3.68 FLOP/byte, 10.7 TFLOP/s, 2893 GB/s"
    )
    assert found["kprof-roofline-2-l2"].startswith("2. elementwise_kernel (reference), 31.7 % of the time\nL2: ")


def test_roofs_are_labelled_with_their_values_and_ridge_points_with_theirs() -> None:
    found = texts(tree_of("cuda_naive_4x8192x4096"))
    measured = ("DRAM 4800 GB/s (measured 4373)", "L2 9900 GB/s (measured 10854)", "L1 33454 GB/s (measured 32325)")
    for label in (*measured, "FP32 66.9 TFLOP/s (measured 65.2)", "13.9", "6.76", "2.00"):
        assert label in found


def test_equal_peaks_are_one_line_with_both_names() -> None:
    report = recorded("matmul_bf16")
    block = report.blocks.roofline
    peak = next(one for one in block.ceilings or () if one.name == "BF16 tensor")
    twin = msgspec.structs.replace(peak, name="FP16 tensor")
    roofline = msgspec.structs.replace(block, ceilings=(*(block.ceilings or ()), twin))
    both = msgspec.structs.replace(report, blocks=msgspec.structs.replace(report.blocks, roofline=roofline))
    assert "BF16 tensor, FP16 tensor 989 TFLOP/s (measured 786)" in texts(tree(both))


def test_kernels_without_flop_stand_by_their_bandwidth() -> None:
    scene = scene_of(recorded("cuda_naive_4x8192x4096"))
    assert [one.name for one in scene.flopless] == ["reduce_kernel", *["vectorized_elementwise_kernel"] * 2]
    found = tree_of("cuda_naive_4x8192x4096")
    assert any(text.startswith("kernels without FLOP") for text in texts(found))
    assert "kprof-roofline-4-dram" in titles(found)


def test_flop_that_nobody_counted_do_not_drop_a_kernel() -> None:
    report = recorded("matmul_bf16")
    points = tuple(
        msgspec.structs.replace(one, achieved_tflops=None, arithmetic_intensity=None)
        for one in report.blocks.roofline.points or ()
    )
    scene = scene_of(with_points(report, points))
    assert (scene.rated, len(scene.flopless)) == ((), 2)


def with_points(report: Report, points: tuple[Point, ...]) -> Report:
    roofline = msgspec.structs.replace(report.blocks.roofline, points=points)
    return msgspec.structs.replace(report, blocks=msgspec.structs.replace(report.blocks, roofline=roofline))


def test_a_point_far_away_stands_at_the_edge_and_squeezes_nothing() -> None:
    scene = scene_of(recorded("matmul_bf16"))  # copies that bypass L1: 1.1e7 FLOP a byte there
    assert scene.reaches_edges
    assert scene.intensities[1] < 1e4
    assert "at an edge: beyond it, or no bytes there" in texts(tree_of("matmul_bf16"))


def test_sides_and_levels_differ_without_colour() -> None:
    assert MARKERS["kernel"] != MARKERS["ref"]
    assert len(set(FILLS.values())) == len(FILLS) == 3


def test_area_is_proportional_to_the_share_of_time() -> None:
    assert (diameter(1.0) / diameter(0.25)) ** 2 == pytest.approx(4.0)
    assert diameter(0.0) > 3
    assert diameter(None) > 3


@pytest.mark.parametrize("count", [1, 18, 40])
def test_numbers_of_the_points_overlap_nothing_at_one_kernel_as_at_forty(count: int) -> None:
    found = tree(imported(count, named=lambda index: f"kernel_{index}"))
    placed = [
        (float(one.get("x", 0)), float(one.get("y", 0)))
        for one in found.iterfind(".//s:text", NS)
        if "".join(one.itertext()).isdigit() and "middle" in one.get("style", "") and "8px" in one.get("style", "")
    ]
    assert len(titles(found)) >= 2 * count
    apart = [
        (one, other)
        for index, one in enumerate(placed)
        for other in placed[:index]
        if abs(one[0] - other[0]) < 4 and abs(one[1] - other[1]) < 6
    ]
    assert apart == []


def test_many_kernels_are_counted_where_the_key_has_no_room() -> None:
    found = texts(tree(imported(60, named=lambda index: f"kernel_{index}")))
    assert any(text.startswith("and ") and text.endswith(" more, with less time") for text in found)


def test_hostile_names_stay_text() -> None:
    report = hostile(imported(21, named=lambda index: f"k{index}"))
    made = svg.render(report)
    root = ElementTree.fromstring(made)
    assert not list(root.iterfind(".//s:script", NS))
    assert not {"<script", "\x00", "\x1b"} & set(re.findall(r"<script|\x00|\x1b", made))
    assert r"$\frac{1}{0}$" in texts(root)
    assert "<script>alert(1)</script>" in texts(root)
    assert max(map(len, made.split("<"))) < 4000
    assert png.render(report)[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_same_report_gives_the_same_bytes() -> None:
    report = recorded("matmul_bf16")
    assert svg.render(report) == drawn("matmul_bf16")
    assert png.render(report) == png.render(report)
    assert "2026" not in drawn("matmul_bf16")


def test_it_is_named_and_described_for_those_who_do_not_see_it() -> None:
    root = tree_of("matmul_bf16")
    assert root.get("role") == "img"
    named = root.get("aria-labelledby", "").split()
    assert [root.find(f"*[@id='{one}']") is not None for one in named] == [True, True]
    assert "DRAM 4800 GB/s" in (root.findtext("s:desc", "", NS))


def test_every_colour_has_its_counterpart_in_the_dark() -> None:
    found = drawn("cuda_naive_4x8192x4096")
    body = found.split("</style>")[1]
    used = set(re.findall(r"#[0-9a-f]{6}\b", body))
    assert used <= set(DARK)
    assert "prefers-color-scheme:dark" in found


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", [INK, MUTED, *LEVELS.values()])
def test_text_has_contrast_in_light_and_dark(colour: str) -> None:
    for ink, paper in ((colour, PAPER), (DARK[colour], DARK[PAPER])):
        light, dark = sorted((luminance(ink), luminance(paper)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_png_is_a_picture_of_a_fit_size() -> None:
    data = png.render(recorded("cuda_naive_4x8192x4096"))
    height, width = matplotlib.image.imread(io.BytesIO(data)).shape[:2]
    assert (width, 900 < height < 1500) == (1612, True)
    assert len(data) < 260_000


@pytest.mark.parametrize("name", ["cpu", "tiny", "only_build", "build_failure"])
def test_without_a_plot_the_picture_says_why(name: str) -> None:
    report = build_report(captures.ALL[name]())
    reason = report.blocks.roofline.reason
    assert reason is not None
    assert any(reason.code in text for text in texts(tree(report)))
    assert png.render(report)[:4] == b"\x89PNG"


def test_no_setting_of_the_user_changes_it_and_none_is_left_changed() -> None:
    report = recorded("matmul_bf16")
    plain = drawn("matmul_bf16")
    with matplotlib.rc_context({"axes.facecolor": "red", "font.size": 40, "svg.fonttype": "path"}):
        assert svg.render(report) == plain
        assert matplotlib.rcParams["font.size"] == 40


def test_it_needs_no_display_and_no_pyplot(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from kprof.renderers import svg;"
        "from kprof.report_file import load_report;"
        "svg.render(load_report(Path('r.json'))[0]); assert 'matplotlib.pyplot' not in sys.modules"
    )
    (tmp_path / "r.json").write_text(json_renderer.render(recorded("matmul_bf16")))
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPO), "HOME": str(tmp_path / "nowhere")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_label_takes_the_first_free_place_else_the_least_crowded() -> None:
    placer = Placer((0, 0, 100, 100), [centred(50, 50, 20, 20)])
    assert placer.best([centred(50, 50, 10, 10), centred(80, 80, 10, 10)]) == 1
    assert placer.best([centred(50, 50, 10, 10), centred(84, 84, 10, 10)]) == 1
    assert placer.best([centred(-50, 50, 10, 10)]) is None
