"""What a report says of the workload and of the machine: the evidence, with the meaning of each field declared."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec

from kprof.evidence import ClockReading, Environment, Reason, Record, Workload
from kprof.gpuspec import GpuSpec, load_all_specs, match_spec
from kprof.metrics import metric

_FILES = "the two files and the command line"
_LOADED = "the worker, when it loaded the files"
_NVML = "NVML, matched by UUID"
_TORCH = "torch"
_SPECS = "specs/, by name, memory and multiprocessors"


class InputInfo(Record, frozen=True, kw_only=True):
    """One tensor among the inputs that were timed."""

    path: Annotated[str, metric("text", "Where it stands among the inputs", source=_LOADED)]
    shape: Annotated[tuple[int, ...], metric("count", "Elements along each dimension", source=_LOADED)]
    dtype: Annotated[str, metric("text", "Element type, in torch's words", source=_LOADED)]
    constant: Annotated[bool, metric("bool", "All its elements are equal", source=_LOADED)]


class WorkloadInfo(Record, frozen=True, kw_only=True):
    """What was measured."""

    kernel_file: Annotated[str | None, metric("text", "The kernel's file; null: imported", source=_FILES)] = None
    kernel_sha256: Annotated[str | None, metric("text", "SHA-256 of its content", source=_FILES)] = None
    ref_file: Annotated[str | None, metric("text", "The reference's file; null: none was given", source=_FILES)] = None
    ref_sha256: Annotated[str | None, metric("text", "SHA-256 of its content", source=_FILES)] = None
    entry: Annotated[str | None, metric("text", "The class that was measured; null: imported", source=_FILES)] = None
    kind: Annotated[
        Literal["cuda", "cpp", "triton", "pytorch"] | None,
        metric("text", "What the kernel is written in; null: it did not load", source=_LOADED),
    ] = None
    seed: Annotated[int | None, metric("index", "Seed of parameters and inputs; null: imported", source=_FILES)] = None
    overrides: Annotated[
        dict[str, int | float | bool | str],
        metric("text", "Module constants of the reference that were set; NaN and infinity as text", source=_FILES),
    ] = msgspec.field(default_factory=dict)
    ref_mode: Annotated[
        Literal["eager", "compile"] | None, metric("text", "How the reference was run; null: imported", source=_FILES)
    ] = None
    inputs: Annotated[
        tuple[InputInfo, ...], metric("record", "The tensors among the timed inputs", source=_LOADED)
    ] = ()
    warnings: Annotated[tuple[Reason, ...], metric("record", "What to know about the workload", source=_LOADED)] = ()


class ClockInfo(Record, frozen=True, kw_only=True):
    """One reading of clocks, power and temperature. Null: the driver did not say."""

    sm_mhz: Annotated[int | None, metric("MHz", "SM clock", source=_NVML)]
    memory_mhz: Annotated[int | None, metric("MHz", "Memory clock", source=_NVML)]
    power_w: Annotated[float | None, metric("W", "Power drawn by the board", source=_NVML)]
    power_limit_w: Annotated[float | None, metric("W", "Power the board may draw", source=_NVML)]
    temperature_c: Annotated[int | None, metric("Celsius", "Temperature of the GPU", source=_NVML)]
    throttle_reasons: Annotated[
        tuple[str, ...] | None, metric("text", "What holds the clock down; empty: nothing", source=_NVML)
    ]


class EnvironmentInfo(Record, frozen=True, kw_only=True):
    """The machine and the software. Null: not there, or it could not be read."""

    device: Annotated[str, metric("text", "cpu or cuda:N", source=_TORCH)]
    device_name: Annotated[str | None, metric("text", "Name of the processor or the board", source="its driver")]
    gpu_uuid: Annotated[str | None, metric("text", "UUID of the board", source=_NVML)]
    compute_capability: Annotated[str | None, metric("text", "CUDA compute capability", source=_TORCH)]
    sm_count: Annotated[int | None, metric("count", "Streaming multiprocessors", source=_TORCH)]
    l2_bytes: Annotated[int | None, metric("bytes", "Size of the L2 cache", source=_TORCH)]
    memory_bytes: Annotated[int | None, metric("bytes", "Device memory", source=_TORCH)]
    cpu_threads: Annotated[int | None, metric("count", "Threads torch uses for its own operators", source=_TORCH)]
    driver: Annotated[str | None, metric("text", "Version of the GPU driver", source=_NVML)]
    cuda: Annotated[str | None, metric("text", "Version of CUDA that torch was built with", source=_TORCH)]
    torch: Annotated[str | None, metric("text", "Version of torch", source=_TORCH)]
    triton: Annotated[str | None, metric("text", "Version of Triton", source="triton")]
    ncu: Annotated[str | None, metric("text", "Version of Nsight Compute", source="ncu --version")]
    python: Annotated[str | None, metric("text", "Version of Python", source="the interpreter")]
    compiler: Annotated[str | None, metric("text", "The C++ compiler", source="the compiler")]
    tf32_matmul: Annotated[bool | None, metric("bool", "torch may use TF32 in matmul", source=_TORCH)]
    tf32_cudnn: Annotated[bool | None, metric("bool", "torch may use TF32 in cuDNN", source=_TORCH)]
    clocks_before: Annotated[ClockInfo | None, metric("record", "Clocks before the run", source=_NVML)]
    clocks_after: Annotated[ClockInfo | None, metric("record", "Clocks after the run", source=_NVML)]
    clocks_reason: Annotated[Reason | None, metric("record", "Why there are no clocks", source=_NVML)]
    spec: Annotated[str | None, metric("text", "The board of `kprof specs` that the device is", source=_SPECS)]
    spec_reason: Annotated[Reason | None, metric("record", "Why it is none of them, or not one alone", source=_SPECS)]
    command: Annotated[tuple[str, ...], metric("text", "The command line", source="the command line")]


def workload_info(workload: Workload | None) -> WorkloadInfo:
    """The workload as a report tells it; None: an imported report, which does not say."""
    if workload is None:
        return WorkloadInfo()
    return WorkloadInfo(
        kernel_file=workload.kernel_file,
        kernel_sha256=workload.kernel_sha256,
        ref_file=workload.ref_file,
        ref_sha256=workload.ref_sha256,
        entry=workload.entry,
        kind=workload.kind,
        seed=workload.seed,
        overrides={name: _finite_or_text(value) for name, value in workload.overrides.items()},
        ref_mode=workload.ref_mode,
        inputs=tuple(
            InputInfo(path=tensor.path, shape=tensor.shape, dtype=tensor.dtype, constant=tensor.constant)
            for tensor in workload.inputs
        ),
        warnings=workload.warnings,
    )


def environment_info(environment: Environment, gpu: GpuSpec | None = None) -> EnvironmentInfo:
    """The environment as a report tells it; ``gpu``: the board that the user named."""
    same = {
        name: getattr(environment, name)
        for name in EnvironmentInfo.__struct_fields__
        if name not in ("clocks_before", "clocks_after", "spec", "spec_reason")
    }
    spec, spec_reason = board_of(environment, gpu)
    return EnvironmentInfo(
        **same,
        clocks_before=_clock_info(environment.clocks_before),
        clocks_after=_clock_info(environment.clocks_after),
        spec=spec.name if spec is not None else None,
        spec_reason=spec_reason,
    )


def board_of(environment: Environment, gpu: GpuSpec | None) -> tuple[GpuSpec | None, Reason | None]:
    """The device's spec, or why there is none."""
    if gpu is not None:
        return gpu, None
    if not environment.device.startswith("cuda"):
        return None, Reason(code="no_cuda_device", message="specs are of GPU boards, and the run was on none")
    found = match_spec(environment.device_name, environment.memory_bytes, environment.sm_count, load_all_specs())
    return (found, None) if isinstance(found, GpuSpec) else (None, found.reason)


def _clock_info(reading: ClockReading | None) -> ClockInfo | None:
    if reading is None:
        return None
    return ClockInfo(**{name: getattr(reading, name) for name in ClockInfo.__struct_fields__})


def _finite_or_text(value: int | float | bool | str) -> int | float | bool | str:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
