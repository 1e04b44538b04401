"""What ``kprof analyze`` takes and refuses, all of it before anything runs."""

from __future__ import annotations

import os
from pathlib import Path

import captures
import click
import pytest
from running import run_kprof

from kprof import cli, files
from kprof.capture import encode_capture
from kprof.commands import analyze_arguments
from kprof.commands.analyze_arguments import Seconds, assignment, block_names, device_name, source_file
from kprof.errors import UsageError
from kprof.report import BLOCK_NAMES


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Run analyze in a folder with a kernel that must not run; returns what stderr said."""
    monkeypatch.chdir(tmp_path)
    for name in ("kernel.py", "ref.py"):
        Path(name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    Path("c.json").write_bytes(encode_capture(captures.cpu_run()))

    def call(*arguments: str, code: int = 2) -> str:
        assert cli.run(["analyze", *arguments]) == code
        assert not Path("ran").exists()
        told = capsys.readouterr()
        assert told.out == ""
        assert "Traceback" not in told.err
        return told.err

    return call


MEASURE = ("kernel.py", "--ref", "ref.py")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*MEASURE, "-o", "kernel.py"), "cannot write kernel.py: it is the same file as kernel.py"),
        ((*MEASURE, "-o", "./ref.py"), "it is the same file as ref.py"),
        ((*MEASURE, "--save-capture", "link.py"), "cannot write link.py: it is the same file as kernel.py"),
        ((*MEASURE, "-o", "hard.py"), "cannot write hard.py: it is the same file as kernel.py"),
        ((*MEASURE, "-o", "new.json", "--save-capture", "./new.json"), "it is the same file as new.json"),
        (("--capture", "c.json", "-o", "c.json"), "it is the same file as c.json"),
    ],
)
def test_an_output_destroys_no_input_and_no_other_output(
    refused,  # type: ignore[no-untyped-def]
    arguments: tuple[str, ...],
    says: str,
) -> None:
    Path("link.py").symlink_to("kernel.py")
    os.link("kernel.py", "hard.py")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    assert says in refused(*arguments)
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_two_outputs_may_both_be_thrown_away(capsys: pytest.CaptureFixture[str]) -> None:
    null = Path(os.devnull)
    files.require_outputs((null, null), (None,))


@pytest.mark.parametrize(
    "option",
    [
        ("--ref", "ref.py"),
        ("--save-capture", "d.json"),
        ("--set", "R=1"),
        ("--blocks", "timing"),
        ("--repeats", "1"),
        ("--device", "auto"),
        ("--entry", "ModelNew"),
        ("--ref-mode", "eager"),
        ("--seed", "0"),
        ("--trials", "5"),
        ("--timeout", "300"),
        ("--build-timeout", "600"),
        ("--allow-nonfinite",),
    ],
)
def test_an_option_that_a_replay_would_ignore_is_refused(refused, option: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    assert f"{option[0]}: no effect with --capture" in refused("--capture", "c.json", *option)


def test_a_replay_takes_what_changes_the_report(refused, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    refused("--capture", "c.json", "--format", "text", "-o", "r.txt", "-q", "--debug", code=0)
    assert "RIGHT" in (tmp_path / "r.txt").read_text()


def test_neither_and_both_sources_are_two_messages(refused) -> None:  # type: ignore[no-untyped-def]
    assert "give a kernel file, or --capture FILE\n" in refused()
    assert "found both kernel.py and --capture c.json" in refused("kernel.py", "--capture", "c.json")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--timeout", "nan"),
        ("--timeout", "inf"),
        ("--build-timeout", "nan"),
        ("--build-timeout", "1e999"),
        ("--seed", str(2**63)),
        ("--trials", "10001"),
        ("--repeats", "101"),
    ],
)
def test_numbers_out_of_bounds_are_refused(refused, option: str, value: str) -> None:  # type: ignore[no-untyped-def]
    assert option in refused(*MEASURE, option, value)


def test_seconds_are_finite() -> None:
    assert Seconds().convert("2.5", None, None) == 2.5
    for text in ("nan", "inf", "-inf", "0.5", "soon"):
        with pytest.raises(click.BadParameter):
            Seconds().convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("R=8", 8),
        ("R=-0x10", -16),
        ("R = 1e3 ", 1000.0),
        ("R=True", True),
        ("R='nan'", "nan"),
        ("R=relu", "relu"),
        ("R=1is", "1is"),
        ("R=", ""),
        ("R=(1, 2)", "(1, 2)"),
        (f"R={2**63 - 1}", 2**63 - 1),
        ("R=" + "-" * 999 + "1", "-" * 999 + "1"),
        ("R=" + "-" * 20_000 + "1", "-" * 20_000 + "1"),
        ("R=" + "(" * 900, "(" * 900),
    ],
)
def test_values_of_overrides(text: str, value: object) -> None:
    name, found = assignment(text)
    assert (name, found, type(found)) == ("R", value, type(value))


@pytest.mark.parametrize("value", ["1e999", "-1e999", "nan", "NaN", "inf", "-Infinity", str(2**63), str(-(2**63) - 1)])
def test_an_override_that_no_report_can_hold_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match="was expected"):
        assignment(f"R={value}")


def test_the_message_about_a_long_override_is_short() -> None:
    with pytest.raises(UsageError) as caught:
        assignment("x" * 20_000)
    assert len(caught.value.message) < 120


def test_blocks_are_named_once() -> None:
    assert block_names("timing, timing,build,") == ("timing", "build")
    assert block_names(None) == BLOCK_NAMES
    with pytest.raises(UsageError, match="no block speed"):
        block_names("timing,speed")
    with pytest.raises(UsageError, match="no block named"):
        block_names(",")


@pytest.mark.parametrize("text", ["auto", "cpu", "cuda", "cuda:0", "cuda:15"])
def test_devices(text: str) -> None:
    assert device_name(text) == text


@pytest.mark.parametrize("text", ["", "gpu", "CPU", "cuda:", "cuda:-1", "cuda:01", "cuda:0\n", "mps", "cpu:0"])
def test_what_is_no_device_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="auto, cpu, cuda or cuda:N was expected"):
        device_name(text)


def test_a_device_is_refused_before_anything_runs(refused) -> None:  # type: ignore[no-untyped-def]
    assert "--device 'gpu'" in refused(*MEASURE, "--device", "gpu")


def test_source_files_are_regular_and_of_a_likely_size(tmp_path: Path) -> None:
    good, empty, large, fifo = (tmp_path / name for name in ("good.py", "empty.py", "large.py", "fifo.py"))
    good.write_text("x = 1\n")
    empty.touch()
    with large.open("wb") as stream:
        stream.truncate(analyze_arguments.MAX_SOURCE_BYTES + 1)
    os.mkfifo(fifo)
    assert source_file(good) == good
    for path, says in (
        (empty, "is empty"),
        (large, "has 17 MB"),
        (fifo, "is not a regular file"),  # and opening it would wait for ever
        (Path(os.devnull), "is not a regular file"),
        (tmp_path, "is a folder"),
        (tmp_path / "nowhere.py", "does not exist"),
        (tmp_path / ("x" * 300), "File name too long"),
        (good / "kernel.py", "Not a directory"),
    ):
        with pytest.raises(UsageError, match=says):
            source_file(path)


@pytest.mark.parametrize("option", [(os.fsdecode(b"\xff.py"),), ("kernel.py", "--ref", os.fsdecode(b"\xff.py"))])
def test_a_file_name_that_is_not_utf_8_is_refused(refused, option: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    Path(os.fsdecode(b"\xff.py")).write_text("x = 1")
    assert r"the file name '\udcff.py' is not UTF-8" in refused(*option)


@pytest.mark.parametrize(
    ("name", "value", "code", "says"),
    [
        ("KPROF_CACHE_MAX_MB", "abc", 2, "a number of megabytes was expected"),
        ("KPROF_CACHE_DIR", "~nosuchuser/x", 2, "there is no such user"),
        ("KPROF_CACHE_DIR", os.fsdecode(b"/tmp/\xff"), 2, "is not UTF-8"),
    ],
)
def test_the_surroundings_are_checked_first(
    refused,  # type: ignore[no-untyped-def]
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
    code: int,
    says: str,
) -> None:
    monkeypatch.setenv(name, value)
    assert says in refused(*MEASURE, code=code)


def test_without_a_temporary_folder_nothing_can_be_measured(refused, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    def none_usable() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(analyze_arguments.tempfile, "gettempdir", none_usable)
    told = refused(*MEASURE, code=3)
    assert "kprof: error: no temporary folder can be written" in told
    assert "kprof: hint: Set TMPDIR" in told


def test_an_argument_that_is_not_utf_8_is_kept_readable(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("raise SystemError('x')")
    run = run_kprof(
        "analyze", "kernel.py", "-q", "-o", os.fsdecode(b"\xff.json"), "--device", "cpu", cwd=tmp_path, cache=tmp_path
    )
    assert run.code == 3, run.stderr
    assert "internal error" not in run.stderr
    assert "\N{REPLACEMENT CHARACTER}.json" in (tmp_path / os.fsdecode(b"\xff.json")).read_text()
