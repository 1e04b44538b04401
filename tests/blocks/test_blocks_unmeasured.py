"""The blocks that this version cannot measure: there, null, and honest about why."""

from __future__ import annotations

import captures
import made_evidence
import msgspec
import pytest

from kprof.report import build_report

COUNTERS = ("roofline", "occupancy", "caches", "stalls")


@pytest.mark.parametrize(
    ("made", "code"), [(captures.cpu_run, "no_cuda_device"), (captures.h200_tiny, "counters_not_collected")]
)
@pytest.mark.parametrize("name", COUNTERS)
def test_counter_blocks_say_what_is_missing(made: object, code: str, name: str) -> None:
    block = getattr(build_report(made()).blocks, name)  # type: ignore[operator]
    assert block.status == "unavailable"
    assert block.reason.code == code
    assert block.reason.hint
    fields = [field for field in block.__struct_fields__ if field not in type(block).__mro__[1].__struct_fields__]
    assert len(fields) >= 4
    assert all(getattr(block, field) is None for field in fields)
    assert block.reasons == dict.fromkeys(fields, code)


@pytest.mark.parametrize("made", [captures.cpu_run, captures.h200_tiny])
def test_captures_from_before_the_integrity_checks_say_so(made: object) -> None:
    block = build_report(made()).blocks.integrity  # type: ignore[operator]
    assert (block.status, block.reason and block.reason.code) == ("unavailable", "not_collected")
    assert set(block.reasons.values()) == {"not_collected"}


def test_without_counters_the_host_can_still_be_the_bound() -> None:
    """A GPU that stands idle most of the time needs no counter to be seen."""
    block = build_report(captures.h200_tiny()).blocks.bottleneck
    assert (block.status, block.family) == ("ok", "launch")
    assert [warning.code for warning in block.warnings] == ["counters_not_collected"]
    large = build_report(captures.h200_large()).blocks.bottleneck
    assert (large.status, large.family) == ("unavailable", None)


def test_a_waterfall_needs_a_device() -> None:
    assert build_report(captures.cpu_run()).blocks.waterfall.reason is not None
    tiny = build_report(captures.h200_tiny()).blocks.waterfall
    assert tiny.floor_us is None
    assert tiny.gap_us is not None


def test_a_run_that_ended_before_it_had_a_device_is_not_said_to_be_on_a_cpu() -> None:
    nowhere = msgspec.structs.replace(made_evidence.CPU, device="auto")
    sol = build_report(captures.cpu_run(environment=nowhere)).blocks.sol
    assert sol.reason is not None
    assert sol.reason.code == "device_unknown"


def test_a_wrong_integrity_is_not_claimed() -> None:
    assert build_report(captures.h200_tiny()).blocks.integrity.passed is None


def test_one_that_nobody_asked_for_is_skipped() -> None:
    blocks = build_report(captures.h200_tiny(requested=("timing", "sol"))).blocks
    assert (blocks.roofline.status, blocks.sol.status) == ("skipped", "unavailable")
