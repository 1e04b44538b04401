"""Spec files: every wrong row is refused with file, line and key, and a file of the user's own is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from kprof.errors import InputFileError
from kprof.resources import resource_dir
from kprof.specfile import load_spec

H100 = (resource_dir("specs") / "h100-sxm5-80gb.yaml").read_text()


def edited(tmp_path: Path, old: str, new: str) -> Path:
    """The H100's file with one edit, which must change it."""
    assert H100.count(old) >= 1, old
    path = tmp_path / "mine.yaml"
    path.write_text(H100.replace(old, new, 1))
    return path


def refusal(path: Path) -> tuple[int, str]:
    with pytest.raises(InputFileError) as caught:
        load_spec(path)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    name, line, message = caught.value.message.removeprefix(str(path.parent) + "/").split(":", 2)
    assert name == path.name
    return int(line), message.strip()


def line_of(path: Path, text: str, after: str = "") -> int:
    lines = path.read_text().splitlines()
    start = next((i for i, line in enumerate(lines) if after and line.startswith(after)), 0)
    return next(i for i in range(start, len(lines)) if text in lines[i]) + 1


# --- rows of case 49 -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["989.4e0", "9894e-1", "+989.4", "9.894e2"])
def test_numbers_in_any_notation_are_numbers(tmp_path: Path, number: str) -> None:
    spec = load_spec(edited(tmp_path, "tflops: 989.4", f"tflops: {number}"))

    assert spec.peaks.bf16 is not None
    assert spec.peaks.bf16.tflops == pytest.approx(989.4)


@pytest.mark.parametrize(
    ("number", "found"),
    [
        ("989e12", "found 989000000000000.0, expected a number < 1000000.0"),
        ("9.89e14", "found 989000000000000.0, expected a number < 1000000.0"),
        ('"989 TFLOPS"', "found '989 TFLOPS', expected a number"),
        ('"989.4"', "found '989.4', expected a number"),
        ("-989.4", "found -989.4, expected a number > 0.0"),
        ("0", "found 0, expected a number > 0.0"),
        (".nan", "found '.nan', expected a number"),
        (".inf", "found '.inf', expected a number"),
        ("true", "found True, expected a number"),
        ("", "found nothing, expected a number"),
        ("[989.4]", "found a list, expected a number"),
    ],
)
def test_a_peak_that_is_no_number_is_refused_with_its_line(tmp_path: Path, number: str, found: str) -> None:
    path = edited(tmp_path, "tflops: 989.4", f"tflops: {number}")

    line, message = refusal(path)

    assert line == line_of(path, "tflops: ", after="  bf16:")
    assert message == f"peaks.bf16.tflops: {found}"


def test_a_bandwidth_in_byte_per_second_is_refused(tmp_path: Path) -> None:
    path = edited(tmp_path, "bandwidth_gbs: 3350", "bandwidth_gbs: 3.35e12")

    line, message = refusal(path)

    assert line == line_of(path, "3.35e12")
    assert message == "memory.bandwidth_gbs: found 3350000000000.0, expected a number < 100000.0"


def test_a_missing_key_names_where_it_belongs(tmp_path: Path) -> None:
    path = edited(tmp_path, "  bandwidth_gbs: 3350\n", "")

    line, message = refusal(path)

    assert line == line_of(path, "memory:")
    assert message == "memory: found no bandwidth_gbs, expected one"


def test_an_unknown_key_is_refused_on_its_line(tmp_path: Path) -> None:
    path = edited(tmp_path, "  bandwidth_gbs: 3350\n", "  bandwidth_gbs: 3350\n  bandwith: 3350\n")

    line, message = refusal(path)

    assert line == line_of(path, "bandwith:")
    assert message == "memory.bandwith: found a key that means nothing here"


def test_a_duplicate_key_is_refused(tmp_path: Path) -> None:
    path = edited(tmp_path, "  bandwidth_gbs: 3350\n", "  bandwidth_gbs: 3350\n  bandwidth_gbs: 4800\n")

    line, message = refusal(path)

    assert line == line_of(path, "4800")
    assert message.startswith("memory.bandwidth_gbs: found twice, first on line ")


def test_the_sparse_figure_as_dense_is_refused(tmp_path: Path) -> None:
    path = edited(tmp_path, "tflops: 989.4", "tflops: 1978.9")

    line, message = refusal(path)

    assert line == line_of(path, "tflops: 1978.9")
    assert "found 1978.9 dense and 1978.9 with sparsity" in message


def test_the_sparse_figure_as_dense_is_refused_with_no_sparse_block_beside_it(tmp_path: Path) -> None:
    path = edited(tmp_path, "tflops: 989.4", "tflops: 1978.9")
    text = path.read_text()
    start, end = text.index("sparse:"), text.index("memory:")
    path.write_text(text[:start] + text[end:])

    line, message = refusal(path)

    assert line == line_of(path, "tflops: 1978.9")
    assert message == (
        "peaks.bf16.tflops: found 1978.9 (twice that: the figure with sparsity?), expected 989.4 within 2%"
        " = 132 SMs x 4096 FLOP/clk/SM x 1830 MHz"
    )


