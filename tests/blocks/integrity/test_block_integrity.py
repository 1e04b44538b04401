"""The block ``integrity``: each check from evidence alone, with its borders, and what a failed one costs."""

from __future__ import annotations

from typing import Any

import captures
import made_evidence
import msgspec
import pytest
from integrity_blocks import WRONG, block, call, calls, capture, check, evidence

from kprof.evidence import Fault, Reason, Series
from kprof.integrity_evidence import IntegrityEvidence, Patch, StaticNote, Tail, Values
from kprof.precision_evidence import Mismatch
from kprof.renderers import text
from kprof.report import Report, build_report, exit_code


def test_an_honest_run_passes_every_check_that_can_fail() -> None:
    made = block()
    assert (made.status, made.passed, made.timed_calls, made.looked_at, made.judged) == ("ok", True, 200, 14, 14)
    assert {one.name for one in made.checks or () if one.severity == "fail" and one.passed is None} == {
        "wrong_when_profiled"
    }
    unknown = {
        f"checks[{index}].passed": one.reason for index, one in enumerate(made.checks or ()) if one.passed is None
    }
    assert made.reasons == {**unknown, "sanitizer": "not_requested"}
    report = build_report(capture())
    assert (exit_code(report), report.blocks.timing.status) == (0, "ok")


@pytest.mark.parametrize("values", ["repeated", "refilled", "moved", "swapped"])
def test_a_wrong_timed_call_fails_the_check_of_its_values(values: Values) -> None:
    found = evidence(calls=(*calls(), call(values, mismatches=WRONG)))
    made = block(found)
    failed = [one for one in made.checks or () if one.passed is False]
    assert [(one.name, one.severity) for one in failed] == [(f"wrong_on_{values}", "fail")]
    assert "1 of " in failed[0].detail
    assert "3 of 320 elements differ" in failed[0].detail
    assert made.passed is False


def report_of(found: IntegrityEvidence, **changes: Any) -> Report:
    return build_report(capture(found, **changes))


def test_a_failed_check_takes_the_trust_from_the_times_and_gives_exit_code_1() -> None:
    report = report_of(evidence(calls=(*calls(), call("refilled", mismatches=WRONG))))
    timing = report.blocks.timing
    assert timing.kernel_us is not None  # kept, and flagged
    assert timing.status == "suspect"
    assert timing.reason is not None
    assert timing.reason.code == "integrity_failed"
    assert "wrong_on_refilled" in timing.reason.message
    assert exit_code(report) == 1
    lines = text.render(report).splitlines()
    labels = [line.split()[0] for line in lines if line[:1].isupper()]
    assert labels.index("SUSPECT") < labels.index("RIGHT") < labels.index("SPEEDUP?")
    assert any("wrong_on_refilled" in line for line in lines)


def test_a_kernel_wrong_from_its_first_call_is_wrong_and_no_cheat() -> None:
    found = evidence(calls=(*calls(), call("refilled", mismatches=WRONG)))
    made = check("wrong_on_refilled", found, precision=captures.wrong_kernel().precision)
    assert (made.passed, made.reason) == (None, "wrong_anyway")
    assert block(found, precision=captures.wrong_kernel().precision).passed is None


def test_one_whose_second_call_is_wrong_is() -> None:
    later = Mismatch(code="second_call_differs", where="out", message="the first call agreed")
    precision = captures.wrong_kernel().precision
    assert precision is not None
    first = msgspec.structs.replace(precision.trials[0], mismatches=(later, *WRONG))
    found = evidence(calls=(*calls(), call("refilled", mismatches=WRONG)))
    made = check("wrong_on_refilled", found, precision=msgspec.structs.replace(precision, trials=(first,)))
    assert made.passed is False


