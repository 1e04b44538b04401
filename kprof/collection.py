"""From two files to a capture: which workers run, in what order, and what happens when one is lost."""

from __future__ import annotations

import hashlib
import os
import statistics
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from kprof import __version__
from kprof.cache import cache_dir
from kprof.capture import Capture
from kprof.counter_collection.collect import collect_counters
from kprof.counter_collection.options import CounterOptions
from kprof.counter_evidence import COUNTER_BLOCKS
from kprof.errors import InputFileError
from kprof.evidence import Environment, Fault, Repeat, Series, Stage, TimingEvidence, Workload
from kprof.launches_evidence import LaunchesEvidence
from kprof.sanitizer_collection import collect_sanitizer
from kprof.sanitizer_evidence import SanitizerTool
from kprof.turns import DEFAULT_TIMEOUT_S, turn_on
from kprof.worker.outcome import Outcome
from kprof.worker.protocol import Request, Update
from kprof.worker.supervisor import Limits, Worker

MAIN_STAGES: Final[tuple[Stage, ...]] = ("precision", "timing", "integrity", "memory", "floor")
FLOOR_BLOCKS: Final = frozenset({"sol", "waterfall", "bottleneck"})
"""Blocks that need the task's floor."""
CEILING_BLOCKS: Final = frozenset({"sol", "waterfall", "roofline", "bottleneck"})
"""Blocks that measured roofs may serve."""
_MOST_LOSSES: Final = 2
_SPARE_PROCESSORS: Final = 4


@dataclass(frozen=True)
class Plan:
    """What to measure and within which bounds."""

    kernel_file: Path
    ref_file: Path | None
    blocks: tuple[str, ...]
    entry: str = "ModelNew"
    overrides: dict[str, int | float | bool | str] = field(default_factory=dict)
    device: str = "auto"
    seed: int = 0
    trials: int = 5
    repeats: int = 1
    """Timing processes in all; those beyond the first only time."""
    ref_mode: Literal["eager", "compile"] = "eager"
    allow_nonfinite: bool = False
    limits: Limits = field(default_factory=Limits)
    command: tuple[str, ...] = ()
    counter_options: CounterOptions = field(default_factory=CounterOptions)
    """How ncu is run."""
    sanitize: tuple[SanitizerTool, ...] = ()
    """Tools of compute-sanitizer to run over one call of the kernel."""
    lock_timeout_s: float = DEFAULT_TIMEOUT_S
    """How long to wait for other runs on the same GPU."""


def collect(
    plan: Plan, on_update: Callable[[Update], None], on_wait: Callable[[str], None] = lambda board: None
) -> Capture:
    """Run the workers that ``plan`` needs and keep all that they answer. A GPU is held against other runs meanwhile.

    Args:
        plan: what to measure.
        on_update: told of each update as it arrives.
        on_wait: told where another run holds the device, which is waited for.

    Raises:
        InputFileError: a file cannot be read.
        CannotMeasureError: other runs held the device for too long.
    """
    with ExitStack() as turn:
        return _Collection(plan, on_update, on_wait, turn).run()