def test_a_consistent_sparse_row_is_still_refused_by_what_the_sm_can_do(tmp_path: Path) -> None:
    path = edited(
        tmp_path, "tflops: 989.4\n    flop_per_clk_per_sm: 4096", "tflops: 1978.9\n    flop_per_clk_per_sm: 8192"
    )
    path.write_text(path.read_text().replace("  bf16: 1978.9", "  bf16: 3957.8"))

    line, message = refusal(path)

    assert line == line_of(path, "flop_per_clk_per_sm: 8192")
    assert message == "peaks.bf16.flop_per_clk_per_sm: found 8192, expected at most 4096, dense, at 9.0"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  bf16: 1978.9", "  fp4: 7900", "sparse.fp4: found 7900 and no dense peaks.fp4, expected both or neither"),
        ("clock_mhz: 1830", "clock_mhz: 2000", "peaks.tf32.tflops: found 494.7, expected 540.7 within 2%"),
        ("max_sm_clock_mhz: 1980", "max_sm_clock_mhz: 1900", "peaks.fp64.clock_mhz: found 1980, expected at most"),
        ("sm_count: 132", "sm_count: 114", "peaks.fp64.tflops: found 33.5, expected 28.89 within 2%"),
        ("bandwidth_gbs: 3350", "bandwidth_gbs: 3938", "memory.bandwidth_gbs: found 3938, expected 90% to 102% of"),
        ("bandwidth_gbs: 3352.3", "bandwidth_gbs: 4916.7", "memory.pin_bandwidth_gbs: found 4916.7, expected 3352.3"),
        ("read_gbs: 3180", "read_gbs: 3400", "achievable.read_gbs: found 3400, expected less than the peak of 3352.3"),
        ("bytes: 52428800", "bytes: null", "l2.bytes: found nothing and no l2.note"),
        ("spec_version: 1", "spec_version: 2", "spec_version: found 2, expected 1"),
        ("spec_version: 1\n", "", "found no spec_version"),
        ('capability: "9.0"', 'capability: "9.9"', "compute_capability: found '9.9', expected one of 7.0, 7.5"),
        ('capability: "9.0"', "capability: 9", "compute_capability: found 9, expected text"),
        ("sm_count: 132", "sm_count: 1" + "0" * 300, "sm_count: found 1000"),
        ("sm_count: 132", "sm_count: 132.5", "sm_count: found 132.5, expected a whole number"),
        ("name: h100-sxm5-80gb", "name: H100 SXM", "name: found 'H100 SXM', expected text matching regex"),
        ("confidence: A", "confidence: high", "confidence: found 'high', expected one of A, B, C, D"),
        ('"NVIDIA H100"', "[NVIDIA]", "device_names[1]: found a list, expected text"),
    ],
)  # fmt: skip
def test_contradictions_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert message in refusal(edited(tmp_path, old, new))[1]


@pytest.mark.parametrize("text", ["", "just text\n", "- a\n- b\n", "42\n"])
def test_what_is_no_spec_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)

    assert "expected keys and values" in refusal(path)[1]


# --- a file of the user's own ----------------------------------------------------------------------------------------

OWN = """\
spec_version: 1
name: my-board
title: My board
compute_capability: 9.0
sm_count: 78
max_sm_clock_mhz: 1980
peaks:
  fp32: {tflops: 39.5, flop_per_clk_per_sm: 256, clock_mhz: 1980, source: measured here}
memory: {bytes: 103079215104, type: HBM3, bandwidth_gbs: 4e3, source: my own notes}
l2: {bytes: 62914560}
confidence: D
"""


def test_a_short_file_takes_the_sm_from_its_architecture(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN)

    spec = load_spec(path)

    assert spec.sm == load_spec(resource_dir("specs") / "h200-sxm-141gb.yaml").sm
    assert spec.compute_capability == "9.0"
    assert spec.ridge_point("fp32") == pytest.approx(39.5e12 / 4e12)
    assert spec.peak("bf16") is None
    assert spec.ridge_point("bf16") is None


def test_a_file_may_describe_its_sm_itself(tmp_path: Path) -> None:
    facts = (resource_dir("specs/architectures") / "8.0.yaml").read_text().replace("max_warps: 64", "max_warps: 60")
    block = "".join(f"  {line}\n" for line in facts.splitlines())
    path = tmp_path / "own.yaml"
    path.write_text(OWN.replace("compute_capability: 9.0", "compute_capability: 42.0") + "sm:\n" + block)
    with pytest.raises(InputFileError, match=r"found 256, expected at most 128, dense, at 42\.0"):
        load_spec(path)

    path.write_text(path.read_text().replace("    fp32: 128", "    fp32: 256"))

    assert load_spec(path).sm.max_warps == 60
