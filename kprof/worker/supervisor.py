"""Starts a worker, follows its updates, bounds its time and ends its whole process group.

Everything here is bounded: reading output, waiting for an exit, waiting after a kill. Nothing of the worker's (a crash,
``os._exit``, a flood of output, a grandchild that holds a pipe) can stop the command.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from kprof.evidence import Fault, Side, Stage
from kprof.subprocesses.private import no_temporary_folder, private_folder
from kprof.subprocesses.processes import LAUNCHER, descendants, end_group, worker_pid
from kprof.worker.endings import build_timeout_fault, corruption_fault, exit_fault, forgery_fault, timeout_fault
from kprof.worker.environment import worker_environment
from kprof.worker.outcome import Outcome, UpdateReader
from kprof.worker.protocol import (
    GO_FILE,
    REQUEST_FILE,
    SIDE_FILE,
    STACKS_SIGNAL,
    TURN_FILE,
    UPDATES_FILE,
    AnyRequest,
    Update,
    decode_side,
)
from kprof.worker.tail import Tail

POLL_S: Final = 0.02
SLOWEST_POLL_S: Final = 0.1
STACK_DUMP_S: Final = 0.3
_SCRATCH: Final = "tmp"
_LAST_STEPS: Final = 100
"""Steps in which what a worker left unread is read, once it was ended."""


@dataclass(frozen=True)
class Limits:
    """Bounds on a worker's time, in seconds."""

    stage_s: float = 300.0
    """For each stage, less what compilers take."""
    build_s: float = 600.0
    """For each extension build."""


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
    def doing(self) -> Stage:
        return "build" if self.building else self.stage

    @property
    def limit_s(self) -> float:
        return self.limits.build_s if self.building else self.stage_left_s

    @property
    def expired(self) -> bool:
        return time.monotonic() - self.since > self.limit_s


@dataclass(frozen=True)
class Tool:
    """A program that starts the worker and watches it from outside."""

    command: Callable[[Path], tuple[str, ...]]
    """Its command line up to the worker's, from the private folder, which is gone once the worker is closed."""
    environment: Mapping[str, str]
    """Variables beside the worker's."""