class _Collection:
    """The evidence of one run while it grows."""

    def __init__(
        self, plan: Plan, on_update: Callable[[Update], None], on_wait: Callable[[str], None], turn: ExitStack
    ) -> None:
        self.plan, self.on_update, self.on_wait = plan, on_update, on_wait
        self.turn = turn
        """Closed in the end: it holds the device against other runs."""
        self.has_turn = False
        self.asked = _workload(plan)
        environment = Environment(device=plan.device, command=plan.command)
        self.evidence: dict[str, Any] = {"workload": self.asked, "environment": environment}
        self.faults: list[Fault] = []
        self.held: Worker | None = None
        self.gave_up: Fault | None = None
        """Why no further worker is tried: what hung once, or was lost twice, would only cost its time again."""

    def run(self) -> Capture:
        try:
            self._run_main()
            device = self.evidence["environment"].device
            if self.gave_up is not None and "launches" in self.plan.blocks:
                self.faults.append(_not_attempted("launches", self.gave_up))
            elif self._goes_on() and self._needs_launches(device):
                self._run_launches()
        finally:
            if self.held is not None:
                self.held.close()
        if self._loaded() and device.startswith("cuda") and not set(COUNTER_BLOCKS).isdisjoint(self.plan.blocks):
            self._run_counters()
        if self._loaded() and self.plan.sanitize:
            self._run_sanitizer()
        if self._goes_on() and "timing" in self.plan.blocks:
            self._run_repeats()
        return Capture(
            kprof_version=__version__,
            created=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            requested=self.plan.blocks,
            faults=tuple(self.faults),
            **self.evidence,
        )

    def _needs_launches(self, device: str) -> bool:
        """The launches process is wanted: for its own block, or for the device spans that timing needs on CUDA."""
        return "launches" in self.plan.blocks or ("timing" in self.plan.blocks and device.startswith("cuda"))

    def _run_launches(self) -> None:
        self.held = self.held or Worker(self._request(("launches",)))
        self._keep(self.held.follow(self.plan.limits, self.on_update))

    def _run_counters(self) -> None:
        """Hardware counters. What goes wrong there is told and costs their blocks alone."""
        if self.gave_up is not None:
            self.faults.append(_not_attempted("counters", self.gave_up))
            return
        collected = collect_counters(
            self._request(("counters",), describe=False),
            self.plan.counter_options,
            self.plan.limits,
            self.on_update,
            environment=self.evidence["environment"],
            launches=self.evidence.get("launches"),
        )
        self.evidence["counters"] = collected.evidence
        self.faults.extend(collected.faults)
        environment = msgspec.structs.replace(self.evidence["environment"], ncu=collected.ncu_version)
        self.evidence["environment"] = environment

    def _run_sanitizer(self) -> None:
        """Asked for by name, so tried also after a hang. It costs no other block."""
        build = self.evidence.get("build")
        self.evidence["sanitizer"] = collect_sanitizer(
            self._request(("sanitizer",), describe=False),
            self.plan.sanitize,
            self.plan.limits,
            self.on_update,
            environment=self.evidence["environment"],
            builds=any(side is not None and side.extensions for side in (build.kernel, build.ref)) if build else False,
        )

    def _on_main_update(self, update: Update) -> None:
        """Wait for the device's turn, and start the launches process while the main one checks precision, and hold it.

        Its imports take seconds. On CUDA only, where what is timed runs on the device, and where there are processors
        to spare for it.
        """
        self.on_update(update)
        if update.waits_for is not None and not self.has_turn:
            self.turn.enter_context(turn_on(update.waits_for, self.plan.lock_timeout_s, self.on_wait))
            self.has_turn = True
        device = update.environment.device if update.environment is not None else ""
        if device.startswith("cuda") and self._needs_launches(device) and (os.cpu_count() or 1) >= _SPARE_PROCESSORS:
            self.held = self.held or Worker(self._request(("launches",), held=True, describe=False))

    def _run_main(self) -> None:
        """The main stages in one worker; a lost one is replaced for what comes after its fault."""
        asked = {*self.plan.blocks, *(("floor",) if FLOOR_BLOCKS.intersection(self.plan.blocks) else ())}
        if self.plan.ref_file is None:
            asked -= {"precision"}
        stages = tuple(stage for stage in MAIN_STAGES if stage in asked)
        for losses in range(1, _MOST_LOSSES + 1):
            with Worker(self._request(stages, takes_turn=not self.has_turn)) as worker:
                outcome = worker.follow(self.plan.limits, self._on_main_update)
            self._keep(outcome)
            lost_by = outcome.lost_by
            if lost_by is None or lost_by.stage in ("load", "build"):
                return
            stages = _after(stages, lost_by.stage)
            if losses == _MOST_LOSSES or lost_by.code == "timeout":
                self.gave_up = lost_by
                self.faults.extend(_not_attempted(stage, lost_by) for stage in stages)
                return
            if not stages:
                return

    def _run_repeats(self) -> None:
        """Time again in fresh processes, for the noise between processes."""
        repeats: list[Repeat] = []
        on_cuda = self.evidence["environment"].device.startswith("cuda")
        repeated: tuple[Stage, ...] = ("timing", "launches") if on_cuda else ("timing",)
        for _ in range(self.plan.repeats - 1):
            for stage in repeated:
                with Worker(self._request((stage,), headline_only=True)) as worker:
                    outcome = worker.follow(self.plan.limits, self.on_update)
                found = outcome.evidence.get(stage)
                if isinstance(found, (TimingEvidence, LaunchesEvidence)):
                    repeats.extend(_medians(series) for series in found.series)
                if outcome.lost_by is not None and outcome.lost_by.code == "timeout":
                    repeated = tuple(other for other in repeated if other != stage)
        timing = self.evidence.get("timing")
        if timing is not None:
            self.evidence["timing"] = msgspec.structs.replace(timing, repeats=tuple(repeats))

    def _request(self, stages: tuple[Stage, ...], **more: Any) -> Request:
        # A replacement finds compiled what the first worker compiled: the first one's answer holds.
        more.setdefault("describe", "build" not in self.evidence)
        more.setdefault("ceilings", more["describe"] and not CEILING_BLOCKS.isdisjoint(self.plan.blocks))
        return Request(
            workload=self.asked,
            device=self.plan.device,
            trials=self.plan.trials,
            stages=stages,
            allow_nonfinite=self.plan.allow_nonfinite,
            cache_dir=str(cache_dir()),
            **more,
        )

    def _keep(self, outcome: Outcome) -> None:
        self.evidence.update(outcome.evidence)
        # A worker is not told the command line: where the report goes is nothing that user code needs.
        environment = msgspec.structs.replace(self.evidence["environment"], command=self.plan.command)
        if outcome.clocks_after is not None:
            environment = msgspec.structs.replace(environment, clocks_after=outcome.clocks_after)
        self.evidence["environment"] = environment
        self.faults.extend(outcome.all_faults)

    def _goes_on(self) -> bool:
        """Further workers have something to measure, and are likely to come to an end."""
        return self._loaded() and self.gave_up is None

    def _loaded(self) -> bool:
        return not any(fault.stage in ("load", "build") for fault in self.faults)


