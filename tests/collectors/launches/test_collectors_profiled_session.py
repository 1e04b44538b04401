"""The profiled session: its order with a stand-in device."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import count

from kprof.collectors.launches.profiled_session import (
    FIRST_SPIN_US,
    HEAD_CALLS,
    PLAIN_CALLS,
    SPIN_TRIES,
    Session,
    Subject,
)
from kprof.evidence import Side


@dataclass
class StandIn:
    """A device that only writes down what is asked of it."""

    log: list[str]
    enough_us: float = 0.0
    """Spins at least this long keep it busy until a call is enqueued."""
    spun_us: float = 0.0

    def spin(self, us: float) -> None:
        self.spun_us = us
        self.log.append("spin")

    def flush(self) -> None:
        self.log.append("flush")

    def mark(self) -> None:
        self.log.append("mark")

    def passed(self) -> bool:
        return self.spun_us < self.enough_us

    def synchronize(self) -> None:
        self.log.append("sync")


def session_log(
    spans: int, enough_us: float = 0.0, call_us: float = 1.0, budget_s: float = 9.0
) -> tuple[list[str], Session]:
    log: list[str] = []
    subjects = [
        Subject("kernel", lambda: log.append("A"), call_us=call_us),
        Subject("ref", lambda: log.append("B"), call_us=call_us),
    ]
    session = Session(subjects, lambda side: log.append(side), StandIn(log, enough_us))
    session.run(spans, budget_s)
    # One more call of each, whose results are compared.
    assert log[-6:] == ["kernel", "A", "sync", "ref", "B", "sync"]
    return log[:-6], session


class TestOrder:
    COLD = ("spin", "flush", "mark", "call", "sync")
    WARM = ("spin", "call", "mark", "call", "sync")

    def sample(self, side: Side, steps: tuple[str, ...]) -> list[str]:
        own = "A" if side == "kernel" else "B"
        return [side, *(own if step == "call" else step for step in steps)]

    def test_kernel_and_reference_take_turns_a_b_b_a_cold_and_warm(self) -> None:
        log, session = session_log(spans=4)
        a_b_b_a: tuple[Side, ...] = ("kernel", "ref", "ref", "kernel")
        turn = [step for steps in (self.COLD, self.WARM) for side in a_b_b_a for step in self.sample(side, steps)]
        assert log[-2 * len(turn) :] == turn * 2
        settling = [
            step for side in ("kernel", "ref") for steps in (self.COLD, self.WARM) for step in self.sample(side, steps)
        ]
        plain = ["kernel", "A", "sync", "ref", "B", "sync"]
        assert log[: -2 * len(turn)] == plain * (HEAD_CALLS + PLAIN_CALLS) + settling
        assert session.recording().late == frozenset()

    def test_a_spin_that_is_too_short_is_doubled_before_samples_count(self) -> None:
        _, session = session_log(spans=2, enough_us=3 * FIRST_SPIN_US)
        # 100 and 200 are too short, 400 is enough and doubled once more to spare.
        assert [subject.spin_us for subject in session._subjects] == [{"cold": 800.0, "warm": 800.0}] * 2
        late = session.recording().late
        assert sorted(name.split(":", 1)[1] for name in late) == [
            "kernel:head:0", "kernel:head:1", "ref:head:0", "ref:head:1",
        ]  # fmt: skip

    def test_a_call_that_no_spin_covers_is_sampled_all_the_same(self) -> None:
        log, session = session_log(spans=2, enough_us=1e9)
        assert session._subjects[0].spin_us == {"cold": FIRST_SPIN_US, "warm": FIRST_SPIN_US}
        # Plain calls, settling (a warm sample makes two calls), one turn.
        assert log.count("A") == HEAD_CALLS + PLAIN_CALLS + 3 * SPIN_TRIES + 6
        assert any(":cold:" in name for name in session.recording().late)

    def test_the_budget_ends_sampling_after_whole_turns(self) -> None:
        log, _ = session_log(spans=1000, budget_s=0.0001, call_us=0.0)
        assert log.count("A") == HEAD_CALLS + PLAIN_CALLS + 3 + 6

    def test_calls_too_long_for_the_budget_are_not_sampled(self) -> None:
        log, session = session_log(spans=10, call_us=1e6, budget_s=1.0)
        assert "spin" not in log
        assert [warning.code for warning in session.warnings] == ["spans_not_sampled"]
        assert "12.0 s" in session.warnings[0].message

    def test_calls_that_launch_much_are_sampled_less(self) -> None:
        subjects = [Subject("kernel", lambda: None, enqueue_us=30_000.0), Subject("ref", lambda: None, enqueue_us=3.0)]
        session = Session(subjects, lambda side: None, None)
        # 10 000 launches a call at most: 3 calls a pair of spans, so 60 000 rows are two spans.
        assert session._affordable(200) == 2
        subjects[0].enqueue_us = 300.0
        assert session._affordable(200) == 60_000 // (3 * 100 + 4 + 3 + 4) // 2 * 2 == 192
        subjects[0].enqueue_us = 30.0
        assert session._affordable(200) == 200

    def test_one_slow_call_does_not_pass_for_many_launches(self) -> None:
        log: list[str] = []
        calls = count()

        def slow_once() -> None:
            if next(calls) == HEAD_CALLS + PLAIN_CALLS:
                time.sleep(0.1)

        subject = Subject("kernel", slow_once)
        session = Session([subject], lambda side: None, StandIn(log))
        session.run(200, 9.0)
        assert log.count("flush") == 201
        assert subject.enqueue_us < 10_000
