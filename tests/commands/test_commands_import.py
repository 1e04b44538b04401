"""``kprof import``: exit codes, options, strict JSON that the schema allows, the same again from its capture."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ncu_data import DATA, allowed, truths
from running import Run, run_kprof

from kprof.report import report_schema


@pytest.fixture
def kprof(tmp_path: Path) -> Any:
    def call(*arguments: str | Path, **environment: str) -> Run:
        return run_kprof(*arguments, cwd=tmp_path, cache=tmp_path / "cache", **environment)

    return call


def explained(report: dict[str, Any]) -> None:
    """Every null of a counter block, and of the blocks of each launch, has its code."""
    blocks = [*report["blocks"].values()]
    for launch in report["kernels"]:
        blocks += [launch[name] for name in ("sol", "roofline", "occupancy", "caches", "stalls", "bottleneck")]
    for block in blocks:
        for name, value in block.items():
            if value is None and name != "reason":
                assert block["reasons"].get(name), (name, block["status"])


@pytest.mark.parametrize("name", ["probes.ncu-rep", "probes.raw.csv", "library-kernels.raw.csv", "probes.details.csv"])
def test_recorded_reports(kprof: Any, name: str) -> None:
    run = kprof("import", DATA / name)
    assert run.code == 0, run.stderr
    report = run.report
    jsonschema.validate(report, report_schema())
    explained(report)
    assert report["source"] == "imported"
    assert report["workload"]["kernel_file"] is None
    assert report["counters"]["report_file"] == str(DATA / name)
    for skipped in ("build", "precision", "timing", "memory", "launches", "waterfall", "integrity"):
        assert report["blocks"][skipped]["status"] == "skipped"
        assert report["blocks"][skipped]["reason"]["code"] == "imported_report"


@pytest.mark.parametrize("file", ["probes", "library-kernels"])
def test_labels_are_the_truth(kprof: Any, file: str) -> None:
    for launch in kprof("import", DATA / f"{file}.raw.csv", "-q").report["kernels"]:
        right = allowed(truths()[file, launch["launch_id"]])
        bound = launch["bottleneck"]
        assert bound["family"] in right, launch["name"]
        assert not right[bound["family"]] or bound["limiter"] in right[bound["family"]], launch["name"]


def test_kernels_are_picked_by_their_base_name(kprof: Any) -> None:
    run = kprof("import", DATA / "probes.raw.csv", "--kernel", "^l.*sum", "-q")
    assert {one["name"] for one in run.report["kernels"]} == {"logsumexp_kernel"}
    assert [one["launch_id"] for one in run.report["kernels"]] == [20, 21], "ncu's own IDs"
    none = kprof("import", DATA / "probes.raw.csv", "--kernel", "float")
    assert none.code == 2
    assert "dram_copy" in none.stderr
    assert kprof("import", DATA / "probes.raw.csv", "--kernel", "a{99999999999}").code == 2


def test_roofs_need_a_board(kprof: Any) -> None:
    without = kprof("import", DATA / "probes.details.csv", "-q").block("roofline")
    assert without["reasons"]["dram_util_pct"] == "board_unknown"
    named = kprof("import", DATA / "probes.details.csv", "--gpu", "h200-sxm-141gb", "-q").block("roofline")
    assert named["dram_util_pct"] is not None
    other = kprof("import", DATA / "probes.raw.csv", "--gpu", "a100-sxm-80gb", "--kernel", "dram_copy")
    assert [warning["code"] for warning in other.report["counters"]["warnings"]] == ["gpu_overridden"]
    assert other.block("roofline")["status"] == "suspect"
    assert "a100-sxm-80gb" in other.stderr.splitlines()[1]


def test_the_same_again_from_its_capture(kprof: Any, tmp_path: Path) -> None:
    first = kprof("import", DATA / "probes.raw.csv", "--save-capture", tmp_path / "c.json", "-q").report
    again = kprof("analyze", "--capture", tmp_path / "c.json", "-q").report
    assert again["source"] == "replayed"
    assert again["kernels"] == first["kernels"]
    assert again["blocks"] == first["blocks"]


def test_text_has_the_launches_first(kprof: Any) -> None:
    run = kprof("import", DATA / "probes.raw.csv", "--format", "text", "-q")
    assert run.stdout.index("kernels with counters: 13") < run.stdout.index("13 launches together")
    assert max(map(len, run.stdout.splitlines())) <= 80


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\x1f\x8b\x08junk", b"\x00\x01\x02" * 50])
def test_what_is_no_report(kprof: Any, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    run = kprof("import", tmp_path / "x")
    assert run.code == 2
    assert run.stdout == ""
    assert "kprof: error:" in run.stderr
    assert "kprof: hint:" in run.stderr


def test_neither_torch_nor_numpy_is_loaded(kprof: Any, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n")
    script = tmp_path / "loaded.py"
    script.write_text(
        "import sys\nfrom kprof.cli import group\n"
        f"group.main(['import', {str(DATA / 'probes.raw.csv')!r}, '-q', '-o', 'r.json'], standalone_mode=False)\n"
        "print({'torch', 'pandas', 'ncu_report'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.strip() == "set()"
    assert json.loads((tmp_path / "r.json").read_text())["source"] == "imported"


def raw_probes(tmp_path: Path, change: Callable[[list[str], list[list[str]]], None]) -> Path:
    """The probes' raw page with changed cells."""
    with (DATA / "probes.raw.csv").open(newline="") as file:
        head, units, *rows = csv.reader(file)
    change(head, rows)
    path = tmp_path / "changed.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([head, units, *rows])
    return path


def test_without_times_no_launch_speaks_for_all(kprof: Any, tmp_path: Path) -> None:
    def forget(head: list[str], rows: list[list[str]]) -> None:
        times = [index for index, name in enumerate(head) if name.startswith("gpu__time_duration")]
        for row in rows:
            for index in times:
                row[index] = "n/a"

    report = kprof("import", raw_probes(tmp_path, forget), "-q").report
    explained(report)
    bound = report["blocks"]["bottleneck"]
    assert (bound["status"], bound["family"], bound["reason"]["code"]) == ("unavailable", "unknown", "counters_missing")
    assert [one["code"] for one in report["counters"]["warnings"]] == ["launches_without_time"]
    assert all(launch["bottleneck"]["family"] != "unknown" for launch in report["kernels"])


def test_of_several_devices_the_header_names_the_one_of_the_numbers(kprof: Any, tmp_path: Path) -> None:
    def move(head: list[str], rows: list[list[str]]) -> None:
        rows[0][head.index("Device")] = "1"
        rows[0][head.index("device__attribute_display_name")] = "NVIDIA L4"

    run = kprof("import", raw_probes(tmp_path, move))
    environment, launches = run.report["environment"], len(run.report["kernels"])
    assert (environment["device"], environment["device_name"]) == ("cuda:0", "NVIDIA H200")
    assert [one["code"] for one in run.report["counters"]["warnings"]] == ["several_devices"]
    assert f"{launches - 1} launches together" in run.stderr


def test_a_capture_is_sent_to_the_other_command(kprof: Any) -> None:
    run = kprof("import", DATA.parent / "h200" / "matmul_bf16.json")
    assert run.code == 2
    assert "kprof analyze --capture" in run.stderr
