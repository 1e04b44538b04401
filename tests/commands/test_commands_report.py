"""``kprof report``: every format again from a report, what analyze wrote, byte for byte."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import captures
import pytest
from running import REPO, Run, run_kprof

from kprof.capture import encode_capture
from kprof.renderers import FORMATS

RECORDED = REPO / "tests" / "data" / "h200" / "triton_fused_4x8192x4096.json"


@pytest.fixture
def kprof(tmp_path: Path) -> Any:
    def call(*arguments: str | Path, **environment: str) -> Run:
        return run_kprof(*arguments, cwd=tmp_path, cache=tmp_path / "cache", **environment)

    return call


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    made = folder / "r.json"
    assert run_kprof("analyze", "--capture", RECORDED, "-q", "-o", made, cwd=folder, cache=folder).code == 0
    return made


@pytest.mark.parametrize("name", [name for name, one in FORMATS.items() if not one.binary])
def test_it_is_what_analyze_wrote(kprof: Any, report: Path, name: str) -> None:
    analyzed = kprof("analyze", "--capture", RECORDED, "-q", "--format", name)
    again = kprof("report", report, "--format", name)
    assert again.code == analyzed.code == 0
    assert again.stdout == analyzed.stdout != ""
    assert again.stderr == ""


def test_the_format_is_text_unless_the_files_name_says_another(kprof: Any, report: Path, tmp_path: Path) -> None:
    text = kprof("report", report).stdout
    assert text.startswith("triton_fused.py: ModelNew against ref.py")
    kprof("report", report, "-o", tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == report.read_bytes()
    kprof("report", report, "-o", tmp_path / "plain")
    assert (tmp_path / "plain").read_text(encoding="utf-8") == text
    kprof("report", report, "-o", tmp_path / "x.json", "--format", "text")
    assert (tmp_path / "x.json").read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "arguments",
    [("report", "{report}"), ("analyze", "--capture", RECORDED, "-q"), ("import", "{csv}", "-q")],
    ids=lambda arguments: arguments[0],
)
def test_the_name_of_the_file_says_the_format(kprof: Any, report: Path, tmp_path: Path, arguments: Any) -> None:
    files = {"report": report, "csv": REPO / "tests" / "data" / "ncu" / "probes.raw.csv"}
    given = [str(one).format(**files) for one in arguments]
    for name, start in (("o.JSON", b"{"), ("o.csv", b"id,name,"), ("o.html", b"<!doctype html>"), ("o.svg", b"<svg")):
        assert kprof(*given, "-o", name).code == 0, name
        assert (tmp_path / name).read_bytes()[: len(start)].lower() == start.lower(), name
    assert kprof(*given, "-o", "plain").code == 0
    assert (tmp_path / "plain").read_bytes().startswith(b"{") == (given[0] != "report")
    run = kprof(*given, "-o", "r.pdf")
    assert (run.code, run.stdout, (tmp_path / "r.pdf").exists()) == (2, "", False)
    assert ".pdf is the ending of no format here; expected .json (json), .txt (text)" in " ".join(run.stderr.split())
    assert kprof(*given, "-o", "r.pdf", "--format", "json").code == 0
    assert (tmp_path / "r.pdf").read_bytes().startswith(b"{")


def test_it_reads_stdin(kprof: Any, report: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kprof", "report", "-"],
        input=report.read_bytes(),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        check=True,
    )
    assert done.stdout.decode() == kprof("report", report).stdout


def test_it_never_writes_over_its_own_input(kprof: Any, report: Path) -> None:
    before = report.read_bytes()
    run = kprof("report", report, "--format", "text", "-o", report)
    assert run.code == 2
    assert "same file" in run.stderr
    assert report.read_bytes() == before


def test_a_report_of_a_wrong_kernel_is_still_rendered_with_exit_code_0(kprof: Any, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_bytes(encode_capture(captures.wrong_kernel()))
    assert kprof("analyze", "--capture", "c.json", "-q", "-o", "r.json").code == 1
    run = kprof("report", "r.json")
    assert run.code == 0
    assert "WRONG" in run.stdout


def test_each_command_sends_the_others_files_on(kprof: Any, report: Path) -> None:
    for arguments, hint in (
        (("report", RECORDED), "kprof analyze --capture"),
        (("analyze", "--capture", report), "kprof report"),
        (("import", report), "kprof report"),
        (("report", REPO / "tests" / "data" / "ncu" / "probes.ncu-rep"), "kprof import"),
        (("report", REPO / "tests" / "data" / "ncu" / "probes.raw.csv"), "kprof import"),
    ):
        run = kprof(*arguments)
        assert run.code == 2
        assert run.stdout == ""
        assert hint in run.stderr, arguments


def test_neither_torch_nor_numpy_is_loaded(kprof: Any, report: Path, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n")
    script = tmp_path / "loaded.py"
    script.write_text(
        "import sys\nfrom kprof.cli import group\n"
        f"group.main(['report', {str(report)!r}, '-o', 'r.txt'], standalone_mode=False)\n"
        "print({'torch', 'numpy', 'pandas', 'matplotlib', 'jinja2'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.strip() == "set()"


def on_a_terminal(arguments: list[str], **environment: str) -> tuple[int, str]:
    """One run whose stdout is a terminal of 100 columns."""
    parent, child = pty.openpty()
    try:
        done = subprocess.Popen(
            [sys.executable, "-m", "kprof", *arguments],
            stdout=child,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(REPO), "COLUMNS": "100", **environment},
        )
        os.close(child)
        read = b""
        while True:
            try:
                chunk = os.read(parent, 65536)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            read += chunk
        _, errors = done.communicate(timeout=60)
        return done.returncode, (read + errors).decode()
    finally:
        os.close(parent)


def test_colour_is_for_a_terminal_that_wants_it(report: Path, tmp_path: Path) -> None:
    assert "\x1b[1;32m" in on_a_terminal(["report", str(report)])[1]
    assert "\x1b" not in on_a_terminal(["report", str(report)], NO_COLOR="1")[1]
    assert "\x1b" not in on_a_terminal(["report", str(report)], TERM="dumb")[1]
    on_a_terminal(["report", str(report), "-o", str(tmp_path / "r.txt")])
    assert "\x1b" not in (tmp_path / "r.txt").read_text()


def test_a_stdout_that_is_not_unicode_gets_ascii(kprof: Any, report: Path) -> None:
    assert kprof("report", report, PYTHONIOENCODING="ascii", PYTHONUTF8="0").stdout.isascii()


@pytest.mark.parametrize("name", [name for name, one in FORMATS.items() if one.binary])
def test_what_is_not_text_is_refused_a_terminal(report: Path, name: str) -> None:
    code, said = on_a_terminal(["report", str(report), "--format", name])
    assert code == 2
    assert "stdout is a terminal" in said
