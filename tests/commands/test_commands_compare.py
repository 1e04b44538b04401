"""``kprof compare`` as it is called."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import captures
import pytest
from running import REPO, Run, run_kprof

from kprof.capture import encode_capture
from kprof.renderers.compared import COMPARED_FORMATS

DATA = REPO / "tests" / "data" / "h200"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("compare")
    for name, capture in (
        ("naive", DATA / "cuda_naive_4x8192x4096.json"),
        ("fused", DATA / "triton_fused_4x8192x4096.json"),
        ("tiny", DATA / "cuda_naive_4x10x32.json"),
    ):
        run = run_kprof("analyze", "--capture", capture, "-q", "-o", f"{name}.json", cwd=made, cache=made)
        assert run.code == 0
    return made


@pytest.fixture
def kprof(folder: Path) -> Any:
    def call(*arguments: str | Path, **environment: str) -> Run:
        return run_kprof(*arguments, cwd=folder, cache=folder, **environment)

    return call


@pytest.mark.parametrize("format_", COMPARED_FORMATS)
def test_every_format_to_stdout_and_to_a_file(kprof: Any, folder: Path, format_: str) -> None:
    run = kprof("compare", "naive.json", "fused.json", "--format", format_)
    assert (run.code, run.stderr) == (0, "")
    name = f"out{COMPARED_FORMATS[format_].suffixes[0]}"
    assert kprof("compare", "naive.json", "fused.json", "-o", name).code == 0
    assert (folder / name).read_text(encoding="utf-8") == run.stdout


def test_an_ending_that_names_no_format_of_a_comparison_is_refused(kprof: Any, folder: Path) -> None:
    run = kprof("compare", "naive.json", "fused.json", "-o", "c.csv")
    assert (run.code, (folder / "c.csv").exists()) == (2, False)
    assert "expected .txt (text), .md (markdown), .json (json), .html (html)" in " ".join(run.stderr.split())


def test_text_is_the_default(kprof: Any) -> None:
    run = kprof("compare", "naive.json", "fused.json")
    assert "FASTER   b is faster than a: 1.394x as fast" in run.stdout
    assert "same DRAM bytes, GB/s +39 %" in run.stdout


def test_another_task_is_refused_and_forced(kprof: Any) -> None:
    refused = kprof("compare", "naive.json", "tiny.json")
    assert refused.code == 0
    assert "REFUSED" in refused.stdout
    assert "FASTER" not in refused.stdout
    forced = json.loads(kprof("compare", "naive.json", "tiny.json", "--force", "--format", "json").stdout)
    assert forced["verdict"]["code"] == "faster"
    assert (forced["comparable"], forced["forced"]) == (False, True)


def test_one_of_the_two_may_come_from_stdin(folder: Path, kprof: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kprof", "compare", "naive.json", "-"],
        input=(folder / "fused.json").read_bytes(),
        capture_output=True,
        cwd=folder,
        env={"PYTHONPATH": str(REPO)},
        check=True,
    )
    assert b"b: stdin" in done.stdout
    run = kprof("compare", "-", "-")
    assert run.code == 2
    assert "stdin" in run.stderr


def test_what_is_no_report_and_what_would_be_overwritten(kprof: Any, folder: Path) -> None:
    (folder / "c.json").write_bytes(encode_capture(captures.h200_tiny()))
    run = kprof("compare", "naive.json", "c.json")
    assert run.code == 2
    assert "kprof analyze --capture" in run.stderr
    assert kprof("compare", "naive.json", "none.json").code == 2
    before = (folder / "naive.json").read_bytes()
    assert kprof("compare", "naive.json", "fused.json", "-o", "naive.json").code == 2
    assert (folder / "naive.json").read_bytes() == before


def test_torch_is_not_loaded(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n")
    script = tmp_path / "loaded.py"
    files = [str(folder / name) for name in ("naive.json", "fused.json")]
    script.write_text(
        "import sys\nfrom kprof.cli import group\n"
        f"group.main(['compare', *{files!r}, '-o', 'c.txt'], standalone_mode=False)\n"
        "print({'torch', 'pandas', 'matplotlib', 'scipy'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.strip() == "set()"
