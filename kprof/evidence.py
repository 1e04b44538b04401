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


class Mismatch(Record, frozen=True, kw_only=True):
    """One way in which the kernel's result is not the reference's."""

    code: str
    where: str
    """Path of the output: ``out``, ``out[1]``, ``out['mask']``."""
    message: str


class Tolerance(Record, frozen=True, kw_only=True):
    """What counts as equal for one output of one trial: ``|kernel - ref| <= atol + rtol * |ref|``."""

    where: str
    dtype: str
    atol: float
    rtol: float
    scale: float
    """Root mean square of the reference's finite values, which ``atol`` is proportional to."""


class PrecisionTrial(Record, frozen=True, kw_only=True):
    """One comparison with fresh values: kernel, reference, kernel again, on clones of the same inputs."""

    seed: int
    shapes: tuple[tuple[int, ...], ...]
    mismatches: tuple[Mismatch, ...] = ()
    """Empty: everything agreed."""
    tolerances: tuple[Tolerance, ...] = ()
    elements: int = 0
    mismatched_elements: int | None = None
    max_abs_error: float | None = None
    mean_abs_error: float | None = None
    max_rel_error: float | None = None
    """Largest ``|kernel - ref| / max(|ref|, atol)`` over finite pairs."""
    mean_rel_error: float | None = None
    worst_over_tolerance: float | None = None
    """Largest error over what is allowed there; the error itself where none is. The ``worst_*`` are that element's."""
    worst_output: str | None = None
    worst_index: tuple[int, ...] | None = None
    worst_kernel_value: float | None = None
    worst_ref_value: float | None = None
    deterministic: bool | None = None
    """The kernel's two results were equal bit for bit."""
    nonfinite_elements: int = 0
    """Elements of the reference that are NaN or infinite."""
    vacuous_controls: tuple[str, ...] = ()
    """Trivial answers that would have passed too: ``zeros``, ``constant``, ``input``, ``small_as_zeros``."""
    notes: tuple[Reason, ...] = ()
    """What was seen and does not fail: strides that differ, infinities at equal places."""


class PrecisionEvidence(Record, frozen=True, kw_only=True):
    trials: tuple[PrecisionTrial, ...] = ()
    """In the order they ran. Of very many only some, those that fail before the others, the worst always among them."""
    trials_requested: int = 0
    trials_run: int | None = None
    """Trials that ran to their end; None: all are in ``trials``."""
    trials_agreed: int | None = None
    """Those of them without a mismatch; None: count them in ``trials``."""
    left_out: PrecisionTrial | None = None
    """What ``trials`` leaves out, as one: counts added, errors combined, each mismatch and note once."""
    weights: Literal["none", "as_constructed", "copied_by_name", "copied_by_shape", "not_comparable"] | None = None
    """How the kernel came by the reference's parameters."""
    kernel_error_vs_fp64: float | None = None
    """Largest absolute error of the kernel against the reference run in float64."""
    ref_error_vs_fp64: float | None = None
    fp64_reason: Reason | None = None
    poisoned: str | None = None
    """How fresh memory was filled with NaN before the kernel ran; None: it was not."""
    warnings: tuple[Reason, ...] = ()


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


class Launch(Record, frozen=True, kw_only=True):
    """One piece of device work, as the profiler saw it."""

    kind: Literal["kernel", "memcpy", "memset"]
    name: str
    stream: int | None
    start_us: float
    """Since the start of the call on the host."""
    duration_us: float
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    registers_per_thread: int | None = None
    shared_bytes: int | None = None
    """Shared memory of a block, static and dynamic together."""
    correlation: int | None = None
    graph: bool = False
    """Launched by the replay of a CUDA graph."""


class SideLaunches(Record, frozen=True, kw_only=True):
    """One call under the profiler."""

    launches: tuple[Launch, ...] = ()
    host_launches: int | None = None
    """Calls of a launch interface on the host; the replay of a graph is one."""
    operator_calls: int | None = None
    """Outermost torch operators called."""
    host_us: float | None = None
    """From the start of the call on the host to its end after a synchronise, profiler running."""
    absent: Reason | None = None
    """Why there are no launches here, where there are none."""
    warnings: tuple[Reason, ...] = ()


class LaunchesEvidence(Record, frozen=True, kw_only=True):
    kernel: SideLaunches | None = None
    ref: SideLaunches | None = None
    series: tuple[Series, ...] = ()
    """Device spans (first kernel start to last kernel end, all streams) that the same process measured."""
    kernel_off_current_stream: bool | None = None
    output_mismatches: tuple[Mismatch, ...] | None = None
    """How a result under the profiler differs from the reference's, for values that the kernel saw nowhere else in this
    process; None: not compared."""
    warnings: tuple[Reason, ...] = ()
