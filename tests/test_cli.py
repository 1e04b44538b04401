"""The boundary: streams that are full, gone or closed, signals, defects, and what lies in the current folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import captures
import made_evidence
import pytest
from running import REPO, run_kprof

from kprof import cli
from kprof.capture import encode_capture
from kprof.errors import UsageError

KPROF = f"{sys.executable} -m kprof"
RIGHT = "class ModelNew:\n    def __call__(self, x): return x + 1\n"
REF = (
    "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x): return x + 1\n"
    "def get_inputs(): return [torch.randn(8, 8)]\ndef get_init_inputs(): return []\n"
)


def shell(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """``command`` in bash, with ``kprof`` a function that runs this kprof."""
    environment = {**os.environ, "PYTHONPATH": str(REPO), "KPROF_CACHE_DIR": str(cwd / "cache")}
    script = f'kprof() {{ {KPROF} "$@"; }}\n{command}'
    return subprocess.run(
        ["bash", "-c", script], cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "wrong.json").write_bytes(encode_capture(captures.wrong_kernel()))
    (tmp_path / "right.json").write_bytes(encode_capture(captures.cpu_run()))
    (tmp_path / "kernel.py").write_text(RIGHT)
    (tmp_path / "ref.py").write_text(REF)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("(kprof analyze --capture wrong.json; echo $? >code) | true", 1),
        ("(kprof analyze --capture right.json -q; echo $? >code) | head -c 1", 0),
        ("(kprof specs; echo $? >code) | true", 0),
        ("(kprof --help; echo $? >code) | true", 0),
        ("kprof analyze --capture wrong.json 2>/dev/full >out; echo $? >code", 1),
        ("kprof analyze --capture wrong.json 2>&- >out; echo $? >code", 1),
        ("kprof analyze --capture right.json 2>&- <&- >out; echo $? >code", 0),
        ("kprof analyze nowhere.py 2>&- >out; echo $? >code", 2),
    ],
)
def test_a_stream_that_takes_nothing_changes_no_exit_code(folder: Path, command: str, code: int) -> None:
    done = shell(command, folder)
    assert (folder / "code").read_text().strip() == str(code)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if (folder / "out").exists() and code != 2:
        assert json.loads((folder / "out").read_text())["source"] == "replayed"


@pytest.mark.parametrize("arguments", ["analyze --capture right.json -q", "specs", "schema", "--help"])
def test_a_full_stdout_is_one_error_and_exit_2(folder: Path, arguments: str) -> None:
    done = shell(f"kprof {arguments} >/dev/full", folder)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "kprof: error: cannot write to stdout: No space left on device",
        "kprof: hint: Make room, or give -o FILE.",
    ]


def test_without_stdout_a_report_needs_a_file_and_nothing_runs(folder: Path) -> None:
    (folder / "kernel.py").write_text("open('ran', 'w')\n" + RIGHT)
    done = shell("kprof analyze kernel.py --ref ref.py >&-", folder)
    assert (done.returncode, "stdout is closed" in done.stderr) == (2, True)
    assert not (folder / "ran").exists()
    assert shell("kprof analyze --capture wrong.json -o r.json >&-", folder).returncode == 1
    assert json.loads((folder / "r.json").read_text())["source"] == "replayed"


def test_a_measurement_goes_on_with_no_stderr_at_all(folder: Path) -> None:
    for closed in ("2>/dev/full", "2>&-"):
        done = shell(f"kprof analyze kernel.py --ref ref.py --blocks precision --device cpu {closed}", folder)
        assert done.returncode == 0
        assert json.loads(done.stdout)["blocks"]["precision"]["passed"] is True


def test_json_is_utf_8_whatever_the_terminal_is(folder: Path) -> None:
    capture = captures.cpu_run(workload=made_evidence.workload(entry="Modèle"))
    (folder / "c.json").write_bytes(encode_capture(capture))
    done = shell("PYTHONIOENCODING=ascii kprof analyze --capture c.json", folder)
    assert done.returncode == 0
    assert json.loads(done.stdout)["workload"]["entry"] == "Modèle"
    assert done.stderr.isascii()


def test_a_right_result_says_nothing_when_quiet_and_a_wrong_one_why(folder: Path) -> None:
    assert shell("kprof analyze --capture right.json -q", folder).stderr == ""
    done = shell("kprof analyze --capture wrong.json -q", folder)
    assert done.returncode == 1
    error, hint = done.stderr.splitlines()
    assert error == (
        "kprof: error: the result is wrong: out: 12 of 320 elements out of tolerance (1 of 3 trials agree)"
    )
    assert hint.startswith("kprof: hint: blocks.precision")


def broken(*_: object, **__: object) -> None:
    raise ZeroDivisionError("division\nby zero")


def test_a_defect_is_exit_3_and_its_traceback_waits_for_debug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli.group, "invoke", broken)
    assert cli.run(["specs"]) == 3
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "kprof: error: internal error: ZeroDivisionError: division by zero"
    assert told[1].startswith("kprof: hint: Run it again with --debug")
    assert len(told) == 2
    assert cli.run(["specs", "--debug"]) == 3
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("raised", "code", "says"),
    [
        (MemoryError(), 3, "internal error: MemoryError"),
        (RecursionError("too deep"), 3, "internal error: RecursionError: too deep"),
        (UsageError("found a, expected b", "do c"), 2, "kprof: error: found a, expected b\nkprof: hint: do c"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_every_end_has_its_exit_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    raised: BaseException,
    code: int,
    says: str,
) -> None:
    def end(*_: object) -> None:
        raise raised

    monkeypatch.setattr(cli.group, "invoke", end)
    assert cli.run(["specs"]) == code
    assert says in capsys.readouterr().err


def test_a_misspelt_command_is_told_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["analyse", "kernel.py"]) == 2
    assert "No such command 'analyse'. Did you mean 'analyze'?" in capsys.readouterr().err
    assert cli.run(["kernel.py"]) == 2
    assert "Did you mean" not in capsys.readouterr().err


def test_help_promises_what_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help"]) == 0
    assert "Is a PyTorch GPU kernel right, and how fast is it against its reference?" in capsys.readouterr().out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_and_its_worker(folder: Path, number: signal.Signals) -> None:
    (folder / "kernel.py").write_text("import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(120)\n")
    process = subprocess.Popen(
        [*KPROF.split(), "analyze", "kernel.py", "--ref", "ref.py", "-q"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPO), "KPROF_CACHE_DIR": str(folder / "cache")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        deadline = time.monotonic() + 60
        while not (folder / "pid").exists() or not (folder / "pid").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(number)
        _, told = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 128 + number
    assert b"Traceback" not in told
    worker = Path(f"/proc/{(folder / 'pid').read_text()}")
    assert not worker.exists() or "Z" in (worker / "stat").read_text()


def test_a_hangup_that_nohup_ignores_stays_ignored(folder: Path) -> None:
    # kprof waits for the capture while the signal is sent.
    script = (
        f"mkfifo in; (trap '' HUP; exec {KPROF} analyze --capture in -q >out) & child=$!; "
        "exec 3>in; kill -HUP $child; cat right.json >&3; exec 3>&-; wait $child"
    )
    assert shell(script, folder).returncode == 0
    assert json.loads((folder / "out").read_text())["source"] == "replayed"


def test_what_lies_in_the_current_folder_does_not_run(tmp_path: Path) -> None:
    for name in ("json", "click", "msgspec", "pathlib", "signal"):
        (tmp_path / f"{name}.py").write_text(f"open('ran-{name}', 'w')\nraise RuntimeError('shadowed')\n")
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text("raise RuntimeError('shadowed')\n")
    run = run_kprof("schema", cwd=tmp_path, cache=tmp_path / "cache")
    assert run.code == 0, run.stderr
    assert not list(tmp_path.glob("ran-*"))


def test_a_checkout_can_be_run_from_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "kprof").symlink_to(REPO / "kprof")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    script = (
        "import runpy, sys; sys.path[:] = ['', *(p for p in sys.path if p)]; sys.argv = ['kprof', '--version']; "
        "runpy.run_module('kprof', run_name='__main__', alter_sys=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.startswith("kprof, version")) == (0, True), done.stderr
