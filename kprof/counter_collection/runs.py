"""Which runs of ncu a collection needs, and what they are together.

The kernel and the reference share a run where that starves neither: starting torch twice costs seconds. What uses
tensor cores is run again for their sums, which cost each launch that is asked for them some passes more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from kprof.collectors.ncu_run.command_line import REPLAY_MODE, RunSettings, kernels_named
from kprof.collectors.ncu_run.joining import first_of_each_side, joined, together, uses_tensor_cores
from kprof.collectors.ncu_run.request import MetricRequest, default_request, full_request, tensor_request
from kprof.counter_collection.expected import Expected
from kprof.counter_collection.one_run import RunPlan, RunResult, Surroundings, run_ncu
from kprof.counter_collection.options import CounterOptions
from kprof.counter_evidence import SAMPLED_CALLS, CountersEvidence, ProfiledLaunch
from kprof.evidence import SIDE_NAMES, Fault, Reason, Side
from kprof.kernelnames import base_name

_NOTHING: Final = frozenset({"ncu_no_kernels", "ncu_empty_report"})
"""Codes of runs that went well and saw no launch: one side's matter, where the other's were seen."""


@dataclass(frozen=True)
class Collected:
    """What a collection brought."""

    evidence: CountersEvidence | None = None
    """None: no launch was profiled; the faults say why."""
    faults: tuple[Fault, ...] = ()
    ncu_version: str | None = None


class Collection:
    """One collection while it grows."""

    def __init__(
        self, around: Surroundings, options: CounterOptions, expected: Expected, known: frozenset[str] | None
    ) -> None:
        self._around, self._options, self._expected, self._known = around, options, expected, known
        self._faults: list[Fault] = []
        self._warnings: list[Reason] = []
        self._absent: dict[Side, Reason] = {}
        self._parts: list[CountersEvidence] = []
        self._shares: list[tuple[Side, ...]] = []
        """Sides that shared a run, for each run that brought launches."""

    def run(self) -> Collected:
        """The first run or runs, then the one for tensor cores where something uses them."""
        full = self._options.counters == "full"
        self._run_all(full_request(self._known) if full else default_request(self._known))
        if not self._parts:
            return Collected(None, tuple(self._faults))
        evidence = together(self._parts)
        evidence = msgspec.structs.replace(
            evidence, launches=first_of_each_side(evidence.launches, self._options.max_launches)
        )
        if not full:
            evidence = self._with_tensor_sums(evidence)
        self._tell_caps(evidence)
        return Collected(self._finished(evidence), tuple(self._faults))

    def _sides(self) -> tuple[Side, ...]:
        return ("kernel", "ref") if self._around.request.workload.ref_file else ("kernel",)

    def _run_all(self, metrics: MetricRequest) -> None:
        """Both sides together where the kernel's launches are known to be few, else one after the other."""
        cap, count = self._options.max_launches, self._expected.count("kernel")
        sides = self._sides()
        shared = len(sides) == 2 and count is not None and count <= cap
        waiting: list[tuple[Side, ...]] = [sides] if shared else [(side,) for side in sides]
        while waiting:
            share = waiting.pop(0)
            limit = cap + (count or 0) if len(share) == 2 else cap
            result = self._run(metrics, share, limit, self._expected.filter)
            if len(share) == 2 and _is_untold(result):
                # ncu did not see the ranges that tell the sides apart.
                waiting = [(side,) for side in sides]
                continue
            self._take(result, share)
            fault = result.fault
            if fault is None or fault.code in _NOTHING:
                continue
            if fault.side is None:
                self._absent.update((side, fault.reason) for later in waiting for side in later)
                return
            if len(share) == 2:
                # What one side ran into says nothing of the other, which gets a run of its own.
                waiting = [(side,) for side in sides if side in self._absent and side != fault.side]

    def _take(self, result: RunResult, share: tuple[Side, ...]) -> None:
        found = {launch.side for launch in result.evidence.launches} if result.evidence is not None else set()
        if result.evidence is not None and found:
            self._parts.append(result.evidence)
            self._shares.append(share)
        fault = result.fault
        if fault is not None:
            self._faults.append(fault)
            if found:
                self._warnings.append(_partial(fault))
        for side in share:
            if side in found:
                self._absent.pop(side, None)
            else:
                self._absent[side] = fault.reason if fault is not None else _no_launches(side, self._options)

    def _run(self, metrics: MetricRequest, sides: tuple[Side, ...], launches: int, kernels: str | None) -> RunResult:
        sampled = tuple(s for s in sides if metrics.purpose != "tensor" and self._expected.needs_more_samples(s))
        launches += SAMPLED_CALLS * sum(self._expected.count(side) or 0 for side in sampled)
        settings = RunSettings(self._options.clock_control, self._options.cache_control, launches, kernels)
        first = metrics.purpose != "tensor" and not self._parts
        name = "" if first else f".{metrics.purpose}" + (f".{sides[0]}" if len(sides) == 1 else "")
        keep = self._options.keep_report
        if keep is not None and name:
            keep = keep.with_name(f"{keep.stem}{name}{keep.suffix}")
        plan = RunPlan(metrics, settings, sides, sampled, self._options.kernel_filter is not None, keep)
        return run_ncu(self._around, plan)

    def _with_tensor_sums(self, evidence: CountersEvidence) -> CountersEvidence:
        """Run again, for the sums of the tensor cores, what kept them busy."""
        metrics = tensor_request(self._known)
        wanted = [launch for launch in evidence.launches if uses_tensor_cores(launch)]
        if not wanted or not metrics.metrics:
            return evidence
        missed = 0
        for share in self._shares:
            of_share = [launch for launch in wanted if launch.side in share]
            if of_share:
                evidence, unjoined = self._join_sums(evidence, metrics, share, of_share)
                missed += unjoined
        if missed:
            self._warnings.append(
                Reason(
                    code="tensor_sums_missing",
                    message=f"{missed} of {len(wanted)} launches that use tensor cores lack their sums: "
                    "the second run did not bring them",
                    hint="Calls that do not launch the same kernels each time cannot be put together.",
                )
            )
        return evidence

    def _join_sums(
        self, evidence: CountersEvidence, metrics: MetricRequest, share: tuple[Side, ...], wanted: list[ProfiledLaunch]
    ) -> tuple[CountersEvidence, int]:
        names = {base_name(launch.name) for launch in wanted}
        sides = tuple(side for side in share if any(launch.side == side for launch in wanted))
        launches = sum(launch.side in sides and base_name(launch.name) in names for launch in evidence.launches)
        result = self._run(metrics, sides, launches, kernels_named(sorted(names)))
        if result.fault is not None:
            self._faults.append(result.fault)
            self._warnings.append(_partial(result.fault))
        if result.evidence is None:
            return evidence, len(wanted)
        evidence, missed = joined(evidence, result.evidence, wanted)
        warnings = tuple(dict.fromkeys(evidence.warnings + result.evidence.warnings))
        runs = evidence.runs + result.evidence.runs
        return msgspec.structs.replace(evidence, runs=runs, warnings=warnings), missed

    def _tell_caps(self, evidence: CountersEvidence) -> None:
        cap = self._options.max_launches
        for side in self._sides():
            profiled = sum(launch.side == side for launch in evidence.launches)
            known = self._expected.count(side)
            if profiled < cap or (known is not None and known <= profiled):
                continue
            of_how_many = f"{profiled} of {known}" if known is not None else f"the first {profiled}"
            self._warnings.append(
                Reason(
                    code="launches_capped",
                    message=f"profiled {of_how_many} launches of the {SIDE_NAMES[side]}",
                    hint="Raise --max-launches, or pick kernels with --kernel.",
                )
            )
        if self._expected.collectives:
            self._warnings.append(
                Reason(
                    code="collectives_skipped",
                    message=f"{self._expected.collectives} launches of collectives (NCCL) were not profiled",
                    hint="They wait for one another and never end under ncu.",
                )
            )

    def _finished(self, evidence: CountersEvidence) -> CountersEvidence:
        # A side that launches nothing is no fault where the other's launches were seen.
        self._faults = [fault for fault in self._faults if fault.code not in _NOTHING]
        return msgspec.structs.replace(
            evidence,
            ncu_version=evidence.ncu_version or self._around.tool.version,
            clock_control=self._options.clock_control,
            cache_control=self._options.cache_control,
            replay_mode=REPLAY_MODE,
            launch_limit=self._options.max_launches,
            side_absent=self._absent,
            warnings=(*evidence.warnings, *self._warnings),
        )


def _is_untold(result: RunResult) -> bool:
    return result.evidence is not None and any(launch.side is None for launch in result.evidence.launches)


def _partial(fault: Fault) -> Reason:
    return Reason(
        code="ncu_partial",
        message=f"ncu failed on the way, and what it had profiled by then is used: {fault.message}",
        hint=fault.hint,
    )


def _no_launches(side: Side, options: CounterOptions) -> Reason:
    return Reason(
        code="ncu_no_kernels",
        message=f"ncu profiled no kernel of the {SIDE_NAMES[side]}",
        hint="No kernel's name matches --kernel." if options.kernel_filter else "Its call launches none on the device.",
    )
