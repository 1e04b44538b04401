"""From an exception to a fault: whose, where, under which code."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from kprof.collectors.build import BuildError
from kprof.collectors.environment import NoSuchDeviceError
from kprof.collectors.precision.collect import SideError
from kprof.errors import CannotMeasureError
from kprof.evidence import Fault, Side, Workload
from kprof.worker.answers import Answers
from kprof.worker.faults import as_fault
from kprof.worker.protocol import Request, decode_updates
from kprof.workload import WorkloadError

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
REQUEST = Request(
    workload=Workload(
        kernel_file="some/kernel.py", kernel_sha256="0", ref_file="ref.py", ref_sha256="0", entry="ModelNew", seed=0
    ),
    device="cpu",
    trials=5,
    stages=(),
    cache_dir="/tmp",
)


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    (tmp_path / "updates.jsonl").touch()
    made = Answers(tmp_path)
    made.enter("timing")
    return made


def fault(answers: Answers, error: BaseException, side: Side | None = None, device: torch.device = CPU) -> Fault:
    answers.mark(side)
    return as_fault(error, answers, REQUEST, device)


@pytest.mark.parametrize(
    ("error", "side", "code"),
    [
        (ValueError("x"), "kernel", "raised"),
        (ValueError("x"), None, "internal_error"),
        (MemoryError(), "ref", "out_of_memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "kernel", "out_of_memory"),
        (torch.cuda.OutOfMemoryError("CUDA out of memory."), "kernel", "out_of_memory"),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), "kernel", "cuda_error"),
        (SystemExit(0), "kernel", "raised"),
        (KeyboardInterrupt(), "kernel", "raised"),
        (NoSuchDeviceError("--device cuda:9: no CUDA device here"), None, "no_such_device"),
        (CannotMeasureError("trace_not_written", "m", "h"), None, "trace_not_written"),
    ],
)
def test_each_kind_has_its_code(answers: Answers, error: BaseException, side: Side | None, code: str) -> None:
    found = fault(answers, error, side)
    assert (found.code, found.stage) == (code, "timing")
    assert "\n" not in found.message


def test_the_side_that_an_error_names_is_believed_over_the_mark(answers: Answers) -> None:
    assert fault(answers, SideError("ref", ValueError("theirs")), "kernel").side == "ref"
    assert fault(answers, WorkloadError("kernel", "entry_missing", "m", "h"), "ref").side == "kernel"


def test_a_build_that_fails_is_the_build_stages_fault_with_its_log(answers: Answers) -> None:
    found = fault(answers, BuildError("kernel", "compile_failed", "first error", "h", "the log"), "kernel")
    assert (found.stage, found.detail, found.message) == ("build", "the log", "first error")


@pytest.mark.parametrize(
    "error",
    [
        AssertionError("Torch not compiled with CUDA enabled"),
        ModuleNotFoundError("No module named 'triton'", name="triton"),
        RuntimeError("0 active drivers ([]). There should only be one."),
    ],
)
def test_code_that_wants_cuda_on_a_cpu_says_so(answers: Answers, error: BaseException) -> None:
    wrapped = WorkloadError("kernel", "import_failed", "importing kernel.py raised", "h")
    wrapped.__cause__ = error
    for raised in (error, wrapped):
        found = fault(answers, raised, "kernel")
        assert (found.code, found.side) == ("needs_cuda", "kernel")
        assert found.message == "kernel.py uses CUDA, and there is no CUDA device here"
    assert fault(answers, error, "kernel", CUDA).code != "needs_cuda"


def test_an_error_that_causes_itself_ends(answers: Answers) -> None:
    error = ValueError("loop")
    error.__context__ = other = ValueError("other")
    other.__context__ = error
    assert fault(answers, error, "kernel").code == "raised"


def test_answers_are_whole_lines_and_the_mark_is_one_byte(answers: Answers, tmp_path: Path) -> None:
    answers.fault(fault(answers, ValueError("x"), "kernel"))
    updates, rest = decode_updates((tmp_path / "updates.jsonl").read_bytes())
    assert rest == b""
    assert [update.entered for update in updates] == ["timing", None]
    assert updates[1].fault is not None
    assert (tmp_path / "side").read_bytes() == b"k"
    answers.mark(None)
    assert (tmp_path / "side").read_bytes() == b"-"
