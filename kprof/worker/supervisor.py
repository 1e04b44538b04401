"""Starts a worker, follows its updates, bounds its time and ends its whole process group.

Everything here is bounded: reading output, waiting for an exit, waiting after a kill. Nothing of the worker's (a crash,
``os._exit``, a flood of output, a grandchild that holds a pipe) can stop the command.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

import msgspec

from kprof.evidence import Fault, Side, Stage
from kprof.worker.protocol import (
    GO_FILE,
    REQUEST_FILE,
    SIDE_FILE,
    STACKS_SIGNAL,
    UPDATES_FILE,
    Request,
    Update,
    decode_side,
    decode_updates,
)
from kprof.worker.tail import Tail

POLL_S: Final = 0.02
SLOWEST_POLL_S: Final = 0.1
STACK_DUMP_S: Final = 0.3
TERM_GRACE_S: Final = 2.0
REAP_S: Final = 5.0

_SIGNAL_HINTS: Final = {
    signal.SIGSEGV: "Run the kernel under compute-sanitizer (CUDA) or a debugger; check its index arithmetic.",
    signal.SIGKILL: "If nobody killed it, the machine ran out of memory: use smaller shapes (--set) or check dmesg.",
    signal.SIGABRT: "An assertion or an uncaught C++ exception: the tail of its output says which.",
}


@dataclass(frozen=True)
class Limits:
    """Bounds on a worker's time, in seconds."""

    stage_s: float = 300.0
    """For each stage, less what compilers take."""
    build_s: float = 600.0
    """For each extension build."""


@dataclass
class Outcome:
    """What came of one worker."""

    updates: list[Update] = field(default_factory=list)
    lost: bool = False
    """The worker did not come to its end."""
    fault: Fault | None = None
    """Why the worker was lost; None where it was not, or where its last update is the fault already."""
    output_tail: str = ""


@dataclass
class _Clock:
    """The deadline of what the worker is doing. A build stops the stage's clock and starts its own."""

    limits: Limits
    stage: Stage = "load"
    building: str | None = None
    stage_left_s: float = 0.0
    since: float = 0.0

    def start(self, stage: Stage) -> None:
        self.stage, self.building = stage, None
        self.stage_left_s, self.since = self.limits.stage_s, time.monotonic()

    def build(self, name: str) -> None:
        now = time.monotonic()
        if name and self.building is None:
            self.stage_left_s -= now - self.since
        self.building, self.since = name or None, now

    @property
    def limit_s(self) -> float:
        return self.limits.build_s if self.building else self.stage_left_s

    @property
    def expired(self) -> bool:
        return time.monotonic() - self.since > self.limit_s


