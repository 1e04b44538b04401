"""Binary reports: values, damage, and where the module that reads them comes from."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from ncu_tables import RECORDED

from kprof.collectors.ncu.reading import read_report
from kprof.collectors.ncu.report_blocks import read_frame
from kprof.collectors.ncu.report_file import open_ranges
from kprof.collectors.ncu.report_module import NoReportReaderError, find_module, installed_folders
from kprof.collectors.ncu.sides import side_of_ranges
from kprof.errors import InputFileError

REPORT = RECORDED / "probes.ncu-rep"


def test_values_are_whole_and_in_base_units() -> None:
    launch = read_report(REPORT).launches[0]
    assert launch.metrics["gpu__time_duration.sum"] == 120224.0
    assert launch.metrics["dram__bytes_read.sum"] == 53202432.0
    assert launch.metrics["launch__registers_per_thread"] == 18.0
    assert launch.metrics["l1tex__t_sector_hit_rate.pct"] == pytest.approx(0.021306843)
    assert all(isinstance(value, (float, str)) for value in launch.metrics.values())
    assert (launch.grid, launch.block, launch.device) == ((132, 1, 1), (32, 1, 1), 0)
    assert (launch.compute_capability, launch.process_id) == ("9.0", 510)


def test_the_frame_of_a_whole_report() -> None:
    frame = read_frame(REPORT)
    assert (frame.known, frame.whole, frame.results, frame.ncu_version) == (True, True, 13, "2025.3.1")


def test_a_later_version_of_the_frame_is_not_judged(tmp_path: Path) -> None:
    path = tmp_path / "later.ncu-rep"
    path.write_bytes(b"NVR\0\x02\0\0\0\x08\x63" + b"whatever")
    assert not read_frame(path).known


def test_a_report_cut_anywhere_is_refused(tmp_path: Path) -> None:
    content = REPORT.read_bytes()
    dice = random.Random(0)
    path = tmp_path / "cut.ncu-rep"
    for _ in range(60):
        path.write_bytes(content[: dice.randrange(1, len(content))])
        with pytest.raises(InputFileError):
            read_report(path)


def test_a_damaged_report_is_refused_or_read_whole(tmp_path: Path) -> None:
    content = REPORT.read_bytes()
    dice = random.Random(1)
    path = tmp_path / "damaged.ncu-rep"
    refused = 0
    for number in range(12):
        damaged = bytearray(content)
        for _ in range((1, 30, 1000)[number % 3]):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        path.write_bytes(damaged)
        try:
            assert len(read_report(path).launches) == 13
        except InputFileError:
            refused += 1
    assert refused > 4


def test_sides_from_the_ranges_of_a_domain() -> None:
    domain = SimpleNamespace(start_end_ranges=lambda: ("kprof:ref", "epoch"), push_pop_ranges=lambda: ("forward",))
    assert tuple(open_ranges(domain)) == ("kprof:ref", "epoch", "forward")
    assert side_of_ranges(open_ranges(domain)) == "ref"


def test_the_module_of_an_installation_is_found_and_the_path_left_alone(tmp_path: Path) -> None:
    (tmp_path / "ncu_report_stand_in.py").write_text("load_report = None\n")
    before = list(sys.path)
    module = find_module("ncu_report_stand_in", [tmp_path / "none", tmp_path])
    assert module.__file__ == str(tmp_path / "ncu_report_stand_in.py")
    assert sys.path == before
    sys.modules.pop("ncu_report_stand_in")


def test_without_the_module_the_error_says_what_to_install(tmp_path: Path) -> None:
    before = list(sys.path)
    with pytest.raises(NoReportReaderError, match="ncu_report_that_is_nowhere") as caught:
        find_module("ncu_report_that_is_nowhere", [tmp_path])
    assert "pip install ncu-report" in caught.value.hint
    assert "--page raw" in caught.value.hint
    assert sys.path == before


@pytest.mark.parametrize(
    ("executable", "extras"),
    [
        ("nsight-compute/2025.3.1/ncu", "nsight-compute/2025.3.1/extras/python"),
        ("nsight-compute/2025.3.1/target/linux-desktop-glibc_2_11_3-x64/ncu", "nsight-compute/2025.3.1/extras/python"),
        ("cuda-13.0/bin/ncu", "cuda-13.0/nsight-compute-2025.3.1/extras/python"),
    ],
)
def test_the_installation_of_the_ncu_on_path(
    executable: str, extras: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / executable
    command.parent.mkdir(parents=True)
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    (tmp_path / extras).mkdir(parents=True)
    on_path = tmp_path / "bin"
    on_path.mkdir()
    (on_path / "ncu").symlink_to(command)
    monkeypatch.setenv("PATH", str(on_path))
    assert installed_folders()[0] == tmp_path / extras