def test_what_the_reference_changes_the_kernel_may_change_too() -> None:
    found = evidence(calls=(*calls(), call(changed_inputs=("[0]",))))
    assert check("input_mutated", found).passed is False
    assert check("input_mutated", msgspec.structs.replace(found, ref_changed_inputs=("[0]",))).passed is True


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"calls": (*calls(), call(unready=("out",)))}, "lazy_output"),
        ({"calls": (*calls(), call(written_later=("out",)))}, "work_after_window"),
        ({"tail": Tail(kernel_us=400.0, ref_us=5.0)}, "work_after_window"),
        ({"aliased_inputs": ("out",)}, "output_aliases_input"),
        ({"aliased_outputs": ("out",)}, "output_aliases_earlier"),
        ({"patches": (Patch(name="time.time", when="import"),)}, "clock_patched"),
        ({"patches": (Patch(name="torch.cuda.streams.Event.record", when="call"),)}, "clock_patched"),
        ({"patches": (Patch(name="torch.allclose", when="import"),)}, "torch_patched"),
        ({"patches": (Patch(name="kprof.report.exit_code", when="import"),)}, "kprof_patched"),
        ({"patches": (Patch(name="reference.Model", when="import"),)}, "reference_patched"),
        ({"patches": (Patch(name="json.dumps", when="import"),)}, "python_patched"),
        ({"forked_children": 1}, "forked_child"),
    ],
)
def test_each_kind_fails_its_own_check_alone(changes: dict[str, Any], name: str) -> None:
    made = block(evidence(**changes))
    assert [one.name for one in made.checks or () if one.passed is False] == [name]
    assert made.passed is False


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"reference_calls": ("forward",)}, "calls_reference"),
        ({"prints": True}, "prints"),
        ({"notes": (StaticNote(code="replaces", line=3, message="it replaces time.time"),)}, "static_notes"),
    ],
)
def test_an_advisory_fails_nothing_and_warns(changes: dict[str, Any], name: str) -> None:
    made = block(evidence(**changes))
    assert [one.name for one in made.checks or () if one.passed is False] == [name]
    assert made.passed is True
    assert [warning.code for warning in made.warnings] == [name]
    assert exit_code(report_of(evidence(**changes))) == 0


def test_an_extension_that_nobody_calls_is_a_fallback() -> None:
    cpp = made_evidence.workload(kind="cpp")
    assert check("library_fallback", evidence(extension_calls=0), workload=cpp).passed is False
    assert check("library_fallback", evidence(extension_calls=2), workload=cpp).passed is True
    assert check("library_fallback", evidence(), workload=made_evidence.workload(kind="pytorch")).passed is True


@pytest.mark.parametrize(
    ("kernel", "passed"), [(2.0e-7, True), (1.0e-5, True), (6.3e-5, True), (7.0e-5, False)]
)  # the scale is 2.1, so 2^-15 of it is 6.4e-5
def test_an_error_far_above_the_reference_s_own_is_a_precision_traded(kernel: float, passed: bool) -> None:
    precision = msgspec.structs.replace(
        captures.cpu_run().precision, kernel_error_vs_fp64=kernel, ref_error_vs_fp64=2.0e-7
    )
    assert check("precision_traded", precision=precision).passed is passed


def test_a_wrong_result_is_not_said_to_trade_precision() -> None:
    precision = made_evidence.precision(made_evidence.wrong_trial(), kernel_error_vs_fp64=1.0, ref_error_vs_fp64=2.0e-7)
    found = check("precision_traded", precision=precision)
    assert (found.passed, found.reason) == (None, "wrong_anyway")


def fault(code: str, side: Any = "kernel") -> Fault:
    return Fault(stage="timing", side=side, code=code, message="the worker ended by itself with status 0")


def test_a_kernel_that_ends_the_process_is_flagged_even_without_evidence() -> None:
    made = build_report(captures.cpu_run(integrity=None, faults=(fault("exited"),)))
    assert made.blocks.integrity.passed is False
    assert [one.name for one in made.blocks.integrity.checks or () if one.passed is False] == ["ended_process"]
    assert exit_code(made) == 3


