"""From the counters of a capture to one analysis a launch and one a side: which board, which numbers, which verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from kprof.audit import audit, inherited
from kprof.blocks.base import fault_reason, on_cuda
from kprof.board import GpuSpec
from kprof.bottleneck.classify import classify
from kprof.bottleneck.verdict import Verdict
from kprof.capture import Capture
from kprof.counter_evidence import ProfiledLaunch
from kprof.counter_profile import CounterProfile
from kprof.counters.combine import combine
from kprof.counters.devices import busiest_device
from kprof.counters.quantities import Quantities, whole
from kprof.counters.resolve import resolve
from kprof.evidence import Environment, Reason, Side
from kprof.gpuspec import load_all_specs, match_spec

NO_GPU: Final = Reason(
    code="no_cuda_device",
    message="the run was on a CPU; hardware counters are those of an NVIDIA GPU",
    hint="Run the same command on a machine with an NVIDIA GPU.",
)
NO_DEVICE_YET: Final = Reason(
    code="device_unknown", message="the run ended before it chose a device", hint="Mend what ended it first."
)
NOT_COLLECTED: Final = Reason(
    code="counters_not_collected",
    message="the run holds no hardware counters",
    hint="Measure again with the counter blocks among --blocks.",
)
BOARD_UNKNOWN: Final = Reason(
    code="board_unknown",
    message="the report does not say which board it was recorded on",
    hint="Say it: --gpu NAME (kprof specs lists the boards).",
)
_Board = tuple[GpuSpec | None, Reason | None]


@dataclass(frozen=True)
class LaunchAnalysis:
    """One profiled launch."""

    launch: ProfiledLaunch
    profile: CounterProfile
    verdict: Verdict

    @property
    def duration_us(self) -> float | None:
        duration = self.profile.quantities.duration_ns
        return None if duration is None else duration / 1000


@dataclass(frozen=True)
class SideAnalysis:
    """All profiled launches of one call; of several devices those on the one with most time."""

    launches: tuple[LaunchAnalysis, ...]
    other_devices: int = 0
    """Devices whose launches are left out."""

    @cached_property
    def profile(self) -> CounterProfile:
        """The launches together: sums of numerators and denominators."""
        first = self.launches[0].profile
        if len(self.launches) == 1:
            return first
        quantities = combine([one.profile.quantities for one in self.launches])
        handed_on = inherited([(one.profile.quantities, one.profile.findings) for one in self.launches])
        own = audit(quantities, first.spec)
        findings = (*own, *(one for one in handed_on if one.code not in {finding.code for finding in own}))
        return CounterProfile(quantities, first.spec, first.spec_reason, findings, first.ceilings)


class CounterAnalysis:
    """Everything that analysis says of a capture's counters.

    Args:
        capture: the evidence.
        gpu: the board that the user named; None: matched by what the report and the driver say.
    """

    def __init__(self, capture: Capture, gpu: GpuSpec | None = None) -> None:
        self._capture, self._gpu = capture, gpu
        self._boards: dict[tuple[str | None, float | None, float | None], _Board] = {}
        evidence = capture.counters
        self.launches = tuple(self._analyse(launch) for launch in evidence.launches) if evidence is not None else ()

    def of_side(self, side: Side | None) -> tuple[LaunchAnalysis, ...]:
        """The launches of one side, in launch order."""
        return tuple(one for one in self.launches if one.launch.side == side)

    @cached_property
    def main(self) -> SideAnalysis | None:
        """What the counter blocks are about: the kernel's side; every launch, where the report tells none apart."""
        chosen = self.of_side("kernel") or self.of_side(None)
        return _one_device(chosen) if chosen else None

    @property
    def combined_launches(self) -> int:
        """How many launches the counter blocks are about."""
        return len(self.main.launches) if self.main is not None else 0

    @cached_property
    def ref(self) -> SideAnalysis | None:
        """The reference's side."""
        chosen = self.of_side("ref")
        return _one_device(chosen) if chosen else None

    @property
    def absence(self) -> Reason:
        """Why there are no counters of the kernel, where there are none."""
        fault = self._capture.fault("counters")
        if fault is not None:
            return fault_reason(fault)
        evidence = self._capture.counters
        if evidence is not None and "kernel" in evidence.side_absent:
            return evidence.side_absent["kernel"]
        if on_cuda(self._capture):
            return NOT_COLLECTED
        return NO_GPU if self._capture.environment.device == "cpu" else NO_DEVICE_YET

    @property
    def warnings(self) -> tuple[Reason, ...]:
        """What to know before using any of these numbers."""
        evidence = self._capture.counters
        told = list(evidence.warnings) if evidence is not None else []
        if self.main is not None and self.main.other_devices:
            told.append(_several_devices(self.main))
        told += _without_time(self.launches)
        if self._gpu is not None and self.launches:
            told += _overridden(self._gpu, self.launches[0].profile.quantities, self._capture.environment)
        return tuple(dict.fromkeys(told))

    def _analyse(self, launch: ProfiledLaunch) -> LaunchAnalysis:
        quantities = resolve(launch)
        spec, reason = self._board(quantities)
        profile = CounterProfile(quantities, spec, reason, audit(quantities, spec), self._capture.ceilings)
        return LaunchAnalysis(launch, profile, classify(profile))

    def _board(self, quantities: Quantities) -> _Board:
        if self._gpu is not None:
            return self._gpu, None
        key = (quantities.device_name, quantities.memory_bytes, quantities.sm_count)
        if key not in self._boards:
            self._boards[key] = _match(quantities, self._capture.environment)
        return self._boards[key]


