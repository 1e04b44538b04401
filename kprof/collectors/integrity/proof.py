"""Looks at a random share of the timed calls: gives them other values, and keeps what came of them.

Nothing is judged here but what cannot wait: whether the inputs are still what they were, and whether a result was still
written to after its window. The reference runs for the same values only after sampling, so that its answer is nowhere
to be found while the kernel runs.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from secrets import randbits  # By name: user code may replace the module's functions.
from time import sleep  # By name: user code may replace the module's functions.
from typing import Any, Final

import torch
from torch import Tensor

from kprof.collectors.integrity.contents import Content, ContentMaker
from kprof.collectors.precision.bench import copied_if_plain
from kprof.collectors.precision.chunks import bits_equal, is_out_of_memory
from kprof.collectors.precision.inplace import changed_inputs, readable_leaves
from kprof.collectors.precision.originals import original_torch
from kprof.collectors.precision.poison import sizes_of
from kprof.collectors.precision.structure import PLAIN_TYPES, plain
from kprof.collectors.precision.weights import BufferSnapshot
from kprof.collectors.precision.yardstick import random_state
from kprof.collectors.synchronise import synchronise
from kprof.collectors.timing.witness import Witness
from kprof.errors import first_line
from kprof.evidence import Cache, Reason, Side, Timer
from kprof.integrity_evidence import TimedCall, Values
from kprof.trees import changed_containers, is_ordinary, map_tensors, shape_of, tensor_leaves
from kprof.workload import LoadedWorkload, seed_everything

_LEAST: Final[tuple[Values, ...]] = ("repeated", "swapped", "refilled", "moved", "repeated", "swapped")
_MORE: Final[tuple[Values, ...]] = ("repeated", "refilled", "repeated", "swapped", "repeated", "moved")
_MOST_CALLS: Final = 24
_BUDGET_S: Final = 1.0
"""Time for all looked-at calls, what is done round them included."""
_PASSES: Final = 6
_BYTES_PER_S: Final = 2e9
"""Passes over the inputs that a look takes on a CPU, and how fast they are at least; a GPU's cost nothing beside it."""
_SERIES_S: Final = 0.4
_LEAST_SHARE, _MOST_SHARE = 0.1, 0.6
_WARM_AGAIN_BELOW_S: Final = 2e-3
"""Calls this short feel what other work did to the caches: the reference is called outside its window before them."""
_SETTLE_S: Final = (2e-3, 20e-3)
"""Least and most time in which a result may not change any more."""
_MOST_KEPT_BYTES: Final = 1_000_000_000


@dataclass
class Looked:
    """One looked-at call, to be judged later."""

    call: TimedCall
    content: Content
    result: Any
    """In memory of its own; None: there was no room for it."""
    kept: bool


@dataclass
class _Now:
    """The call that is being looked at."""

    content: Content
    leaves: dict[str, Tensor]
    """Its arguments, by path."""
    arguments: list[Any]
    held: list[Any]
    """The same tensors in containers that the kernel is not given."""
    result: Any = None
    snapshot: Any = None
    """The result as it was when the window closed."""
    unready: tuple[str, ...] = ()


