"""Finding ncu, and what it says of itself: from a recorded list, from stand-ins, from junk."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest
from fake_ncu import LIST, VERSION, fake_ncu, on_path

from kprof.collectors.ncu_run import tool as tool_module
from kprof.collectors.ncu_run.tool import (
    CHIPS_OF,
    NcuTool,
    chip_of,
    describe_ncu,
    find_ncu,
    known_metrics,
    parse_metrics,
)
from kprof.errors import CannotMeasureError
from kprof.subprocesses.processes import process_stat

DATA = Path(__file__).resolve().parents[1] / "data" / "ncu"


def recorded_list() -> str:
    """``ncu --query-metrics --chip gh100`` of Nsight Compute 2025.3.1, on an H200."""
    return gzip.decompress((DATA / "query_metrics_gh100.txt.gz").read_bytes()).decode()


def test_the_first_ncu_on_path_is_found_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = fake_ncu(tmp_path / "bin", "")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "bin:/usr/bin:/bin")
    assert find_ncu() == made


def test_a_script_behind_a_link_is_called_by_the_links_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = fake_ncu(tmp_path / "real", "")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ncu").symlink_to(made)
    on_path(tmp_path / "bin", monkeypatch)
    assert find_ncu() == tmp_path / "bin" / "ncu"


def test_the_one_asked_for_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_ncu(tmp_path / "bin", "")
    asked = fake_ncu(tmp_path / "other", "")
    on_path(tmp_path / "bin", monkeypatch)
    assert find_ncu(str(asked)) == asked


@pytest.mark.parametrize("asked", [None, "/nowhere/ncu"])
def test_no_ncu_is_said_with_what_to_do(asked: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tool_module, "_USUAL_PLACES", (str(tmp_path / "cuda-*" / "ncu"),))
    with pytest.raises(CannotMeasureError) as caught:
        find_ncu(asked)
    assert caught.value.code == "ncu_not_found"
    assert "--ncu" in caught.value.hint


def test_an_ncu_off_path_is_named_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [fake_ncu(tmp_path / name, f"touch {tmp_path}/started") for name in ("cuda-12", "cuda-13")]
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tool_module, "_USUAL_PLACES", (str(tmp_path / "cuda-*" / "ncu"),))
    with pytest.raises(CannotMeasureError) as caught:
        find_ncu()
    assert str(made[1]) in caught.value.hint
    assert not (tmp_path / "started").exists()


def test_what_it_says_of_itself_is_asked_once_for_each_version(tmp_path: Path) -> None:
    path = fake_ncu(tmp_path / "bin", "")
    path.write_text(path.read_text().replace("#!/bin/sh\n", f'#!/bin/sh\necho "$1" >> {tmp_path}/asked\n'))
    for _ in range(2):
        tool = describe_ncu(path, tmp_path / "cache")
        known = known_metrics(tool, "gh100", tmp_path / "cache")
    assert (tool.version, tool.chips) == (VERSION, ("ga100", "gh100"))
    assert known == set(LIST)
    assert tool.has_option("--config-file")
    assert not tool.has_option("--sampling-interval")
    asked = (tmp_path / "asked").read_text().split()
    assert sorted(asked) == ["--help", "--list-chips", "--query-metrics", "--version", "--version"]
    path.write_text(path.read_text().replace(VERSION, "2026.1.0.0"))
    known_metrics(describe_ncu(path, tmp_path / "cache"), "gh100", tmp_path / "cache")
    assert len((tmp_path / "asked").read_text().split()) == len(asked) + 4


def test_a_cache_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    path = fake_ncu(tmp_path / "bin", "")
    (tmp_path / "file").touch()
    tool = describe_ncu(path, tmp_path / "file")
    assert known_metrics(tool, "gh100", tmp_path / "file") == set(LIST)


@pytest.mark.parametrize("body", ["echo hello", "echo broken >&2; exit 3", "head -c 100000 /dev/zero", ""])
def test_junk_leaves_everything_open(body: str, tmp_path: Path) -> None:
    tool = describe_ncu(fake_ncu(tmp_path / "bin", body, answers=False), tmp_path)
    assert (tool.version, tool.chips, tool.options) == (None, (), frozenset())
    assert known_metrics(tool, "gh100", tmp_path) is None
    assert chip_of(tool, "9.0") == "gh100"
    assert tool.has_option("--anything")
    assert not (tmp_path / "ncu").exists(), "what is of no use is not kept"


def test_a_program_that_cannot_be_started_leaves_everything_open(tmp_path: Path) -> None:
    path = tmp_path / "ncu"
    path.write_bytes(b"\x7fELF nothing")
    path.chmod(0o755)
    assert describe_ncu(path, tmp_path).version is None


def test_an_ncu_that_hangs_is_ended_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_module, "ANSWER_S", 0.3)
    body = f"sleep 600 & echo $! > {tmp_path}/child\nwait"
    began = time.monotonic()
    assert describe_ncu(fake_ncu(tmp_path / "bin", body, answers=False), tmp_path).version is None
    assert time.monotonic() - began < 5
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 2
    while _runs(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    stat = process_stat(pid)
    return stat is not None and not stat.ended


def test_the_recorded_list_is_read_whole() -> None:
    names = parse_metrics(recorded_list())
    assert len(names) == 3650
    # The first and the last, one with dots in its base name, one whose description runs over two lines.
    assert names[0] == "CTC.TriageCompute.ctc__rx_bytes"
    assert names[-1] == "tpc__warps_active_shader_cs_realtime"
    assert {"SM_B.TriageCompute.l1tex__t_sectors", "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_on"} <= set(names)
    assert not [name for name in names if name != name.strip() or " " in name or name.startswith(("=", "-"))]


TOOL = NcuTool(Path("ncu"), "b", VERSION, ("ga100", "tu104", "gh100"))


@pytest.mark.parametrize(("capability", "chip"), [("9.0", "gh100"), ("7.5", "tu104"), ("8.0", "ga100")])
def test_a_board_has_the_chip_of_its_capability(capability: str, chip: str) -> None:
    assert chip_of(TOOL, capability) == chip


@pytest.mark.parametrize("capability", ["7.0", "6.1", "12.0"])
def test_a_chip_that_this_ncu_does_not_know_is_refused(capability: str) -> None:
    with pytest.raises(CannotMeasureError) as caught:
        chip_of(TOOL, capability)
    assert caught.value.code == "ncu_unsupported_chip"
    assert VERSION in caught.value.hint
    assert "ga100, tu104, gh100" in caught.value.hint


@pytest.mark.parametrize("capability", ["13.0", None])
def test_what_nobody_knows_is_left_to_ncu(capability: str | None) -> None:
    assert chip_of(TOOL, capability) is None
    assert known_metrics(TOOL, None, Path()) is None


def test_the_boards_that_kprof_has_specs_for_have_a_chip() -> None:
    boards = {path.stem for path in (Path(__file__).resolve().parents[2] / "specs" / "architectures").glob("*.yaml")}
    assert boards
    assert boards <= set(CHIPS_OF)
