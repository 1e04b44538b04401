"""The self-test from end to end, with stand-ins for nvcc, the board and ncu; and every reason why it cannot run."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import msgspec
import pytest
from fake_ncu import fake_ncu
from selftest_runs import BOARD, EMPTY_PAIR_US, WORK, run

from kprof.cli import run as run_command
from kprof.collectors.probes import toolchain
from kprof.collectors.probes.run import read_output
from kprof.collectors.probes.toolchain import CudaDevice
from kprof.errors import CannotMeasureError
from kprof.renderers.layout import Style
from kprof.renderers.selftest import render_selftest
from kprof.selftest import run as selftest_run
from kprof.selftest.records import SelftestResult
from kprof.selftest.run import run_selftest
from kprof.subprocesses.asking import Answer
from kprof.turns import turn_on

REPORT = Path(__file__).resolve().parents[1] / "data" / "ncu" / "probes.ncu-rep"
NVCC = """#!/bin/sh
[ "$1" = --version ] && {{ echo "Cuda compilation tools, release 13.0, V13.0.88"; exit 0; }}
for last; do true; done
case "$*" in
*broken.cu*) echo "broken.cu(3): error: identifier is undefined" >&2; exit 2 ;;
*run_probes.cu*) cp "{program}" "$last" && chmod +x "$last" ;;
*) : >"$last" ;;
esac
"""


def lines_of(*names: str) -> str:
    head = {"board": msgspec.to_builtins(BOARD), "empty_pair_us": EMPTY_PAIR_US}
    return "\n".join(json.dumps(one) for one in (head, *(msgspec.to_builtins(run(name)) for name in names)))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an nvcc, a board and an ncu that do what was recorded; returns its folder."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{lines_of(*WORK)}\nEND\n")
    (tmp_path / "home" / "bin").mkdir(parents=True)
    nvcc = tmp_path / "home" / "bin" / "nvcc"
    nvcc.write_text(NVCC.format(program=program))
    nvcc.chmod(0o755)
    sources = tmp_path / "sources"
    sources.mkdir()
    for name in ("run_probes", *WORK):
        (sources / f"{name}.cu").write_text(f"// {name}\n")
    labels = {"dram_copy": "memory/dram", "fma_fp32": "compute/issue", "mma_fp16": "compute/tensor"}
    truth = [f"  {name}: {{labels: [{labels.get(name, 'memory/l2')}]}}" for name in WORK if name != "smem_conflict"]
    (sources / "truth.yaml").write_text("probes:\n" + "\n".join(truth) + "\n")
    fake_ncu(
        tmp_path / "bin",
        f'cp "{REPORT}" "$report"; echo \'==PROF== Profiling "dram_copy" - 0: 0%....100% - 9 passes\' >"$log"',
    )
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("KPROF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(selftest_run, "cuda_device", lambda _: CudaDevice((9, 0), "GPU-0"))
    monkeypatch.setattr(selftest_run, "permission_reason", lambda: None)
    monkeypatch.setattr(selftest_run, "turn_on", functools.partial(turn_on, folder=tmp_path))
    monkeypatch.setattr(selftest_run, "resource_dir", lambda _: sources)
    return tmp_path


def test_all_agree(machine: Path) -> None:
    told: list[str] = []
    result = run_selftest(machine / "cache", on_step=told.append, keep_report=machine / "kept.ncu-rep")
    assert result.passed, render_selftest(result, Style(width=120))
    assert told == ["build", "time", "profile"] == list(result.seconds)
    assert [probe.status for probe in result.probes] == ["ok"] * 4
    assert (result.spec, result.ncu, result.ncu_passes) == ("h200-sxm-141gb", "2025.3.1", 9)
    assert result.nvcc == "Cuda compilation tools, release 13.0, V13.0.88"
    assert (machine / "kept.ncu-rep").read_bytes() == REPORT.read_bytes()


def test_the_board_is_waited_for_once_all_is_compiled(machine: Path) -> None:
    steps: list[str] = []
    waited: list[str] = []
    with turn_on("GPU-0", 0, waited.append, machine), pytest.raises(CannotMeasureError) as caught:
        run_selftest(machine / "cache", on_step=steps.append, on_wait=waited.append, lock_timeout_s=0.3)
    assert (caught.value.code, steps, waited) == ("device_busy", ["build"], ["GPU-0"])
    assert run_selftest(machine / "cache", on_wait=waited.append, lock_timeout_s=0).passed
    with turn_on("GPU-0", 0, waited.append, machine):
        assert waited == ["GPU-0"], "let go in the end"


def test_the_board_is_held_while_probes_run(machine: Path) -> None:
    refused: list[str] = []

    def step(name: str) -> None:
        try:
            with turn_on("GPU-0", 0, lambda _: None, machine):
                pass
        except CannotMeasureError:
            refused.append(name)

    assert run_selftest(machine / "cache", on_step=step).passed
    assert refused == ["time", "profile"]


def test_the_second_run_compiles_nothing(machine: Path) -> None:
    run_selftest(machine / "cache")
    nvcc = machine / "home" / "bin" / "nvcc"
    nvcc.write_text('#!/bin/sh\necho "Cuda compilation tools, release 13.0, V13.0.88"; [ "$1" = --version ]\n')
    assert run_selftest(machine / "cache").passed


def test_a_probe_that_does_not_compile_costs_itself_alone(machine: Path) -> None:
    truth = machine / "sources" / "truth.yaml"
    truth.write_text(truth.read_text() + "  broken: {labels: [balanced]}\n")
    (machine / "sources" / "broken.cu").write_text("broken")
    result = run_selftest(machine / "cache")
    assert not result.passed
    assert [probe.status for probe in result.probes] == ["ok"] * 4 + ["failed"]
    reason = result.probes[-1].reason
    assert reason is not None
    assert (reason.code, reason.message) == (
        "compile_failed",
        "broken.cu: broken.cu(3): error: identifier is undefined",
    )


def test_the_command_prints_a_table_or_json(machine: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_command(["doctor", "--selftest"]) == 0
    assert "dram_copy" in (out := capfd.readouterr().out)
    assert "AGREES" in out
    assert "4 of 4 probes agree" in out
    assert run_command(["doctor", "--selftest", "--json"]) == 0
    result = msgspec.json.decode(capfd.readouterr().out, type=SelftestResult)
    assert result.passed


def test_a_miss_is_exit_code_1_and_told_with_its_numbers(machine: Path, capfd: pytest.CaptureFixture[str]) -> None:
    truth = machine / "sources" / "truth.yaml"
    truth.write_text(truth.read_text().replace("memory/dram", "compute/xu"))
    assert run_command(["doctor", "--selftest"]) == 1
    out = capfd.readouterr().out
    assert "MISSES" in out
    assert "dram_copy: label: memory/dram, expected compute/xu" in out


@pytest.mark.parametrize(
    ("missing", "code", "hint"),
    [
        ("nvcc", "nvcc_missing", "CUDA_HOME"),
        ("ncu", "ncu_not_found", "Nsight Compute"),
    ],
)
def test_what_is_not_installed_is_named(
    missing: str, code: str, hint: str, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "_USUAL_HOME", str(machine / "nowhere"))
    monkeypatch.setattr("kprof.collectors.ncu_run.tool._USUAL_PLACES", ())
    (machine / ("home/bin" if missing == "nvcc" else "bin") / missing).unlink()
    with pytest.raises(CannotMeasureError) as caught:
        run_selftest(machine / "cache")
    assert caught.value.code == code
    assert hint in caught.value.hint
    assert not (machine / "cache" / "extensions").exists(), "nothing is compiled for a test that cannot run"


def test_no_device_is_told_before_anything_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "_DRIVER_LIBRARY", "libno-such-driver.so")
    with pytest.raises(CannotMeasureError, match="no NVIDIA driver") as caught:
        run_selftest(tmp_path)
    assert caught.value.code == "no_cuda_device"


@pytest.mark.parametrize(
    ("says", "code"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", "counters_permission"),
        ("==ERROR== Profiling failed because a driver resource was unavailable.", "counters_busy"),
        ("==ERROR== The application returned an error code (11).", "crashed"),
    ],
)
def test_ncu_that_does_not_deliver_says_why(says: str, code: str, machine: Path) -> None:
    fake_ncu(machine / "bin", f"echo '{says}' >\"$log\"; exit 1")
    with pytest.raises(CannotMeasureError) as caught:
        run_selftest(machine / "cache")
    assert caught.value.code == code
    if code == "crashed":
        assert "the probes' program" in caught.value.message


def test_a_program_that_dies_half_way_loses_only_what_it_did_not_reach() -> None:
    ran = read_output(Answer(-11, lines_of("dram_copy") + "\nSegmentation fault\n"), ("dram_copy", "l2_read"))
    assert [one.probe for one in ran.runs] == ["dram_copy"]
    assert "status -11: Segmentation fault" in ran.lost["l2_read"].message


@pytest.mark.parametrize("answer", [None, Answer(1, "run_probes: cudaSetDevice: no device\n"), Answer(0, "{broken\n")])
def test_a_board_that_cannot_be_used_is_a_reason(answer: Answer | None) -> None:
    with pytest.raises(CannotMeasureError) as caught:
        read_output(answer, ("dram_copy",))
    assert caught.value.code == "probes_failed"


def test_the_compilers_message_is_in_the_reason(machine: Path) -> None:
    (machine / "sources" / "run_probes.cu").unlink()
    nvcc = machine / "home" / "bin" / "nvcc"
    nvcc.write_text("#!/bin/sh\necho \"nvcc fatal : Unsupported gpu architecture 'compute_90a'\" >&2; exit 1\n")
    with pytest.raises(CannotMeasureError, match="Unsupported gpu architecture"):
        run_selftest(machine / "cache")
