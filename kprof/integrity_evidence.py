"""The evidence of the integrity checks: what was seen of timed calls, of the process and of the kernel's source."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from kprof.evidence import Cache, Reason, Record, Series, Timer
from kprof.precision_evidence import Mismatch

Values = Literal["repeated", "refilled", "moved", "swapped"]
"""What a looked-at call was given: ``repeated``, the values of all other timed calls, written anew where they were;
``refilled``, values never seen at those same addresses; ``moved``, values never seen at addresses never seen;
``swapped``, the usual values with interior elements exchanged: pointer, shape, first, last and sum stay."""
VALUES: Final[tuple[Values, ...]] = ("repeated", "refilled", "moved", "swapped")
NEVER_SEEN: Final[tuple[Values, ...]] = ("refilled", "swapped")
"""Values that were not there before, at addresses that were: what they take is held against ``repeated``."""
When = Literal["import", "call"]


class TimedCall(Record, frozen=True, kw_only=True):
    """One timed call of the kernel that was looked at: taken like the others, between them; its time is no sample."""

    values: Values
    timer: Timer
    cache: Cache
    us: float
    """As the timer read it."""
    judged: bool = False
    """The result was compared with the reference's for the same values, which ran after it."""
    mismatches: tuple[Mismatch, ...] = ()
    changed_inputs: tuple[str, ...] = ()
    """Paths of the inputs that the call left other than it found them."""
    unready: tuple[str, ...] = ()
    """Outputs that were no plain tensor when the window closed."""
    written_later: tuple[str, ...] = ()
    """Outputs that were still written to after the window had closed."""


class Patch(Record, frozen=True, kw_only=True):
    """Something of Python's, torch's, kprof's or the reference's that is no longer what it was."""

    name: str
    """Where it stands: ``time.perf_counter``."""
    when: When
    """``import``: after the kernel was loaded; ``call``: after it was called, or while it was."""


class StaticNote(Record, frozen=True, kw_only=True):
    """Something in the kernel's source that is worth a look; no proof of anything."""

    code: str
    line: int
    message: str


class Tail(Record, frozen=True, kw_only=True):
    """Device-wide wait that is left once the event behind a call has come, us: medians."""

    kernel_us: float
    ref_us: float | None


class IntegrityEvidence(Record, frozen=True, kw_only=True):
    """What was seen. Empty means looked for and not found, unless ``absent`` says that nobody could look."""

    calls: tuple[TimedCall, ...] = ()
    timed_calls: int = 0
    """Timed calls of the kernel in the series that were looked into, those looked at among them."""
    series: tuple[Series, ...] = ()
    """The series that were looked into, where timing was not asked for; else they are timing's."""
    ref_changed_inputs: tuple[str, ...] = ()
    """Inputs that the reference changes: the kernel may too."""
    probed: bool = False
    """The fields from here to ``tail`` were looked for."""
    aliased_inputs: tuple[str, ...] = ()
    """Outputs in the memory of an input, where the reference's is not."""
    aliased_outputs: tuple[str, ...] = ()
    """Outputs in the memory of an earlier call's, which is still held, where the reference's are not."""
    patches: tuple[Patch, ...] = ()
    settings: tuple[str, ...] = ()
    """Settings of torch that are others after the calls than before, with what they are: ``oneDNN: False``."""
    reference_calls: tuple[str, ...] = ()
    """Functions of the reference's file that the kernel called."""
    extension_calls: int | None = None
    """Calls into the extensions that the kernel's file built, in one call; None: it built none, one that is called
    some other way than by Python, or nobody looked."""
    prints: bool = False
    """The kernel's file wrote to the output in a call."""
    forked_children: int = 0
    """Copies of the worker that the kernel left running."""
    tail: Tail | None = None
    """None: no CUDA device."""
    notes: tuple[StaticNote, ...] = ()
    absent: dict[str, Reason] = msgspec.field(default_factory=dict)
    """Why something was not looked at, by the field's name or by the values."""
