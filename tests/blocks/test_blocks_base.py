"""What all blocks share: non-finite numbers, reasons for nulls, and why a block is absent."""

from __future__ import annotations

import math
from typing import Annotated

import captures
import pytest

from kprof.blocks.base import Block, finish, make_finite, missing_code, not_requested, null_paths, stage_absence
from kprof.evidence import Fault, Reason, Record
from kprof.metrics import metric


class Part(Record, frozen=True, kw_only=True):
    time_us: Annotated[float | None, metric("us", "Time", source="test")] = None


class Sample(Block, frozen=True, kw_only=True):
    time_us: Annotated[float | None, metric("us", "Time", source="test")] = None
    pair_us: Annotated[tuple[float, float] | None, metric("us", "Times", source="test")] = None
    part: Part | None = None
    parts: tuple[Part, ...] = ()
    named: dict[str, Part] = {}  # noqa: RUF012


def sample(**fields: object) -> Sample:
    return Sample(status="ok", source="test", **fields)  # type: ignore[arg-type]


def test_nan_and_infinity_become_null_with_their_own_reason() -> None:
    block = finish(
        sample(
            time_us=math.nan,
            pair_us=(1.0, math.inf),
            part=Part(time_us=-math.inf),
            parts=(Part(time_us=1.0), Part(time_us=math.nan)),
            named={"a": Part(time_us=math.inf)},
        ),
        lambda path: pytest.fail(f"{path} has a reason already"),
    )
    assert (block.time_us, block.pair_us) == (None, None)
    assert block.part == Part(time_us=None)
    assert block.parts == (Part(time_us=1.0), Part(time_us=None))
    assert block.reasons == dict.fromkeys(
        ("time_us", "pair_us", "part.time_us", "parts[1].time_us", "named.a.time_us"), "not_finite"
    )


def test_a_null_is_explained_by_its_path_and_a_number_is_left_alone() -> None:
    block = finish(sample(time_us=2.5, part=Part()), lambda path: f"code_of_{path}")
    assert block.time_us == 2.5
    assert block.reasons == {"pair_us": "code_of_pair_us", "part.time_us": "code_of_part.time_us"}


def test_a_record_without_nulls_keeps_its_values() -> None:
    block = sample(time_us=0.0, pair_us=(1.0, 2.0), part=Part(time_us=3.0))
    assert make_finite(block) == (block, frozenset())
    assert list(null_paths(block)) == []


def fault(stage: str, side: str | None = "kernel", code: str = "crashed") -> Fault:
    return Fault(stage=stage, side=side, code=code, message="it fell", hint="Mend it.")  # type: ignore[arg-type]


def test_a_block_nobody_asked_for_is_skipped() -> None:
    absence = not_requested(captures.h200_tiny(requested=("build", "timing")), "memory")
    assert absence is not None
    assert (absence.status, absence.reason.code) == ("skipped", "not_requested")
    assert absence.reason.message == "not among the blocks asked for (build, timing)"
    assert not_requested(captures.h200_tiny(), "memory") is None


def test_a_stage_without_evidence_is_explained_by_its_own_fault_first() -> None:
    capture = captures.h200_tiny(faults=(fault("load", code="no_entry"), fault("timing", "ref")))
    absence = stage_absence(capture, "timing")
    assert absence.status == "failed"
    assert absence.reason == Reason(code="crashed", message="reference: it fell", hint="Mend it.")


def test_a_stage_that_was_not_attempted_is_skipped_not_failed() -> None:
    absence = stage_absence(captures.h200_tiny(faults=(fault("timing", code="not_attempted"),)), "timing")
    assert (absence.status, absence.reason.code) == ("skipped", "not_attempted")


@pytest.mark.parametrize(("earlier", "side"), [("load", "kernel"), ("build", "ref"), ("load", None)])
def test_an_earlier_fault_skips_what_comes_after_and_is_named(earlier: str, side: str | None) -> None:
    absence = stage_absence(captures.h200_tiny(faults=(fault(earlier, side, code="broken"),)), "memory")
    assert (absence.status, absence.reason.code) == ("skipped", "broken")
    whose = {"kernel": " of the kernel", "ref": " of the reference", None: ""}[side]
    assert absence.reason.message == f"not run: the {earlier}{whose} failed"


def test_a_later_or_independent_fault_explains_nothing() -> None:
    for stage in ("memory", "precision"):
        absence = stage_absence(captures.h200_tiny(faults=(fault(stage),)), "timing")
        assert (absence.status, absence.reason.code) == ("unavailable", "not_collected"), stage


def test_what_one_side_lacks() -> None:
    capture = captures.h200_tiny(faults=(fault("memory", "ref", code="raised"),))
    assert missing_code(capture, "memory", "ref") == "raised"
    assert missing_code(captures.h200_tiny(), "memory", "kernel") == "not_collected"
    assert missing_code(captures.without_ref(captures.h200_tiny()), "memory", "ref") == "no_reference"
