"""The record of the block ``precision``."""

from __future__ import annotations

from typing import Annotated, Final

from kprof.blocks.base import Block
from kprof.evidence import Reason, Record
from kprof.metrics import metric
from kprof.precision_evidence import Mismatch

_EAGER: Final = "comparison with the eager reference"
_FP64: Final = "comparison with the reference run in fp64"


class OutputTolerance(Record, frozen=True, kw_only=True):
    """What counted as equal for one output: ``|kernel - ref| <= atol + rtol * |ref|``."""

    where: Annotated[str, metric("text", "Path of the output", source=_EAGER)]
    dtype: Annotated[str, metric("text", "Its element type", source=_EAGER)]
    atol: Annotated[float, metric("output", "Absolute tolerance", source=_EAGER)]
    rtol: Annotated[float, metric("ratio", "Relative tolerance", source=_EAGER)]
    scale: Annotated[float, metric("output", "Root mean square of the reference, which atol follows", source=_EAGER)]


class PrecisionBlock(Block, frozen=True, kw_only=True):
    """Comparison of the kernel's results with the reference's, over trials with fresh values.

    ``worst_*``, ``atol``, ``rtol`` and ``tolerances`` are those of the worst trial: one with a mismatch before one
    without, then the one with the largest error over its tolerance. Errors are over all trials, so that the largest
    absolute error may be that of another element.
    """

    passed: Annotated[
        bool | None,
        metric("bool", "Every trial that ran agreed; null: it cannot be said", better="higher", source=_EAGER),
    ] = None
    trials: Annotated[int | None, metric("count", "Trials that ran to their end", source=_EAGER)] = None
    trials_requested: Annotated[int | None, metric("count", "Trials asked for", source=_EAGER)] = None
    trials_passed: Annotated[
        int | None, metric("count", "Trials without a mismatch", better="higher", source=_EAGER)
    ] = None
    max_abs_error: Annotated[
        float | None,
        metric("output", "Largest |kernel - ref| of finite pairs over all trials", better="lower", source=_EAGER),
    ] = None
    mean_abs_error: Annotated[
        float | None,
        metric("output", "Mean |kernel - ref|, trials weighted by their elements", better="lower", source=_EAGER),
    ] = None
    max_rel_error: Annotated[
        float | None,
        metric("ratio", "Largest |kernel - ref| / max(|ref|, atol) over all trials", better="lower", source=_EAGER),
    ] = None
    mean_rel_error: Annotated[
        float | None,
        metric("ratio", "Mean of the same, trials weighted by their elements", better="lower", source=_EAGER),
    ] = None
    atol: Annotated[float | None, metric("output", "Absolute tolerance of the worst output", source=_EAGER)] = None
    rtol: Annotated[float | None, metric("ratio", "Relative tolerance of the worst output", source=_EAGER)] = None
    mismatched_elements: Annotated[
        int | None, metric("count", "Elements out of tolerance, all trials together", better="lower", source=_EAGER)
    ] = None
    elements: Annotated[int | None, metric("count", "Elements compared, all trials together", source=_EAGER)] = None
    worst_output: Annotated[
        str | None, metric("text", "Path of the output with the worst element, see worst_index", source=_EAGER)
    ] = None
    worst_index: Annotated[
        tuple[int, ...] | None,
        metric(
            "index",
            "Position of the element with the largest error over its tolerance (atol + rtol * |ref|), worst trial",
            source=_EAGER,
        ),
    ] = None
    worst_seed: Annotated[int | None, metric("index", "Seed of the trial with that element", source=_EAGER)] = None
    worst_kernel_value: Annotated[float | None, metric("output", "The kernel's value there", source=_EAGER)] = None
    worst_ref_value: Annotated[float | None, metric("output", "The reference's value there", source=_EAGER)] = None
    kernel_error_vs_fp64: Annotated[
        float | None,
        metric("output", "Largest absolute error of the kernel against fp64", better="lower", source=_FP64),
    ] = None
    ref_error_vs_fp64: Annotated[
        float | None, metric("output", "Largest absolute error of the reference against fp64", source=_FP64)
    ] = None
    vacuous: Annotated[
        bool | None,
        metric("bool", "A trivial answer (zeros, a constant, an input) would have passed too", source=_EAGER),
    ] = None
    vacuous_controls: Annotated[
        tuple[str, ...], metric("text", "The trivial answers that would have passed", source=_EAGER)
    ] = ()
    deterministic: Annotated[
        bool | None,
        metric("bool", "The kernel gave the same bits twice in every trial", better="higher", source=_EAGER),
    ] = None
    weights: Annotated[
        str | None, metric("text", "How the kernel came by the reference's parameters", source="the worker")
    ] = None
    poisoned: Annotated[
        str | None, metric("text", "How fresh memory was filled with NaN before the kernel ran", source="the worker")
    ] = None
    mismatches: Annotated[
        tuple[Mismatch, ...], metric("record", "How the results differ, each way once", source=_EAGER)
    ] = ()
    tolerances: Annotated[
        tuple[OutputTolerance, ...], metric("record", "What counted as equal, by output", source=_EAGER)
    ] = ()
    notes: Annotated[
        tuple[Reason, ...], metric("record", "What was seen and does not fail, each once", source=_EAGER)
    ] = ()