class Proof(Witness):
    """The looked-at calls of one timing run.

    Args:
        workload: both sides.
        seed: that all calls are made under, for kernels that draw random numbers.
        enter: told whose code runs next.
    """

    def __init__(self, workload: LoadedWorkload, seed: int, enter: Callable[[Side], None]) -> None:
        self._workload, self._seed, self._enter = workload, seed, enter
        self._draw = random.Random(randbits(64))
        self._buffers = BufferSnapshot(workload.kernel)
        self._todo: list[Values] = []
        self._share = 0.0
        self._kept_bytes = 0
        self._now: _Now | None = None
        self.looked: list[Looked] = []
        self.timed_calls = 0
        self.absent: dict[str, Reason] = {}
        self.maker: ContentMaker | None = None

    def attend(
        self,
        calls: dict[Side, Callable[[], Any]],
        inputs: list[Any],
        arguments: list[Any],
        call_s: dict[Side, float],
    ) -> None:
        self._calls, self._usual_call, self._arguments = calls, calls["kernel"], arguments
        self._call_s = call_s
        with self._guarded(), original_torch():
            self._enter(self._workload.inputs_side)
            self.maker = ContentMaker(self._workload, inputs, self._draw)
            self.absent |= self.maker.absent
            self._plan(inputs)

    def _plan(self, inputs: list[Any]) -> None:
        """How many calls, in which order, and how they are spread."""
        passes_s = 0.0 if self._workload.device.type == "cuda" else _PASSES * sum(sizes_of(inputs)) / _BYTES_PER_S
        once_s = passes_s + 2.5 * self._call_s["kernel"] + self._call_s.get("ref", 0.0) + 2 * _SETTLE_S[0]
        count = min(_MOST_CALLS, max(len(_LEAST), int(_BUDGET_S / once_s)))
        wanted = [*_LEAST, *(_MORE[index % len(_MORE)] for index in range(count - len(_LEAST)))]
        self._todo = [values for values in wanted if values not in self.absent]
        self._draw.shuffle(self._todo)
        turns = max(10.0, min(200.0, _SERIES_S / max(sum(self._call_s.values()), 1e-6)))
        self._share = min(_MOST_SHARE, max(_LEAST_SHARE, len(self._todo) / turns))

    @property
    def owes(self) -> bool:
        return bool(self._todo)

    def prepare(self, side: Side) -> bool:
        if side != "kernel":
            return False
        self.timed_calls += 1
        if not self._todo or self._draw.random() >= self._share:
            return False
        with self._guarded(), original_torch():
            self._write(self._todo.pop())
            self.watching = True
        if self.watching:
            self._seed_quietly()
        else:
            self._back_to_usual()
        return self.watching

    def _seed_quietly(self) -> None:
        """Seed the generators, and have the reference's call take up the caches again: seeding is much work."""
        seed_everything(self._seed)
        state = random_state(self._workload.device)
        self._warm_by("ref")
        if not torch.equal(random_state(self._workload.device), state):
            seed_everything(self._seed)

    def _write(self, values: Values) -> None:
        assert self.maker is not None
        content = self.maker.make(values)
        arguments = content.fresh() if values == "moved" else content.write_to(self._arguments)
        self._now = _Now(content, readable_leaves(arguments), arguments, map_tensors(arguments, lambda leaf: leaf))
        self._buffers.restore()
        self._calls["kernel"] = partial(self._workload.kernel, *arguments)

    def saw(self, result: Any) -> None:
        if not self.watching or self._now is None:
            return
        with self._guarded(), original_torch():
            self._now.result = result
            self._now.snapshot = map_tensors(result, copied_if_plain)
            leaves = tensor_leaves(result, "out")
            self._now.unready = tuple(path for path, leaf in leaves if type(leaf) not in PLAIN_TYPES)

    def conclude(self, timer: Timer, cache: Cache, us: float) -> None:
        with self._guarded(), original_torch():
            if self.watching and self._now is not None:
                self._note(self._now, timer, cache, us)
        self.watching, self._now = False, None
        self._back_to_usual()

    def _note(self, now: _Now, timer: Timer, cache: Cache, us: float) -> None:
        sleep(min(max(3 * us / 1e6, _SETTLE_S[0]), _SETTLE_S[1]))
        synchronise(self._workload.device)
        call = TimedCall(
            values=now.content.values,
            timer=timer,
            cache=cache,
            us=us,
            changed_inputs=(
                *changed_inputs(now.leaves, now.content.expected(), None),
                *changed_containers(now.held, now.arguments),
            ),
            unready=now.unready,
            written_later=_written_later(now.result, now.snapshot),
        )
        size = sum(sizes_of(now.snapshot))
        first = all(one.content.values != now.content.values for one in self.looked)
        kept = first or self._kept_bytes + size <= _MOST_KEPT_BYTES
        self._kept_bytes += size if kept else 0
        self.looked.append(Looked(call, now.content, now.snapshot if kept else None, kept))

    def _back_to_usual(self) -> None:
        """The usual values at the usual addresses, and short calls warm again."""
        self._calls["kernel"] = self._usual_call
        if self.maker is not None:
            with original_torch():
                Content("repeated", self.maker.base).write_to(self._arguments)
        # The usual values are the last that the kernel has seen, after a number of calls that nobody can count on.
        for _ in range(self._draw.choice((1, 2))):
            self._call_outside("kernel")
        self._warm_by("ref")

    def _warm_by(self, side: Side) -> None:
        """A short call feels it where what kprof did meanwhile has taken the caches."""
        if side in self._calls and sum(self._call_s.values()) < _WARM_AGAIN_BELOW_S:
            self._call_outside(side)

    def _call_outside(self, side: Side) -> None:
        self._enter(side)
        self._calls[side]()
        self._enter("kernel")
        synchronise(self._workload.device)

    def _guarded(self) -> _Guarded:
        return _Guarded(self)

    def give_up(self, reason: Reason) -> None:
        """Look at no further call."""
        self.watching = False
        self._todo.clear()
        self.absent["calls"] = reason


class _Guarded:
    """What goes wrong in looking ends the looking, not the timing."""

    def __init__(self, proof: Proof) -> None:
        self._proof = proof

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, Exception):
            return False
        code = "out_of_memory" if is_out_of_memory(error) else "not_looked_at"
        message = f"looking at timed calls ended early: {type(error).__name__}: {first_line(error)}"
        self._proof.give_up(Reason(code=code, message=message))
        return True


def _written_later(result: Any, snapshot: Any) -> tuple[str, ...]:
    now, then = dict(_comparable(result)), dict(_comparable(snapshot))
    return tuple(
        path
        for path, leaf in now.items()
        if path in then and shape_of(leaf) == shape_of(then[path]) and not bits_equal(leaf, then[path])
    )


def _comparable(tree: Any) -> list[tuple[str, Tensor]]:
    return [
        (path, plain(leaf))
        for path, leaf in tensor_leaves(tree, "out")
        if type(leaf) in PLAIN_TYPES and is_ordinary(leaf)
    ]