def _workload(plan: Plan) -> Workload:
    return Workload(
        kernel_file=str(plan.kernel_file),
        kernel_sha256=_sha256(plan.kernel_file),
        ref_file=str(plan.ref_file) if plan.ref_file else None,
        ref_sha256=_sha256(plan.ref_file) if plan.ref_file else None,
        entry=plan.entry,
        seed=plan.seed,
        overrides=plan.overrides,
        ref_mode=plan.ref_mode,
    )


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputFileError(f"cannot read {path}: {error.strerror}", "Check the path.") from error


def _after(stages: tuple[Stage, ...], lost_in: Stage) -> tuple[Stage, ...]:
    return stages[stages.index(lost_in) + 1 :] if lost_in in stages else ()


def _not_attempted(stage: Stage, lost_in: Fault) -> Fault:
    return Fault(
        stage=stage,
        side=lost_in.side,
        code="not_attempted",
        message=f"not attempted after the {lost_in.stage} stage: {lost_in.message}",
        hint=lost_in.hint,
    )


def _medians(series: Series) -> Repeat:
    return Repeat(
        timer=series.timer,
        cache=series.cache,
        kernel_us=statistics.median(series.kernel_us) if series.kernel_us else None,
        ref_us=statistics.median(series.ref_us) if series.ref_us else None,
    )