def test_answers_in_kprof_s_name_fail_and_leave_the_rest_measured() -> None:
    forged = msgspec.structs.replace(fault("answers_forged", None), stage="integrity")
    report = build_report(capture(faults=(forged,)))
    assert [one.name for one in report.blocks.integrity.checks or () if one.passed is False] == ["fake_answers"]
    assert exit_code(report) == 1


@pytest.mark.parametrize("code", ["no_floating_inputs", "inputs_not_refillable", "exchange_not_valid"])
def test_values_that_cannot_be_made_are_no_gap(code: str) -> None:
    absent = {"swapped": Reason(code=code, message="none")}
    made = block(evidence(calls=calls(swapped=()), absent=absent))
    assert made.passed is True
    (one,) = (each for each in made.checks or () if each.name == "wrong_on_swapped")
    assert (one.passed, one.reason, one.detail) == (None, code, "none")


def test_looking_that_ended_early_passes_nothing() -> None:
    reason = Reason(code="out_of_memory", message="no room")
    made = block(evidence(calls=(), absent={"calls": reason}))
    assert (made.status, made.reason, made.passed) == ("suspect", reason, None)
    assert made.reasons["passed"] == "out_of_memory"


def test_without_a_reference_no_result_is_judged_and_nothing_passes() -> None:
    unjudged = tuple(msgspec.structs.replace(one, judged=False) for one in calls())
    absent = {"judged": Reason(code="no_reference", message="there is none")}
    made = block(evidence(calls=unjudged, absent=absent))
    assert (made.passed, made.reasons["passed"]) == (None, "no_reference")


def test_work_on_a_stream_that_events_do_not_see_fails() -> None:
    run = captures.h200_large(integrity=evidence())
    assert run.launches is not None
    assert run.timing is not None

    def halved(one: Series) -> Series:
        return msgspec.structs.replace(one, kernel_us=tuple(us / 3 for us in one.kernel_us))

    series = tuple(halved(one) if one.timer == "event" else one for one in run.timing.series)
    seen = msgspec.structs.replace(run, timing=msgspec.structs.replace(run.timing, series=series))
    found = {one.name: one.passed for one in build_report(seen).blocks.integrity.checks or ()}
    assert found["work_after_window"] is False
    honest = {one.name: one.passed for one in build_report(run).blocks.integrity.checks or ()}
    assert honest["work_after_window"] is True


def test_only_kernels_of_libraries_are_a_fallback_of_a_cuda_file() -> None:
    run = captures.h200_large(integrity=evidence())
    assert {one.name: one.passed for one in build_report(run).blocks.integrity.checks or ()}["library_fallback"]
    assert run.launches is not None
    assert run.launches.ref is not None
    named = made_evidence.kernel_launch("void at::native::softmax_warp_forward<float, float>(float*, int)", 5.0, 940.0)
    of_library = msgspec.structs.replace(run.launches.ref, launches=(named,))
    library = msgspec.structs.replace(run, launches=msgspec.structs.replace(run.launches, kernel=of_library))
    found = {one.name: one.passed for one in build_report(library).blocks.integrity.checks or ()}
    assert found["library_fallback"] is False


def test_a_kernel_that_nobody_saw_run_is_no_proof_that_its_own_ran() -> None:
    triton = made_evidence.workload(kind="triton")
    found = check("library_fallback", evidence(), workload=triton)
    assert (found.passed, found.reason) == (None, "not_profiled")
    assert block(evidence(), workload=triton).passed is True


def test_what_was_not_looked_at_says_what_was_missing() -> None:
    assert "block launches" in check("wrong_when_profiled", launches=None).detail
    made = check("precision_traded", precision=None)
    assert (made.passed, made.reason, "timed call" in made.detail) == (None, "error_not_measured", False)


def test_settings_that_calls_leave_changed_are_told() -> None:
    told = check("settings_changed", evidence(settings=("oneDNN: False",)))
    assert (told.passed, told.severity) == (False, "advisory")
    assert "oneDNN: False" in told.detail