class Worker:
    """One worker process, from its start to its end; use it as a context manager.

    Args:
        request: what it is to do. Where it is ``held`` the worker imports what it needs and waits for `follow`.
        program: what to start. Its last arguments are the read end of a pipe that ends with this process, and the
            private folder.
        tool: starts the program in its turn. The program then gets ``-`` for the pipe, which is watched for both.

    Raises:
        CannotMeasureError: there is no room for its private folder.
    """

    def __init__(
        self,
        request: AnyRequest,
        program: tuple[str, ...] = (sys.executable, "-m", "kprof.worker"),
        tool: Tool | None = None,
    ) -> None:
        self._closed = False
        self._private = private_folder()
        self.folder = Path(self._private.name)
        """The private folder."""
        environment = worker_environment(Path(request.cache_dir), self.folder / _SCRATCH)
        try:
            (self.folder / REQUEST_FILE).write_bytes(msgspec.json.encode(request))
            (self.folder / UPDATES_FILE).touch()
            (self.folder / _SCRATCH).mkdir()
            if tool is not None:
                environment |= tool.environment
        except OSError as error:
            self._private.cleanup()
            raise no_temporary_folder(error) from error
        self.command: tuple[str, ...] = program
        """What is run, the pipe's number left out: the worker, with a tool before it where there is one."""
        if tool is not None:
            self.command = (*tool.command(self.folder), *program, "-", str(self.folder))
        self._process = self._start(tool is not None, environment)
        assert self._process.stdout is not None
        self._tail = Tail(self._process.stdout)

    def _start(self, by_tool: bool, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        # Nobody but this process ever holds the write end (it is not inheritable): its end of file is our end.
        watched, self._life = os.pipe()
        direct = (*self.command, str(watched), str(self.folder))
        try:
            return subprocess.Popen(
                (*LAUNCHER, str(watched), *self.command) if by_tool else direct,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
                pass_fds=(watched,),
            )
        finally:
            os.close(watched)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def follow(self, limits: Limits, on_update: Callable[[Update], None]) -> Outcome:
        """Let it go on and follow it to its end, or end it.

        Args:
            limits: its bounds; its time starts now.
            on_update: called with each update as it arrives, in order. A worker that waits for a device goes on when
            the call that told so returns.

        Returns:
            All that it answered, with the fault that ended the worker where one did.
        """
        (self.folder / GO_FILE).touch()
        return _follow(self._process, self.folder, limits, on_update, self._tail)

    def close(self) -> None:
        """End its whole process group and remove its private folder; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        end_group(self._process)
        os.close(self._life)
        self._tail.close()
        self._private.cleanup()


def _follow(
    process: subprocess.Popen[bytes], folder: Path, limits: Limits, on_update: Callable[[Update], None], tail: Tail
) -> Outcome:
    outcome = Outcome()
    clock = _Clock(limits)
    clock.start("load")
    with UpdateReader(folder / UPDATES_FILE) as reader:
        expired = _watch(process, reader, outcome, clock, _letting_on(folder, clock, on_update))
        if expired:
            _ask_for_stacks(process, folder)
            end_group(process)
            _read_last(reader, outcome)
    tail.close()
    outcome.output_tail = tail.text()
    side = outcome.side = decode_side(folder / SIDE_FILE)
    outcome.status = process.returncode
    if expired:
        outcome.lost = True
        outcome.expired_after_s = limits.build_s if clock.building else limits.stage_s
        outcome.fault = _expiry_fault(clock, side, outcome.output_tail)
    elif process.returncode != 0 or not outcome.finished:
        outcome.lost = True
        if outcome.last.fault is None:
            outcome.fault = exit_fault(process.returncode, clock.doing, side, outcome.output_tail)
    if outcome.lost and reader.unreadable:
        outcome.corruption = corruption_fault(reader.unreadable, clock.doing)
    sent = outcome.last.sent
    if not outcome.lost and (sent != outcome.received or reader.unreadable):
        outcome.forgery = forgery_fault(outcome.received, sent, reader.unreadable)
    return outcome


def _watch(
    process: subprocess.Popen[bytes],
    reader: UpdateReader,
    outcome: Outcome,
    clock: _Clock,
    on_update: Callable[[Update], None],
) -> bool:
    """Read updates until the worker has gone; True where its time is up before that, however much keeps arriving."""
    poll_s = POLL_S
    while True:
        exited = process.poll() is not None
        arrived = False
        for update in reader.step():
            arrived = True
            outcome.add(update)
            _advance(clock, update)
            on_update(update)
        if exited and not reader.more:
            return False
        if clock.expired:
            return True
        if not reader.more:
            # Each look wakes a processor that a sample may be running on: look less often while nothing arrives.
            poll_s = POLL_S if arrived else min(poll_s * 1.5, SLOWEST_POLL_S)
            time.sleep(poll_s)


def _letting_on(folder: Path, clock: _Clock, on_update: Callable[[Update], None]) -> Callable[[Update], None]:
    """``on_update``, and after it a worker that waits for a device may go on: the wait is none of its stage's time."""

    def told(update: Update) -> None:
        on_update(update)
        if update.waits_for is not None:
            (folder / TURN_FILE).touch()
            clock.start(clock.stage)

    return told


def _read_last(reader: UpdateReader, outcome: Outcome) -> None:
    """What was answered before the end and not read yet."""
    for _ in range(_LAST_STEPS):
        for update in reader.step():
            outcome.add(update)
        if not reader.more:
            return


def _advance(clock: _Clock, update: Update) -> None:
    if update.entered is not None:
        clock.start(update.entered)
    if update.building is not None:
        clock.build(update.building)


def _ask_for_stacks(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Let the worker print where each of its threads stands; it can even while compiled code never returns."""
    told = worker_pid(folder)
    with contextlib.suppress(ProcessLookupError):
        if told is not None and told in descendants(process.pid):
            os.kill(told, STACKS_SIGNAL)
        else:
            process.send_signal(STACKS_SIGNAL)
        time.sleep(STACK_DUMP_S)


def _expiry_fault(clock: _Clock, side: Side | None, output: str) -> Fault:
    if clock.building:
        return build_timeout_fault(clock.building, clock.limits.build_s, side, output)
    return timeout_fault(clock.stage, clock.limits.stage_s, side, output)
