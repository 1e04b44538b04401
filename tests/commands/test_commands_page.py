"""``--html``, and pictures and pages as formats: files written beside the report, inputs kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import captures
import pytest
from report_runs import DATA
from running import Run, run_kprof

from kprof.capture import encode_capture

RECORDED = DATA / "h200" / "matmul_bf16.json"
Kprof = Callable[..., Run]


@pytest.fixture
def kprof(tmp_path: Path) -> Kprof:
    def call(*arguments: str | Path) -> Run:
        return run_kprof(*arguments, cwd=tmp_path, cache=tmp_path / "cache")

    return call


def test_analyze_writes_a_page_beside_the_json(kprof: Kprof, tmp_path: Path) -> None:
    done = kprof("analyze", "--capture", RECORDED, "-q", "--html", "page.html")
    assert (done.code, done.stderr) == (0, "")
    assert done.report["source"] == "replayed"
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    (tmp_path / "r.json").write_text(done.stdout)
    assert kprof("report", "r.json", "-o", "again.html").code == 0
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


def test_import_writes_one_too(kprof: Kprof, tmp_path: Path) -> None:
    source = DATA / "ncu" / "probes.ncu-rep"
    assert kprof("import", source, "-q", "-o", "r.json", "--html", "page.html").code == 0
    assert "probes.ncu-rep: 13 launches" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_wrong_kernel_has_its_page_and_its_exit_code(kprof: Kprof, tmp_path: Path) -> None:
    (tmp_path / "wrong.json").write_bytes(encode_capture(captures.wrong_kernel()))
    assert kprof("analyze", "--capture", "wrong.json", "-q", "--html", "page.html").code == 1
    assert "WRONG" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "head"), [("r.svg", b"<svg"), ("r.png", b"\x89PNG"), ("r.html", b"<!doctype html>")])
def test_the_name_of_the_file_chooses_the_format(kprof: Kprof, tmp_path: Path, name: str, head: bytes) -> None:
    kprof("analyze", "--capture", RECORDED, "-q", "-o", "r.json")
    assert kprof("report", "r.json", "-o", name).code == 0
    assert (tmp_path / name).read_bytes().startswith(head)


def test_a_page_over_another_file_of_the_command_is_refused(kprof: Kprof, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_bytes(RECORDED.read_bytes())
    for other in (("--html", "c.json"), ("-o", "x", "--html", "x")):
        done = kprof("analyze", "--capture", "c.json", "-q", *other)
        assert done.code == 2
        assert "it is the same file as" in done.stderr
    assert json.loads((tmp_path / "c.json").read_text()) == json.loads(RECORDED.read_text())