def _without_time(launches: Sequence[LaunchAnalysis]) -> list[Reason]:
    """Some launches have no time that could be true."""
    timeless = [one for one in launches if one.duration_us is None]
    if not timeless:
        return []
    codes = ", ".join(sorted({one.profile.quantities.missing["duration_ns"] for one in timeless}))
    message = (
        f"{len(timeless)} of {len(launches)} launches have no time above 0 (gpu__time_duration.sum: {codes}): no rate "
        "of theirs is known, nor their share of the whole"
    )
    return [Reason(code="launches_without_time", message=message, hint="Profile with gpu__time_duration.sum.")]


def _match(quantities: Quantities, environment: Environment) -> _Board:
    """By what the report says of its device; where it says nothing, by what the driver said of the run's."""
    name = quantities.device_name or environment.device_name
    if not name:
        return None, BOARD_UNKNOWN
    memory = whole(quantities.memory_bytes) or environment.memory_bytes
    sms = whole(quantities.sm_count) or environment.sm_count
    found = match_spec(name, memory, sms, load_all_specs())
    return (found, None) if isinstance(found, GpuSpec) else (None, found.reason)


def _overridden(gpu: GpuSpec, quantities: Quantities, environment: Environment) -> list[Reason]:
    """The user named another board than the report does."""
    own, _ = _match(quantities, environment)
    if own is None or own.name == gpu.name:
        return []
    message = f"the report is of {own.title} ({own.name}); peaks and limits are those of {gpu.name}, as --gpu asks"
    return [Reason(code="gpu_overridden", message=message, hint="Leave --gpu out for the board itself.")]


def _one_device(launches: Sequence[LaunchAnalysis]) -> SideAnalysis:
    """Times of different devices are not added up: the device with most time is the one."""
    chosen = busiest_device((one.launch.device, one.duration_us) for one in launches)
    devices = {one.launch.device for one in launches}
    return SideAnalysis(tuple(one for one in launches if one.launch.device == chosen), len(devices) - 1)


def _several_devices(side: SideAnalysis) -> Reason:
    device = side.launches[0].launch.device
    which = "those that name no device" if device is None else f"device {device}"
    return Reason(
        code="several_devices",
        message=f"launches on {side.other_devices + 1} devices; these numbers are of {which}, with most time",
        hint="kernels[] has the launches of all of them.",
    )
