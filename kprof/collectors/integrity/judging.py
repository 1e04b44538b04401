"""Compares what looked-at calls returned with the reference, which runs only now, for the same values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from secrets import randbits  # By name: user code may replace the module's functions.
from time import perf_counter  # By name: user code may replace the module's functions.
from typing import Any, Final

import msgspec
import torch

from kprof.collectors.integrity.contents import Content, layout
from kprof.collectors.integrity.proof import Looked
from kprof.collectors.precision.bench import SideError
from kprof.collectors.precision.comparison import VALUE_CODES, compare_trees
from kprof.collectors.precision.inplace import changed_inputs, readable_leaves
from kprof.collectors.precision.originals import original_torch
from kprof.collectors.precision.weights import BufferSnapshot
from kprof.collectors.synchronise import synchronise
from kprof.evidence import Reason, Side
from kprof.integrity_evidence import TimedCall
from kprof.precision_evidence import INCONCLUSIVE_CODES, Mismatch
from kprof.trees import changed_containers, map_tensors
from kprof.workload import LoadedWorkload, seed_everything

_BUDGET_S: Final = 0.7
"""Time after which no call is judged but the first of each kind of values."""
_ELSEWHERE: Final = 8
"""Values that are tried for one in which an exchange of elements changes the reference's answer."""

OTHER_INPUTS: Final = Reason(
    code="exchange_not_valid",
    message="with elements exchanged the inputs are not what both sides rely on (sorted, say): no answer is right",
)


@dataclass
class Judge:
    """Judges looked-at calls.

    Args:
        workload: both sides; there is a reference.
        seed: that the calls were made under.
        enter: told whose code runs next.
        allow_nonfinite: NaN and infinity at equal places are no mismatch.
    """

    workload: LoadedWorkload
    seed: int
    enter: Callable[[Side | None], None]
    allow_nonfinite: bool

    def __post_init__(self) -> None:
        self._buffers = BufferSnapshot(self.workload.ref)
        self._usual: tuple[Any] | None = None
        self._answered = False
        self.absent: dict[str, Reason] = {}
        """Values of which a call could not be judged, and why."""
        self.ref_changes: dict[str, None] = {}
        """Inputs that the reference changes."""

    def judged(self, looked: list[Looked]) -> Iterator[TimedCall]:
        """Every call, judged as far as time and memory went; the first of each kind of values always."""
        began = perf_counter()
        firsts: set[str] = set()
        for one in looked:
            first = one.content.values not in firsts
            firsts.add(one.content.values)
            if not one.kept or (not first and perf_counter() - began > _BUDGET_S):
                yield one.call
                continue
            mismatches = self._mismatches(one)
            judged = mismatches is not None
            if not judged:
                self.absent[one.content.values] = OTHER_INPUTS
            yield msgspec.structs.replace(one.call, judged=judged, mismatches=mismatches or ())

    def _mismatches(self, one: Looked) -> tuple[Mismatch, ...] | None:
        """How the result differs; None: the reference has no answer for such values, or no one is due."""
        content = one.content
        expected = self._answer(content)
        if expected is None:
            return None
        found = self._unlike(one.result, expected[0])
        if not content.derived or not found or any(mismatch.code not in VALUE_CODES for mismatch in found):
            return found
        # What the inputs are to hold true of may not hold for exchanged elements (sorted borders, say), and both
        # answers may be as good. The answer to other values is none, unless the kernel gives such for any values.
        stale = self._answer(Content(content.values, content.source))
        if stale is None or self._unlike(one.result, stale[0]) or not self._right_elsewhere(content):
            return None
        message = f"it is the answer to the values before elements were exchanged: {found[0].message}"
        return (Mismatch(code="stale_result", where=found[0].where, message=message), *found[1:])

    def _right_elsewhere(self, content: Content) -> bool:
        """The same exchange of elements in values that the kernel has never seen, and cannot have kept, goes right."""
        for _ in range(_ELSEWHERE):
            self.enter(self.workload.inputs_side)
            others = self.workload.inputs(randbits(31))
            if layout(others) != layout(content.source):
                return True
            same = replace(content, source=others)
            expected, before = self._answer(same), self._answer(Content("refilled", others))
            if expected is None or before is None:
                return False
            # Where the exchange makes no difference to the reference, to be right shows nothing.
            if self._unlike(before[0], expected[0]):
                return not self._unlike(self._kernels_answer(same), expected[0])
        return False

    def _kernels_answer(self, content: Content) -> Any:
        seed_everything(self.seed)
        self.enter("kernel")
        try:
            result = self.workload.kernel(*content.fresh())
            synchronise(self.workload.device)
        except Exception as error:  # User code may raise anything; it is reported as theirs.
            raise SideError("kernel", error) from error
        self.enter(None)
        return result

    def _answer(self, content: Content) -> tuple[Any] | None:
        """The reference's result in a tuple, for it may be anything; None: it raises for exchanged elements."""
        usual = content.values == "repeated" or (content.values == "swapped" and not content.derived)
        if usual and self._usual is not None:
            return self._usual
        with original_torch():
            arguments = content.fresh()
            held = map_tensors(arguments, lambda leaf: leaf)
        leaves = readable_leaves(arguments)
        self._buffers.restore()
        seed_everything(self.seed)
        self.enter("ref")
        assert self.workload.ref is not None
        try:
            result = self.workload.ref(*arguments)
            synchronise(self.workload.device)
        except Exception as error:  # User code may raise anything; it is reported as theirs.
            if content.derived:
                return None
            raise SideError("ref", error) from error
        self.enter(None)
        with original_torch():
            if not self._answered:  # It does so for any values or for none.
                self.ref_changes |= dict.fromkeys(changed_inputs(leaves, content.expected(), None))
                self.ref_changes |= dict.fromkeys(changed_containers(held, arguments))
        self._answered = True
        if usual:
            self._usual = (result,)
        return (result,)

    def _unlike(self, result: Any, expected: Any) -> tuple[Mismatch, ...]:
        with original_torch(), torch.no_grad():
            comparison = compare_trees(
                result, expected, widened=self.workload.widened, allow_nonfinite=self.allow_nonfinite
            )
        return tuple(one for one in comparison.mismatches if one.code not in INCONCLUSIVE_CODES)
