"""The report: what analysis says of a capture. Renderers and gates read it, and nothing flows back."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from kprof import __version__
from kprof.blocks.base import make_finite, null_paths, on_cuda
from kprof.blocks.build import BuildBlock, build_block
from kprof.blocks.counters import (
    BottleneckBlock,
    CachesBlock,
    IntegrityBlock,
    OccupancyBlock,
    RooflineBlock,
    SolBlock,
    StallsBlock,
    WaterfallBlock,
)
from kprof.blocks.launches import LaunchesBlock, launches_block
from kprof.blocks.memory import MemoryBlock, memory_block
from kprof.blocks.precision import PrecisionBlock, precision_block
from kprof.blocks.timing.block import TimingBlock, timing_block
from kprof.blocks.unmeasured import counters_reason, unmeasured_block
from kprof.capture import Capture
from kprof.context import EnvironmentInfo, WorkloadInfo, environment_info, workload_info
from kprof.evidence import Fault, Record, Side
from kprof.kernelnames import base_name
from kprof.metrics import metric

SCHEMA_VERSION: Final = 1
SCHEMA_ID: Final = f"urn:kprof:report:{SCHEMA_VERSION}"
Source = Literal["measured", "replayed", "imported"]

_SELF: Final = "kprof"
_PROFILER: Final = "torch.profiler, device events of one call"
_SIDES: Final[tuple[Side, ...]] = ("kernel", "ref")
_OPTIONAL_STAGES: Final = ("memory", "launches")
_USAGE_CODES: Final = ("unknown_override", "override_type")


class Blocks(Record, frozen=True, kw_only=True):
    """Every block there is; one that was not measured is here with its reason."""

    build: Annotated[BuildBlock, metric("record", "What was compiled", source=_SELF)]
    precision: Annotated[PrecisionBlock, metric("record", "Is the result right", source=_SELF)]
    timing: Annotated[TimingBlock, metric("record", "How long one call takes", source=_SELF)]
    memory: Annotated[MemoryBlock, metric("record", "What one call allocates", source=_SELF)]
    launches: Annotated[LaunchesBlock, metric("record", "What one call launches", source=_SELF)]
    waterfall: Annotated[WaterfallBlock, metric("record", "Where the time goes", source=_SELF)]
    sol: Annotated[SolBlock, metric("record", "How far from the speed of light", source=_SELF)]
    roofline: Annotated[RooflineBlock, metric("record", "Rates and their roofs", source=_SELF)]
    occupancy: Annotated[OccupancyBlock, metric("record", "How full the multiprocessors are", source=_SELF)]
    caches: Annotated[CachesBlock, metric("record", "How memory is accessed", source=_SELF)]
    stalls: Annotated[StallsBlock, metric("record", "Why warps wait", source=_SELF)]
    bottleneck: Annotated[BottleneckBlock, metric("record", "What holds it back", source=_SELF)]
    integrity: Annotated[IntegrityBlock, metric("record", "Did it do the work", source=_SELF)]


BLOCK_NAMES: Final[tuple[str, ...]] = Blocks.__struct_fields__


class KernelLaunch(Record, frozen=True, kw_only=True):
    """One launch of a kernel. The sub-objects are the blocks of the same name, for this launch alone."""

    id: Annotated[int, metric("index", "Position in launch order, the kernel's side first", source=_PROFILER)]
    name: Annotated[
        str, metric("text", "No return type, namespace, template arguments or parameters", source=_PROFILER)
    ]
    full_name: Annotated[str, metric("text", "As the profiler gave it", source=_PROFILER)]
    side: Annotated[Side | None, metric("text", "Whose call launched it", source=_PROFILER)]
    grid: Annotated[tuple[int, int, int] | None, metric("count", "Blocks, x y z", source=_PROFILER)]
    block: Annotated[tuple[int, int, int] | None, metric("count", "Threads of a block, x y z", source=_PROFILER)]
    duration_us: Annotated[float | None, metric("us", "Time on the device", better="lower", source="duration_source")]
    duration_source: Annotated[str, metric("text", "What measured the duration", source=_SELF)]
    sol: Annotated[SolBlock | None, metric("record", "Speed of light", source=_SELF)] = None
    roofline: Annotated[RooflineBlock | None, metric("record", "Roofline", source=_SELF)] = None
    occupancy: Annotated[OccupancyBlock | None, metric("record", "Occupancy", source=_SELF)] = None
    caches: Annotated[CachesBlock | None, metric("record", "Caches", source=_SELF)] = None
    stalls: Annotated[StallsBlock | None, metric("record", "Stalls", source=_SELF)] = None
    bottleneck: Annotated[BottleneckBlock | None, metric("record", "Bottleneck", source=_SELF)] = None
    reasons: Annotated[dict[str, str], metric("text", "Code of the reason for every null", source=_SELF)]


class Report(Record, frozen=True, kw_only=True):
    """One analysis of one kernel. Null means not measured; ``reasons`` beside it says why. Numbers are not rounded."""

    schema_version: Annotated[int, metric("index", "Version of this format", source=_SELF)] = SCHEMA_VERSION
    kprof_version: Annotated[str, metric("text", "The kprof that made this report", source=_SELF)]
    created: Annotated[str, metric("text", "When it was measured: UTC, ISO 8601", source="the clock")]
    source: Annotated[Source, metric("text", "Measured now, or made again from a file", source=_SELF)]
    workload: Annotated[WorkloadInfo, metric("record", "What was measured", source=_SELF)]
    environment: Annotated[EnvironmentInfo, metric("record", "On what", source=_SELF)]
    blocks: Annotated[Blocks, metric("record", "The results", source=_SELF)]
    kernels: Annotated[tuple[KernelLaunch, ...], metric("record", "Every kernel launch", source=_PROFILER)]
    faults: Annotated[
        tuple[Fault, ...], metric("record", "What did not run to its end, with the tail of its output", source=_SELF)
    ] = ()
    gates: Annotated[tuple[()], metric("record", "Verdicts; this version makes none", source=_SELF)] = ()


def build_report(capture: Capture, source: Source = "measured") -> Report:
    """Everything that analysis says of a capture: pure, with neither torch nor a GPU."""
    return Report(
        kprof_version=__version__,
        created=capture.created,
        source=source,
        workload=workload_info(capture.workload),
        environment=make_finite(environment_info(capture.environment))[0],
        blocks=Blocks(
            build=build_block(capture),
            precision=precision_block(capture),
            timing=timing_block(capture),
            memory=memory_block(capture),
            launches=launches_block(capture),
            waterfall=unmeasured_block(capture, WaterfallBlock, "waterfall"),
            sol=unmeasured_block(capture, SolBlock, "sol"),
            roofline=unmeasured_block(capture, RooflineBlock, "roofline"),
            occupancy=unmeasured_block(capture, OccupancyBlock, "occupancy"),
            caches=unmeasured_block(capture, CachesBlock, "caches"),
            stalls=unmeasured_block(capture, StallsBlock, "stalls"),
            bottleneck=unmeasured_block(capture, BottleneckBlock, "bottleneck"),
            integrity=unmeasured_block(capture, IntegrityBlock, "integrity"),
        ),
        kernels=_kernels(capture),
        faults=capture.faults,
    )


def _kernels(capture: Capture) -> tuple[KernelLaunch, ...]:
    evidence = capture.launches
    if evidence is None or "launches" not in capture.requested or not on_cuda(capture):
        return ()
    launched = [
        (side, launch)
        for side, of_side in zip(_SIDES, (evidence.kernel, evidence.ref), strict=True)
        for launch in (of_side.launches if of_side is not None and of_side.absent is None else ())
        if launch.kind == "kernel"
    ]
    code = counters_reason(capture).code
    made: list[KernelLaunch] = []
    for position, (side, launch) in enumerate(launched):
        entry, not_finite = make_finite(
            KernelLaunch(
                id=position,
                name=base_name(launch.name),
                full_name=launch.name,
                side=side,
                grid=launch.grid,
                block=launch.block,
                duration_us=launch.duration_us,
                duration_source="torch.profiler",
                reasons={},
            )
        )
        reasons = {path: _why_null(path, not_finite, code) for path in null_paths(entry)}
        made.append(msgspec.structs.replace(entry, reasons=reasons))
    return tuple(made)


def _why_null(path: str, not_finite: frozenset[str], counters_code: str) -> str:
    if path in not_finite:
        return "not_finite"
    return "not_collected" if path in ("grid", "block") else counters_code


def exit_code(report: Report) -> int:
    """The exit code the report asks for, gates aside: 2 usage, 3 could not measure, 1 the result is wrong, 0 none.

    An override that the reference does not know is usage, though only the worker can tell. A fault in one of the two
    files is always 3. One that is nobody's is 3 only in a stage that the rest builds on: a profiler that does not start
    takes its own block with it and no more.
    """
    if any(fault.code in _USAGE_CODES for fault in report.faults):
        return 2
    if any(fault.side is not None or fault.stage not in _OPTIONAL_STAGES for fault in report.faults):
        return 3
    return 1 if report.blocks.precision.passed is False else 0


def report_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a report.

    kprof writes every field of every record, null ones too, so each is required and none has a default.
    """
    schema = msgspec.json.schema(Report)
    for definition in schema["$defs"].values():
        properties = definition.get("properties", {})
        definition["required"] = list(properties)
        for described in properties.values():
            described.pop("default", None)
    schema["$defs"]["Report"]["properties"]["schema_version"]["const"] = SCHEMA_VERSION
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID, "title": "A kprof report"}
    return {**head, **schema}
