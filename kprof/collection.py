"""From two files to a capture: which workers run, in what order, and what happens when one is lost."""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from kprof import __version__
from kprof.cache import cache_dir
from kprof.capture import Capture
from kprof.errors import InputFileError
from kprof.evidence import Environment, Fault, LaunchesEvidence, Repeat, Series, Stage, TimingEvidence, Workload
from kprof.worker.protocol import Request, Update
from kprof.worker.supervisor import Limits, Outcome, run_worker

MAIN_STAGES: Final[tuple[Stage, ...]] = ("precision", "timing", "memory")
_MOST_LOSSES: Final = 2
_EVIDENCE: Final = ("workload", "environment", "build", "precision", "timing", "memory", "launches")


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


def collect(plan: Plan, on_update: Callable[[Update], None]) -> Capture:
    """Run the workers that ``plan`` needs and keep all that they answer.

    Args:
        plan: what to measure.
        on_update: told of each update as it arrives.

    Raises:
        InputFileError: a file cannot be read.
    """
    return _Collection(plan, on_update).run()


class _Collection:
    """The evidence of one run while it grows."""

    def __init__(self, plan: Plan, on_update: Callable[[Update], None]) -> None:
        self.plan, self.on_update = plan, on_update
        self.evidence: dict[str, Any] = {"workload": _workload(plan), "environment": Environment(device=plan.device)}
        self.faults: list[Fault] = []

    def run(self) -> Capture:
        self._run_main()
        # Device spans are the launches process's; timing needs them, except on the CPU, which has none.
        if self._loaded() and ("launches" in self.plan.blocks or ("timing" in self.plan.blocks and self._on_cuda())):
            self._keep(self._worker(("launches",)))
        if self._loaded() and "timing" in self.plan.blocks:
            self._run_repeats()
        return Capture(
            kprof_version=__version__,
            created=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            requested=self.plan.blocks,
            faults=tuple(self.faults),
            **self.evidence,
        )

    def _run_main(self) -> None:
        """Build, precision, timing and memory in one worker; a lost one is replaced for what comes after its fault."""
        stages = tuple(stage for stage in MAIN_STAGES if stage in self.plan.blocks)
        if self.plan.ref_file is None:
            stages = tuple(stage for stage in stages if stage != "precision")
        for losses in range(1, _MOST_LOSSES + 1):
            outcome = self._worker(stages)
            self._keep(outcome)
            if not outcome.lost:
                return
            lost_in = self.faults[-1]
            stages = _after(stages, lost_in.stage)
            if lost_in.stage in ("load", "build") or not stages:
                return
            if losses == _MOST_LOSSES or lost_in.code == "timeout":
                self.faults.extend(_not_attempted(stage, lost_in) for stage in stages)
                return

    def _run_repeats(self) -> None:
        """Time again in fresh processes, for the noise between processes."""
        repeats: list[Repeat] = []
        for _ in range(self.plan.repeats - 1):
            for stage in ("timing", "launches") if self._on_cuda() else ("timing",):
                outcome = self._worker((stage,), headline_only=True)
                for update in reversed(outcome.updates):
                    if isinstance(found := getattr(update, stage), (TimingEvidence, LaunchesEvidence)):
                        repeats.extend(_medians(series) for series in found.series)
                        break
        timing = self.evidence.get("timing")
        if timing is not None:
            self.evidence["timing"] = msgspec.structs.replace(timing, repeats=tuple(repeats))

    def _worker(self, stages: tuple[Stage, ...], headline_only: bool = False) -> Outcome:
        plan = self.plan
        request = Request(
            workload=_workload(plan),
            device=plan.device,
            trials=plan.trials,
            stages=stages,
            # A replacement finds compiled what the first worker compiled: the first one's answer holds.
            describe="build" not in self.evidence,
            allow_nonfinite=plan.allow_nonfinite,
            headline_only=headline_only,
            cache_dir=str(cache_dir()),
            command=plan.command,
        )
        return run_worker(request, plan.limits, self.on_update)

    def _keep(self, outcome: Outcome) -> None:
        for update in outcome.updates:
            for name in _EVIDENCE:
                if (found := getattr(update, name)) is not None:
                    self.evidence[name] = found
            if update.clocks_after is not None:
                environment = self.evidence["environment"]
                self.evidence["environment"] = msgspec.structs.replace(environment, clocks_after=update.clocks_after)
            if update.fault is not None:
                self.faults.append(update.fault)
        if outcome.fault is not None:
            self.faults.append(outcome.fault)

    def _loaded(self) -> bool:
        return not any(fault.stage in ("load", "build") for fault in self.faults)

    def _on_cuda(self) -> bool:
        device: str = self.evidence["environment"].device
        return device.startswith("cuda")


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
