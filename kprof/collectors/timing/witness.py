"""What looks at timed calls: the timers give it each result once the window has closed.

Calls that are looked at go through the very lines that all timed calls go through, between them and in no order that
can be foreseen, so that a kernel cannot behave for them alone. Their times are no samples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kprof.evidence import Cache, Side, Timer


class Witness:
    """This one looks at nothing."""

    watching = False
    """The sample that is being taken is looked at: it is taken once, not again where the device overtook the host."""

    def attend(
        self,
        calls: dict[Side, Callable[[], Any]],
        inputs: list[Any],
        arguments: list[Any],
        call_s: dict[Side, float],
    ) -> None:
        """Sampling begins.

        Args:
            calls: what the timers call, by side; read anew for each sample.
            inputs: what both sides' arguments were cloned from, untouched.
            arguments: the kernel's.
            call_s: how long a call of each side takes, seconds.
        """

    def prepare(self, side: Side) -> bool:
        """A sample of ``side`` is next. True: it is looked at, and another one is to be taken after it."""
        return False

    def saw(self, result: Any) -> None:
        """A call's result, as soon as its window has closed."""

    def conclude(self, timer: Timer, cache: Cache, us: float) -> None:
        """The sample that was looked at is over."""

    @property
    def owes(self) -> bool:
        """Calls that it must look at are still to come: the series may not end."""
        return False
