"""Untimed calls that ask what timed ones cannot: whose memory is returned, whose functions run, what goes on after."""

from __future__ import annotations

import contextlib
import os
import statistics
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter  # By name: user code may replace the module's functions.
from typing import Any, Final

import torch

from kprof.collectors.integrity.contents import Content
from kprof.collectors.integrity.guard import Guard
from kprof.collectors.precision.bench import SideError
from kprof.collectors.precision.inplace import aliasing_outputs, readable_leaves
from kprof.collectors.precision.originals import original_torch
from kprof.collectors.precision.poison import sizes_of
from kprof.collectors.synchronise import synchronise
from kprof.collectors.timing.device_queue import EventPair
from kprof.evidence import Side
from kprof.integrity_evidence import Tail
from kprof.workload import LoadedWorkload

_OUTPUTS: Final = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
_TAIL_SAMPLES: Final = 15
_TAIL_BUDGET_S: Final = 0.3
_LEAST_TAIL_SAMPLES: Final = 3
_HELD_RESULTS: Final = 8
"""Results held at once to find buffers that are used in turn; fewer where calls are long or results large."""
_HELD_BUDGET_S: Final = 0.5
_HELD_BYTES: Final = 1_000_000_000


@dataclass(frozen=True)
class Aliases:
    """Outputs, by path, that lie in memory that is not theirs."""

    inputs: frozenset[str]
    outputs: frozenset[str]


@dataclass
class Callees:
    """What one call of the kernel called."""

    reference: dict[str, None] = field(default_factory=dict)
    """Functions of the reference's file."""
    extensions: int = 0
    """Calls into extensions."""
    prints: bool = False
    """The kernel's file wrote to the output."""
    replaced: dict[str, None] = field(default_factory=dict)
    """What stood replaced meanwhile."""


@dataclass
class Probes:
    """Calls one side and looks at it.

    Args:
        workload: both sides.
        enter: told whose code runs next.
    """

    workload: LoadedWorkload
    enter: Callable[[Side | None], None]

    def call(self, side: Side, arguments: list[Any]) -> Any:
        """One call to its end.

        Raises:
            SideError: it raised.
        """
        model = self.workload.kernel if side == "kernel" else self.workload.ref
        assert model is not None
        self.enter(side)
        try:
            result = model(*arguments)
            synchronise(self.workload.device)
        except Exception as error:  # User code may raise anything; it is reported as theirs.
            raise SideError(side, error) from error
        self.enter(None)
        return result

    def aliases(self, side: Side, content: Content) -> Aliases:
        """Whose memory the outputs of a call lie in, the results of up to eight calls before it being held still."""
        began = perf_counter()
        earlier = [self.call(side, content.fresh())]
        size = max(1, sum(sizes_of(earlier)))
        while (
            len(earlier) < _HELD_RESULTS
            and perf_counter() - began < _HELD_BUDGET_S
            and size * (len(earlier) + 1) <= _HELD_BYTES
        ):
            earlier.append(self.call(side, content.fresh()))
        arguments = content.fresh()
        later = self.call(side, arguments)
        with original_torch():
            inputs = aliasing_outputs(later, readable_leaves(arguments))
            return Aliases(inputs, aliasing_outputs(later, readable_leaves(earlier, "out")) - inputs)

    def callees(
        self,
        arguments: list[Any],
        kernel_file: Path,
        ref_file: Path | None,
        extensions: frozenset[str],
        guard: Guard,
    ) -> Callees:
        """What a call of the kernel calls, seen by Python's profiling hook, in threads that it starts too."""
        seen = Callees()
        kernel, ref, own = str(kernel_file), str(ref_file), str(Path(__file__).parents[2])

        def note(frame: types.FrameType, event: str, callee: Any) -> None:
            file = frame.f_code.co_filename
            if event == "c_call":
                module = str(getattr(callee, "__module__", None))
                seen.extensions += module in extensions or module.rpartition("_v")[0] in extensions
                owner = getattr(callee, "__self__", None)
                writes = callee is print or any(owner is output for output in _OUTPUTS)
                seen.prints = seen.prints or (writes and file == kernel)
            elif event == "call" and file == ref:
                seen.reference[frame.f_code.co_name] = None
            elif event == "return" and not file.startswith(own):
                seen.replaced.update(dict.fromkeys(guard.replaced_now()))

        threading.setprofile(note)
        sys.setprofile(note)
        try:
            self.call("kernel", arguments)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        return seen

    def tail(self, arguments: dict[Side, list[Any]]) -> Tail | None:
        """How long the device goes on once the event behind a call has come: work on streams nobody waited for."""
        if self.workload.device.type != "cuda":
            return None
        waits = {side: statistics.median(self._tail_us(side, given)) for side, given in arguments.items()}
        return Tail(kernel_us=waits["kernel"], ref_us=waits.get("ref"))

    def _tail_us(self, side: Side, arguments: list[Any]) -> list[float]:
        found: list[float] = []
        model: Any = self.workload.kernel if side == "kernel" else self.workload.ref
        self.enter(side)
        began = perf_counter()
        while len(found) < _LEAST_TAIL_SAMPLES or (
            len(found) < _TAIL_SAMPLES and perf_counter() - began < _TAIL_BUDGET_S
        ):
            pair = EventPair()
            pair.start()
            result = model(*arguments)
            pair.end()
            pair.wait_us()
            event_came = perf_counter()
            torch.cuda.synchronize(self.workload.device)
            found.append((perf_counter() - event_came) * 1e6)
            del result
        self.enter(None)
        return found


def copies_of_this_process() -> frozenset[int]:
    """Children that run this process's own command line: forks of it that started no other program."""
    mine = _command_line(os.getpid())
    children: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # The thread is gone, or the kernel does not list children.
            children.update(map(int, (task / "children").read_text().split()))
    return frozenset(pid for pid in children if _command_line(pid) == mine)


def _command_line(pid: int) -> bytes | None:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() or None
    except OSError:
        return None
