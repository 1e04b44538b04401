"""From an exception to a fault: whose, where, under which code."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from kprof.collectors.build import BuildError
from kprof.collectors.environment import NoSuchDeviceError
from kprof.collectors.precision.collect import SideError
from kprof.errors import CannotMeasureError
from kprof.evidence import Fault, Side, Workload
from kprof.precision_evidence import PrecisionEvidence, PrecisionTrial, Tolerance
from kprof.worker.answers import Answers
from kprof.worker.faults import as_fault
from kprof.worker.protocol import Request, Update, decode_update
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


def sent(folder: Path) -> list[Update]:
    lines = (folder / "updates.jsonl").read_bytes().split(b"\n")
    return [update for line in lines if (update := decode_update(line)) is not None]


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
        (GeneratorExit(), "kernel", "raised"),
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
    first, second = sent(tmp_path)
    assert (first.entered, second.entered) == ("timing", None)
    assert second.fault is not None
    assert (tmp_path / "side").read_bytes() == b"k"
    answers.mark(None)
    assert (tmp_path / "side").read_bytes() == b"-"


class Unspeakable(BaseException):
    """Its text cannot be made."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_an_exception_whose_text_cannot_be_made_is_reported_all_the_same(answers: Answers) -> None:
    found = fault(answers, Unspeakable(), "kernel")
    assert found.code == "raised"
    assert found.message == "the kernel raised Unspeakable: (its message cannot be read) (in the timing stage)"


def test_lone_surrogates_do_not_keep_a_fault_from_being_sent(answers: Answers, tmp_path: Path) -> None:
    answers.fault(fault(answers, ValueError("a\ud800b"), "kernel"))
    told = sent(tmp_path)[-1].fault
    assert told is not None
    assert told.message == "the kernel raised ValueError: a?b (in the timing stage)"
    assert told.stage == "timing"


def test_an_answer_behind_half_a_line_of_user_codes_is_whole(answers: Answers, tmp_path: Path) -> None:
    with (tmp_path / "updates.jsonl").open("ab") as stream:
        stream.write(b"hello")
    answers.send(Update(finished="worker"))
    assert sent(tmp_path)[-1].finished == "worker"


def raised_by(source: str, filename: str = "kernel.py") -> Exception:
    try:
        exec(compile(source, filename, "exec"), {"__name__": "user"})
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_the_detail_shows_the_users_frames_alone(answers: Answers) -> None:
    through = "from kprof.capture import load_capture\ndef f(): load_capture(None)\nf()"
    found = fault(answers, raised_by("import importlib\nimportlib.import_module('nowhere_at_all')"), "kernel")
    assert 'File "kernel.py", line 2' in found.detail
    assert "importlib/__init__" not in found.detail
    assert "Traceback" not in found.detail
    assert "frozen importlib" not in found.detail
    assert found.detail.endswith("No module named 'nowhere_at_all'\n")
    found = fault(answers, raised_by(through), "kernel")
    assert 'File "kernel.py", line 2, in f' in found.detail
    assert "kprof/capture.py" not in found.detail


def test_a_fault_of_kprofs_own_keeps_its_frames(answers: Answers) -> None:
    through = "from kprof.capture import load_capture\nload_capture(None)"
    assert "kprof/capture.py" in fault(answers, raised_by(through)).detail


def test_a_file_that_cannot_be_used_shows_what_it_raised(answers: Answers) -> None:
    error = WorkloadError("kernel", "import_failed", "m", "h")
    error.__cause__ = raised_by("def g():\n    raise OSError('theirs')\ng()")
    detail = fault(answers, error).detail
    assert "OSError: theirs" in detail
    assert "WorkloadError" not in detail
    assert fault(answers, WorkloadError("kernel", "entry_missing", "m", "h")).detail == ""


def test_what_needs_cuda_needs_no_traceback(answers: Answers) -> None:
    assert (
        fault(answers, raised_by("raise AssertionError('Torch not compiled with CUDA enabled')"), "kernel").detail == ""
    )


def test_hints_name_only_what_is_there(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    for present, hint in ((False, "Give --device auto or cpu."), (True, "Give --device auto, or one of those.")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda present=present: present)
        assert fault(answers, NoSuchDeviceError("--device cuda:9: ... here")).hint == hint
    assert fault(answers, ValueError("x"), "kernel").hint == "Its traceback is in faults[].detail of the report."


def test_an_answer_that_cannot_be_read_back_is_a_fault_of_kprofs_own(answers: Answers, tmp_path: Path) -> None:
    """JSON has no infinity: the line would count as forged."""
    tolerance = Tolerance(where="out", dtype="float32", atol=math.inf, rtol=0.0, scale=1.0)
    trial = PrecisionTrial(seed=0, shapes=(), mismatches=(), tolerances=(tolerance,))
    before = (tmp_path / "updates.jsonl").read_bytes()
    with pytest.raises(ValueError, match="cannot be read back") as found:
        answers.send(Update(precision=PrecisionEvidence(trials=(trial,), trials_requested=1)))
    assert (tmp_path / "updates.jsonl").read_bytes() == before
    assert fault(answers, found.value).code == "internal_error"
    answers.send(Update(finished="worker"))
    assert sent(tmp_path)[-1].sent == 2