class Worker:
    """One worker process, from its start to its end; use it as a context manager.

    Args:
        request: what it is to do. Where it is ``held`` the worker imports what it needs and waits for `follow`.
        program: what to start; the private folder is its last argument.
    """

    def __init__(self, request: Request, program: tuple[str, ...] = (sys.executable, "-m", "kprof.worker")) -> None:
        self._private = tempfile.TemporaryDirectory(prefix="kprof-", ignore_cleanup_errors=True)
        self._folder = Path(self._private.name)
        (self._folder / REQUEST_FILE).write_bytes(msgspec.json.encode(request))
        (self._folder / UPDATES_FILE).touch()
        self._process = subprocess.Popen(
            [*program, str(self._folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_worker_environment(Path(request.cache_dir)),
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._tail = Tail(self._process.stdout)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def follow(self, limits: Limits, on_update: Callable[[Update], None]) -> Outcome:
        """Let it go on and follow it to its end, or end it.

        Args:
            limits: its bounds; its time starts now.
            on_update: called with each update as it arrives, in order.

        Returns:
            All updates, with the fault that ended the worker where one did.
        """
        (self._folder / GO_FILE).touch()
        return _follow(self._process, self._folder, limits, on_update, self._tail)

    def close(self) -> None:
        """End its whole process group and remove its private folder."""
        end_group(self._process)
        self._tail.close()
        self._private.cleanup()


def _worker_environment(cache_root: Path) -> dict[str, str]:
    """The caller's environment, with kprof importable from wherever this kprof is, and the current folder not first.

    Where torch's bytecode is nowhere kept (an image that forbids it), each worker would compile some thousand modules
    again, 3 to 4 s of its start: then it is kept in kprof's cache.
    """
    environment = dict(os.environ, PYTHONSAFEPATH="1", PYTHONUNBUFFERED="1")
    package_root = str(Path(__file__).resolve().parents[2])
    if package_root not in (str(Path(p).resolve()) for p in sys.path if p and Path(p).name == "site-packages"):
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (package_root, os.environ.get("PYTHONPATH"))))
    if not _torch_is_compiled():
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment["PYTHONPYCACHEPREFIX"] = str(cache_root / "bytecode")
    return environment


def _torch_is_compiled() -> bool:
    """Torch's bytecode lies beside it, as after any usual installation (true too where torch is not found)."""
    spec = importlib.util.find_spec("torch")
    return spec is None or spec.cached is None or Path(spec.cached).exists()


def _follow(
    process: subprocess.Popen[bytes], folder: Path, limits: Limits, on_update: Callable[[Update], None], tail: Tail
) -> Outcome:
    outcome = Outcome()
    clock = _Clock(limits)
    clock.start("load")
    with (folder / UPDATES_FILE).open("rb") as stream:
        updates = _read_updates(stream)
        poll_s = POLL_S
        while True:
            exited = process.poll() is not None
            arrived = next(updates)
            for update in arrived:
                outcome.updates.append(update)
                _advance(clock, update)
                on_update(update)
            if exited:
                break
            if clock.expired:
                _ask_for_stacks(process)
                end_group(process)
                outcome.updates.extend(next(updates))
                tail.close()
                outcome.lost = True
                outcome.fault = _timeout_fault(clock, decode_side(folder / SIDE_FILE), tail.text())
                break
            # Each look wakes a processor that a sample may be running on: look less often while nothing arrives.
            poll_s = POLL_S if arrived else min(poll_s * 1.5, SLOWEST_POLL_S)
            time.sleep(poll_s)
    tail.close()
    outcome.output_tail = tail.text()
    last = outcome.updates[-1] if outcome.updates else Update()
    if not outcome.lost and (process.returncode != 0 or last.finished != "worker"):
        outcome.lost = True
        if last.fault is None:
            outcome.fault = _exit_fault(process.returncode, clock, decode_side(folder / SIDE_FILE), outcome.output_tail)
    return outcome


def _read_updates(stream: IO[bytes]) -> Iterator[list[Update]]:
    """Each step: the updates that have arrived since the last one."""
    rest = b""
    while True:
        arrived, rest = decode_updates(rest + stream.read())
        yield arrived


def _advance(clock: _Clock, update: Update) -> None:
    if update.entered is not None:
        clock.start(update.entered)
    if update.building is not None:
        clock.build(update.building)


def _ask_for_stacks(process: subprocess.Popen[bytes]) -> None:
    """Let the worker print where each of its threads stands; it can even while compiled code never returns."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(STACKS_SIGNAL)
        time.sleep(STACK_DUMP_S)


def _timeout_fault(clock: _Clock, side: Side | None, output: str) -> Fault:
    if clock.building:
        return Fault(
            stage="build",
            side=side,
            code="build_timeout",
            message=f"building {clock.building!r} took more than {clock.limits.build_s:g} s",
            hint="Raise --build-timeout, or include lighter headers.",
            detail=output[-4000:],
        )
    return Fault(
        stage=clock.stage,
        side=side,
        code="timeout",
        message=f"the {clock.stage} stage took more than {clock.limits.stage_s:g} s and was ended",
        hint="Its stack, in faults[].detail of the report, shows where it stood; raise --timeout if it is only slow.",
        detail=output[-4000:],
    )


def _exit_fault(status: int, clock: _Clock, side: Side | None, output: str) -> Fault:
    """The fault in how the worker ended before it said that it was done."""
    stage: Stage = "build" if clock.building else clock.stage
    detail = output[-4000:]
    if status < 0:
        name = signal.Signals(-status).name
        return Fault(
            stage=stage,
            side=side,
            code="crashed",
            message=f"the worker died of {name} in the {stage} stage",
            hint=_SIGNAL_HINTS.get(signal.Signals(-status), "The tail of its output may say why."),
            detail=detail,
        )
    return Fault(
        stage=stage,
        side=side,
        code="exited",
        message=f"the worker ended by itself with status {status} in the {stage} stage",
        hint="Something called os._exit or sys.exit: the code named must return instead.",
        detail=detail,
    )


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End the worker's process group: TERM, a grace, KILL; every wait is bounded.

    Grandchildren are ended too, also when the worker itself has gone. A process stuck in the driver may survive KILL;
    the command goes on without it.
    """
    if process.poll() is None:
        _signal_group(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(TERM_GRACE_S)
    _signal_group(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(REAP_S)


def _signal_group(group: int, number: signal.Signals) -> None:
    # The group is the worker's own (start_new_session), never ours.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
