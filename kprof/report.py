"""The report: what analysis says of a capture. Renderers and gates read it, and nothing flows back."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from kprof import __version__
from kprof.blocks.base import make_finite
from kprof.blocks.bottleneck import BottleneckBlock
from kprof.blocks.build import BuildBlock, build_block
from kprof.blocks.caches import CachesBlock
from kprof.blocks.ceilings_info import CeilingsInfo, ceilings_info
from kprof.blocks.counter_analysis import CounterAnalysis
from kprof.blocks.counter_blocks import counter_blocks
from kprof.blocks.counters_info import CountersInfo, counters_info
from kprof.blocks.integrity.block import IntegrityBlock, failed_reason, integrity_block
from kprof.blocks.kernels import KernelLaunch, kernel_launches
from kprof.blocks.launches import LaunchesBlock, launches_block
from kprof.blocks.memory import MemoryBlock, memory_block
from kprof.blocks.occupancy import OccupancyBlock
from kprof.blocks.precision import precision_block
from kprof.blocks.precision_records import PrecisionBlock
from kprof.blocks.roofline import RooflineBlock
from kprof.blocks.sol_records import SolBlock
from kprof.blocks.stalls import StallsBlock
from kprof.blocks.task import Task
from kprof.blocks.timing.block import TimingBlock, doubted, timing_block
from kprof.blocks.waterfall import WaterfallBlock
from kprof.board import GpuSpec
from kprof.capture import Capture
from kprof.ceilings_check import believable
from kprof.context import EnvironmentInfo, WorkloadInfo, board_of, environment_info, workload_info
from kprof.evidence import Fault, Record
from kprof.exit_codes import FaultHead, measured_exit_code
from kprof.metrics import metric
from kprof.report_json import SCHEMA_VERSION
from kprof.roofline import RoofChoice
from kprof.verdicts import Verdict

SCHEMA_ID: Final = f"urn:kprof:report:{SCHEMA_VERSION}"
Source = Literal["measured", "replayed", "imported"]

_SELF: Final = "kprof"
_PROFILER: Final = "torch.profiler, device events of one call"


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


class Report(Record, frozen=True, kw_only=True):
    """One analysis of one kernel. Null means not measured; ``reasons`` beside it says why. Numbers are not rounded."""

    schema_version: Annotated[int, metric("index", "Version of this format", source=_SELF)] = SCHEMA_VERSION
    kprof_version: Annotated[str, metric("text", "The kprof that made this report", source=_SELF)]
    created: Annotated[str, metric("text", "When it was measured: UTC, ISO 8601", source="the clock")]
    source: Annotated[Source, metric("text", "Measured now, or made again from a file", source=_SELF)]
    workload: Annotated[WorkloadInfo, metric("record", "What was measured", source=_SELF)]
    environment: Annotated[EnvironmentInfo, metric("record", "On what", source=_SELF)]
    counters: Annotated[
        CountersInfo | None, metric("record", "How the counters were collected; null: there are none", source=_SELF)
    ] = None
    ceilings: Annotated[
        CeilingsInfo | None, metric("record", "Roofs measured on this device; null: there are none", source=_SELF)
    ] = None
    blocks: Annotated[Blocks, metric("record", "The results", source=_SELF)]
    kernels: Annotated[tuple[KernelLaunch, ...], metric("record", "Every kernel launch", source=_PROFILER)]
    faults: Annotated[
        tuple[Fault, ...], metric("record", "What did not run to its end, with the tail of its output", source=_SELF)
    ] = ()
    gates: Annotated[
        tuple[Verdict, ...], metric("record", "Verdicts, where thresholds or a baseline were given", source=_SELF)
    ] = ()


def build_report(
    capture: Capture, source: Source = "measured", *, gpu: GpuSpec | None = None, roof: RoofChoice = "spec"
) -> Report:
    """Everything that analysis says of a capture: pure, with neither torch nor a GPU.

    Args:
        capture: the evidence.
        source: how it came here.
        gpu: the board, as the user named it; None: matched by what driver and report say.
        roof: the spec's peaks, or those that ncu's report has.
    """
    environment = environment_info(capture.environment, gpu)
    capture = _with_believable_ceilings(capture, board_of(capture.environment, gpu)[0])
    counters = CounterAnalysis(capture, gpu)
    integrity = integrity_block(capture, counters)
    timing = doubted(timing_block(capture), failed_reason(integrity))
    spec, no_spec = board_of(capture.environment, gpu)
    made = counter_blocks(capture, counters, Task(capture, counters, timing, spec, no_spec, roof), roof)
    return Report(
        kprof_version=__version__,
        created=capture.created,
        source=source,
        workload=workload_info(capture.workload),
        environment=make_finite(environment)[0],
        counters=counters_info(capture.counters, counters.combined_launches, counters.warnings),
        ceilings=ceilings_info(capture.ceilings),
        blocks=Blocks(
            build=build_block(capture),
            precision=precision_block(capture),
            timing=timing,
            memory=memory_block(capture),
            launches=launches_block(capture),
            integrity=integrity,
            **{name: getattr(made, name) for name in made.__struct_fields__},
        ),
        kernels=kernel_launches(capture, counters, roof),
        faults=capture.faults,
    )


def _with_believable_ceilings(capture: Capture, spec: GpuSpec | None) -> Capture:
    if capture.ceilings is None:
        return capture
    return msgspec.structs.replace(capture, ceilings=believable(capture.ceilings, spec))


def exit_code(report: Report) -> int:
    """The exit code the report asks for, gates aside; see `measured_exit_code`."""
    heads = (FaultHead(fault.code, fault.stage, fault.side) for fault in report.faults)
    passed = (report.blocks.precision.passed, report.blocks.integrity.passed)
    reason = report.blocks.timing.reason
    return measured_exit_code(heads, is_wrong=False in passed, timing_code=reason.code if reason else None)


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
