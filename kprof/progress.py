"""Progress on stderr: which stage, how long. A live line on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from kprof.worker.protocol import Update

if TYPE_CHECKING:
    from rich.status import Status


class Progress:
    """Follows a worker's updates."""

    def __init__(self, status: Status | None, quiet: bool) -> None:
        self._status, self._quiet = status, quiet
        self._stage = "starting"
        self._since = time.monotonic()

    def on_update(self, update: Update) -> None:
        """Show what begins; say what is over and how long it took."""
        if update.building is not None:
            self._show(f"compiling {update.building}" if update.building else self._stage)
        if update.entered is not None:
            self._finish()
            self._stage = str(update.entered)
            self._show(self._stage)
        if update.finished == "worker":
            self._finish()

    def on_wait(self, board: str) -> None:
        """Another run holds the device."""
        self._show("waiting for another kprof")
        if not self._quiet:
            self._say(_waiting(board))

    def _show(self, doing: str) -> None:
        if self._status is not None:
            self._status.update(f"kprof: {doing}")

    def _finish(self) -> None:
        now = time.monotonic()
        if self._stage and not self._quiet:
            self._say(f"kprof: {self._stage} {now - self._since:.1f} s")
        self._stage, self._since = "", now

    def _say(self, line: str) -> None:
        if self._status is not None:
            self._status.console.print(line, highlight=False, markup=False, style="dim")
        else:
            click.echo(line, err=True)


@contextmanager
def following(quiet: bool) -> Iterator[Progress]:
    """Progress for one run."""
    if quiet or not sys.stderr.isatty():
        yield Progress(None, quiet)
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("kprof: starting") as status:
        yield Progress(status, quiet)


def say_waiting(board: str) -> None:
    """A plain line: another run holds the device."""
    click.echo(_waiting(board), err=True)


def _waiting(board: str) -> str:
    return f"kprof: waiting for another kprof on {board}"


@contextmanager
def following_ceilings() -> Iterator[Callable[[Update], None]]:
    """Progress while roofs are measured: a live line on a terminal that names the last one, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("kprof: starting") as status:

        def show(update: Update) -> None:
            if update.ceilings is not None and update.ceilings.measured:
                status.update(f"kprof: measured {update.ceilings.measured[-1].name.replace('_', ' ')}")

        yield show
