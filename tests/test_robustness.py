"""Odd files, full disks, caches that cannot be used: one clear error, the exit code that is promised, nothing lost."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from running import LOGSUMEXP, REPO, Run, run_kprof

REF = """
import torch
class Model(torch.nn.Module):
    def forward(self, x): return torch.relu(x) + 1
def get_inputs(): return [torch.randn(64, 32)]
def get_init_inputs(): return []
"""
GOOD = """
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x): return x.clamp(min=0) + 1
"""
QUICK = ("--device", "cpu", "--blocks", "precision", "-q")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ref.py").write_text(REF)
    (tmp_path / "kernel.py").write_text(GOOD)
    return tmp_path


def analyze(folder: Path, *arguments: str, **environment: str) -> Run:
    return run_kprof("analyze", *arguments, cwd=folder, cache=folder / "cache", **environment)


def test_paths_with_spaces_quotes_and_other_alphabets_and_links(folder: Path) -> None:
    odd = folder / 'it\'s a "dir" ünï ✓'
    odd.mkdir()
    for name in ("kernel.py", "ref.py"):
        (folder / name).rename(odd / name)
    (folder / "link.py").symlink_to(odd / "kernel.py")
    (odd / "quick.cpp").write_text('extern "C" int quick() { return 1; }\n')
    build = "from pathlib import Path\nfrom torch.utils.cpp_extension import load\n"
    build += "sources = [str(Path(__file__).resolve().parent / 'quick.cpp')]\n"
    (odd / "kernel.py").write_text(build + "load(name='quick', sources=sources, is_python_module=False)\n" + GOOD)
    report, cache = odd / "r é.json", odd / "ca che"
    arguments = ("link.py", "--ref", str(odd / "ref.py"), *QUICK, "-o", str(report))
    run = analyze(folder, *arguments, KPROF_CACHE_DIR=str(cache), TMPDIR=str(odd))
    assert run.code == 0, run.stderr
    blocks = json.loads(report.read_text())["blocks"]
    assert blocks["precision"]["passed"] is True
    assert list(cache.glob("extensions/quick-*/*.so"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\x80\x81\x00\xff" * 500, "cannot"),
        (b"x = '\x00'\n", "null bytes"),
        (b"\xff\xfe" + "x = 1\n".encode("utf-16-le"), "kernel.py"),
        (b"#" * 50_000_000, "has 50 MB; a Python file was expected"),
    ],
)
def test_what_is_no_source_is_said_in_one_line(folder: Path, content: bytes, says: str) -> None:
    (folder / "kernel.py").write_bytes(content)
    run = analyze(folder, "kernel.py", "--ref", "ref.py", *QUICK)
    assert run.code == (2 if len(content) > 20_000_000 else 3)
    error, hint = run.stderr.splitlines()
    assert says in error
    assert hint.startswith("kprof: hint: ")


@pytest.mark.parametrize("option", ["--capture", "--gpu"])
def test_what_has_no_end_is_no_input(folder: Path, option: str) -> None:
    with_kernel = () if option == "--capture" else ("kernel.py", "--ref", "ref.py")
    run = analyze(folder, *with_kernel, option, "/dev/zero", "-q")
    assert (run.code, run.stdout) == (2, "")
    assert "/dev/zero has more than" in run.stderr


def test_a_report_that_finds_no_room_goes_to_stdout(folder: Path) -> None:
    run = analyze(folder, "kernel.py", "--ref", "ref.py", *QUICK, "-o", "/dev/full", "--save-capture", "c.json")
    assert run.code == 2
    assert "cannot write /dev/full: No space left on device" in run.stderr
    assert "went to stdout instead" in run.stderr
    assert run.block("precision")["passed"] is True
    assert json.loads((folder / "c.json").read_bytes())["capture_version"] == 1, "and the capture is kept"


def test_a_capture_that_finds_no_room_costs_itself_alone(folder: Path) -> None:
    arguments = ("kernel.py", "--ref", "ref.py", *QUICK, "-o", "r.json", "--save-capture", "/dev/full")
    run = analyze(folder, *arguments)
    assert run.code == 2
    assert "cannot write /dev/full" in run.stderr
    assert json.loads((folder / "r.json").read_bytes())["blocks"]["precision"]["passed"] is True


def test_a_file_that_may_not_grow_leaves_the_old_one(folder: Path) -> None:
    """Of a limit on the size of files, which any user can set: to kprof it is a disk that is full."""
    (folder / "r.json").write_text("old")
    done = subprocess.run(
        [sys.executable, "-m", "kprof", "analyze", "kernel.py", "--ref", "ref.py", *QUICK, "-o", "r.json"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPO), "KPROF_CACHE_DIR": str(folder / "cache")},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (15_000, 15_000)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "cannot write r.json: File too large" in done.stderr
    assert (folder / "r.json").read_text() == "old"
    assert json.loads(done.stdout)["blocks"]["precision"]["passed"] is True
    assert not list(folder.glob(".kprof.*"))


@pytest.mark.parametrize("cache", ["kernel.py", "/proc"])
def test_a_cache_that_cannot_be_written_names_the_variable(folder: Path, cache: str) -> None:
    cpu = (str(LOGSUMEXP / "cpu.py"), "--ref", str(LOGSUMEXP / "ref.py"), "--set", "R=2", *QUICK)
    path = cache if cache.startswith("/") else str(folder / cache)
    run = run_kprof("analyze", *cpu, cwd=folder, cache=Path(path))
    assert run.code == 3
    assert f"cannot build in {path}/extensions/" in run.stderr
    assert "Point KPROF_CACHE_DIR at a folder that can be written" in run.stderr
    assert [fault["code"] for fault in run.report["faults"]] == ["cache_not_writable"]
    # What builds nothing needs no cache.
    assert run_kprof("analyze", "kernel.py", "--ref", "ref.py", *QUICK, cwd=folder, cache=Path(path)).code == 0


def test_what_a_kernel_writes_where_the_report_goes_is_replaced(folder: Path) -> None:
    fake = "import pathlib, subprocess, sys\nreport = pathlib.Path(__file__).parent / 'r.json'\n"
    fake += "report.write_text('{\"fake\": 1}')\n"
    # And goes on writing as long as it may, from a process that has left its session.
    loop = "import sys, time\nwhile True: open(sys.argv[1], 'w').write('fake'); time.sleep(0.005)"
    fake += f"subprocess.Popen([sys.executable, '-c', {loop!r}, str(report)], start_new_session=True)\n"
    (folder / "kernel.py").write_text(fake + GOOD)
    run = analyze(folder, "kernel.py", "--ref", "ref.py", *QUICK, "-o", "r.json")
    assert run.code == 0, run.stderr
    assert json.loads((folder / "r.json").read_text())["blocks"]["precision"]["passed"] is True


def test_a_kernel_gets_no_secrets_no_core_files_and_the_callers_folder(folder: Path) -> None:
    (folder / "kernel.py").write_text(
        "import json, os, pathlib, resource, sys, tempfile\n"
        "asked = {'env': dict(os.environ), 'cwd': os.getcwd(), 'tmp': tempfile.mkdtemp(),\n"
        "         'request': pathlib.Path(sys.argv[2], 'request.json').read_text(),\n"
        "         'core': resource.getrlimit(resource.RLIMIT_CORE), 'as': resource.getrlimit(resource.RLIMIT_AS)}\n"
        "(pathlib.Path(__file__).parent / 'asked').write_text(json.dumps(asked))\n" + GOOD
    )
    given = {"CUDA_HOME": "/opt/cuda", "LD_LIBRARY_PATH": "/opt/lib", "CC": "gcc"}
    run = analyze(folder, "kernel.py", "--ref", "ref.py", *QUICK, "-o", "r.json", **given, HF_TOKEN="hf_x", MY_PAT="x")
    assert run.code == 0, run.stderr
    asked = json.loads((folder / "asked").read_text())
    assert {name: asked["env"].get(name) for name in given} == given
    assert not {"HF_TOKEN", "MY_PAT"} & set(asked["env"])
    assert (asked["cwd"], asked["core"]) == (str(folder), [0, 0])
    assert tuple(asked["as"]) == resource.getrlimit(resource.RLIMIT_AS)
    assert not Path(asked["tmp"]).exists(), "temporary files go with the worker"
    assert "r.json" not in json.dumps(asked), "where the report goes is nobody's business there"
    assert "r.json" in json.loads((folder / "r.json").read_text())["environment"]["command"]
