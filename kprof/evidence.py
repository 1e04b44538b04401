"""The evidence of a run: frozen records with no judgement in them.

Collectors fill these, analysis reads them, nothing flows back. Durations are microseconds and sizes bytes unless the
name says otherwise; ``None`` means not measured, and a `Fault` or a ``reasons`` entry says why.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

Side = Literal["kernel", "ref"]
SIDE_NAMES: Final[dict[Side, str]] = {"kernel": "kernel", "ref": "reference"}
"""As messages call them."""
Stage = Literal[
    "load", "build", "precision", "timing", "integrity", "memory", "floor", "launches", "counters", "sanitizer"
]
LEAST_TIME_US: Final = 1e-3
"""A time under this is none: a nanosecond is the finest step of any clock that is read, and less than a clock cycle
of a GPU."""
Cache = Literal["cold", "warm"]
Timer = Literal["cupti", "event", "graph", "host", "host_stream"]
STAGES: Final[tuple[Stage, ...]] = (
    "load", "build", "precision", "timing", "integrity", "memory", "floor", "launches", "counters", "sanitizer",
)  # fmt: skip


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every record: immutable and strict about unknown fields."""


class Reason(Record, frozen=True, kw_only=True):
    """Why something is absent or not to be trusted."""

    code: str
    """Stable, snake_case: what programs match on."""
    message: str
    """One line: what was found."""
    hint: str = ""
    """One line: what to do about it."""


class Fault(Record, frozen=True, kw_only=True):
    """A stage that did not finish, or a side that failed in it."""

    stage: Stage
    side: Side | None
    """Whose code was running; None: kprof's own, or not known."""
    code: str
    message: str
    hint: str = ""
    detail: str = ""
    """Tail of the traceback, the compiler's log or the worker's output."""

    @property
    def reason(self) -> Reason:
        return Reason(code=self.code, message=self.message, hint=self.hint)


class TensorInfo(Record, frozen=True, kw_only=True):
    """One tensor among the inputs."""

    path: str
    """Where it stands in the nesting: ``[0]``, ``[1]['mask']``."""
    shape: tuple[int, ...]
    dtype: str
    constant: bool
    """All elements equal: such values hide unwritten outputs and can run faster than real ones."""


class Workload(Record, frozen=True, kw_only=True):
    """What was measured."""

    kernel_file: str
    kernel_sha256: str
    ref_file: str | None
    ref_sha256: str | None
    entry: str
    kind: Literal["cuda", "cpp", "triton", "pytorch"] | None = None
    """What the kernel file is written in, as seen when it was loaded; None: it did not load."""
    seed: int
    overrides: dict[str, int | float | bool | str] = {}
    ref_mode: Literal["eager", "compile"] = "eager"
    inputs: tuple[TensorInfo, ...] = ()
    """The inputs that were timed. Files that jitter their sizes have others in the precision trials."""
    warnings: tuple[Reason, ...] = ()


class ClockReading(Record, frozen=True, kw_only=True):
    """One reading of the driver's management library (NVML), matched to the device by UUID."""

    sm_mhz: int | None = None
    memory_mhz: int | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: int | None = None
    throttle_reasons: tuple[str, ...] | None = None
    """Names as NVML documents them, less ``gpu_idle``; empty: nothing holds the clock down."""


class Environment(Record, frozen=True, kw_only=True):
    """The machine and the software. Absent parts are None."""

    device: str
    """``cpu`` or ``cuda:N``."""
    device_name: str | None = None
    """The processor's or the board's name as its driver gives it."""
    gpu_uuid: str | None = None
    compute_capability: str | None = None
    sm_count: int | None = None
    l2_bytes: int | None = None
    memory_bytes: int | None = None
    cpu_threads: int | None = None
    """Threads that torch uses for its own operators."""
    driver: str | None = None
    cuda: str | None = None
    torch: str | None = None
    triton: str | None = None
    ncu: str | None = None
    python: str | None = None
    compiler: str | None = None
    tf32_matmul: bool | None = None
    tf32_cudnn: bool | None = None
    clocks_before: ClockReading | None = None
    clocks_after: ClockReading | None = None
    clocks_reason: Reason | None = None
    """Why there are no clock readings, where there are none."""
    command: tuple[str, ...] = ()


class SideBuild(Record, frozen=True, kw_only=True):
    """What one side's file compiled when it was loaded."""

    extensions: tuple[str, ...]
    """Names given to torch's extension builder; empty: nothing to build."""
    seconds: float
    """Wall time inside the builder: compiling, or finding it compiled, and loading the library."""
    cached: bool
    """No compiler ran: the library was there from before."""
    arch: str | None
    """``sm_90`` and the like for CUDA sources, the host's architecture otherwise."""
    log_tail: str


class BuildEvidence(Record, frozen=True, kw_only=True):
    kernel: SideBuild | None = None
    ref: SideBuild | None = None


class Series(Record, frozen=True, kw_only=True):
    """Samples of one timer in one cache state, kernel and reference interleaved."""

    timer: Timer
    cache: Cache
    kernel_us: tuple[float, ...] = ()
    """Raw samples in the order taken, thinned evenly above 1000."""
    ref_us: tuple[float, ...] = ()
    kernel_count: int = 0
    """Samples taken, before thinning."""
    ref_count: int = 0
    calls_per_sample: int = 1
    dropped_by_clock: int = 0
    """Samples left out because the SM clock read before or after their group strayed; never by value."""
    queue_kept_full: bool | None = None
    """Every call was enqueued before the device reached it; None: the timer has no queue."""
    bias_us: float | None = None
    """What the timer reads round nothing at all (an empty event pair)."""
    resolution_us: float | None = None
    """The timer's step."""
    preemptions: int | None = None
    """Times that the operating system took a processor from this process while the samples were taken."""


class ClockGroup(Record, frozen=True, kw_only=True):
    """The clock around one group of samples."""

    timer: Timer
    cache: Cache
    before: ClockReading
    after: ClockReading
    dropped: bool


class Repeat(Record, frozen=True, kw_only=True):
    """Medians of one fresh timing process, for the noise between processes."""

    timer: Timer
    cache: Cache
    kernel_us: float | None
    ref_us: float | None


class TimingEvidence(Record, frozen=True, kw_only=True):
    series: tuple[Series, ...] = ()
    repeats: tuple[Repeat, ...] = ()
    absent: dict[str, Reason] = {}
    """Why a series is missing, by ``timer``, ``timer.cache`` or ``timer.side``."""
    kernel_off_current_stream: bool | None = None
    """A graph of the kernel's call captured nothing: it does not launch on torch's current stream."""
    flush_bytes: int | None = None
    """Bytes read between calls to empty L2."""
    clock_groups: tuple[ClockGroup, ...] = ()
    warnings: tuple[Reason, ...] = ()


class SideMemory(Record, frozen=True, kw_only=True):
    peak_bytes: int | None
    """Peak above what was allocated before the call."""
    device_delta_bytes: int | None = None
    """Device memory taken outside torch's allocator during the call (raw cudaMalloc)."""
    absent: Reason | None = None
    """Why there is no peak, where there is none."""


class MemoryEvidence(Record, frozen=True, kw_only=True):
    method: str
    """``torch_cuda_allocator`` or ``torch_cpu_allocator``."""
    kernel: SideMemory | None = None
    ref: SideMemory | None = None
