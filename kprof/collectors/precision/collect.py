"""The precision trials: kernel, reference, kernel again, on clones of the same fresh inputs.

What was measured is handed out after every trial, so that it outlives a crash in the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import torch
from torch import Tensor

from kprof.collectors.precision.chunks import bits_equal, is_out_of_memory
from kprof.collectors.precision.comparison import EQUAL_SPECIAL_CODES, VALUE_CODES, Comparison, compare_trees
from kprof.collectors.precision.poison import poisoned_memory, sizes_of
from kprof.collectors.precision.structure import PLAIN_TYPES, pair_leaves, plain
from kprof.collectors.precision.weights import BufferSnapshot, equalise_weights, has_weights
from kprof.collectors.precision.yardstick import Fp64Errors, YardstickError, fp64_errors, run_in_float64, synchronise
from kprof.evidence import Mismatch, PrecisionEvidence, PrecisionTrial, Reason, Side
from kprof.trees import clone_tensor, clone_tree, map_tensors, tensor_leaves
from kprof.workload import LoadedWorkload, seed_everything

_UNCOMPARABLE_CODES: Final = frozenset({"not_a_plain_tensor", "unsupported_output"})


class SideError(Exception):
    """One side's own code raised, or its work on the device failed.

    Args:
        side: whose.
        error: what it raised.
    """

    def __init__(self, side: Side, error: BaseException) -> None:
        super().__init__(f"{side}: {type(error).__name__}: {error}")
        self.side: Side = side
        self.error = error


def collect_precision(
    workload: LoadedWorkload,
    *,
    trials: int,
    seed: int,
    enter: Callable[[Side | None], None],
    allow_nonfinite: bool = False,
    chunk_elements: int | None = None,
) -> Iterator[PrecisionEvidence]:
    """Compare the kernel with the reference on fresh inputs; trial ``i`` has the seed ``seed + i``.

    The models' weights are compared as constructed first. Where the first trial's values differ and the weights do
    too, the reference's are copied and the trial is run again; where they cannot be, trials end.

    Args:
        workload: both sides, constructed and on the device.
        trials: how many.
        seed: of the first.
        enter: told whose code runs next; None: kprof's own.
        allow_nonfinite: NaN and infinity at equal places are notes, not mismatches.
        chunk_elements: elements compared at once; None: what suits the device.

    Yields:
        The evidence so far, after each trial.

    Raises:
        SideError: a side raised, or left the device with a fault.
        WorkloadError: the inputs could not be made.
        ValueError: there is no reference.
    """
    if workload.ref is None:
        raise ValueError("precision needs a reference")
    bench = _Bench(workload, enter, allow_nonfinite, chunk_elements)
    weighted = has_weights(workload.kernel) or has_weights(workload.ref)
    evidence = PrecisionEvidence(trials_requested=trials, weights="as_constructed" if weighted else "none")
    if trials > 0:
        trial, fp64 = bench.first_trial(seed)
        if weighted and any(one.code in VALUE_CODES for one in trial.mismatches):
            outcome = equalise_weights(workload.kernel, workload.ref)
            evidence = msgspec.structs.replace(evidence, weights=outcome.how, warnings=outcome.warnings)
            if outcome.how in ("copied_by_name", "copied_by_shape"):
                bench.remember_buffers()
                trial, fp64 = bench.first_trial(seed)
        evidence = msgspec.structs.replace(
            evidence,
            trials=(trial,),
            kernel_error_vs_fp64=fp64.kernel,
            ref_error_vs_fp64=fp64.ref,
            fp64_reason=fp64.reason,
            poisoned=bench.poisoned,
        )
    yield evidence
    if evidence.weights == "not_comparable":
        return
    for index in range(1, trials):
        trial = bench.trial(seed + index)
        evidence = msgspec.structs.replace(evidence, trials=(*evidence.trials, trial), poisoned=bench.poisoned)
        yield evidence


@dataclass
class _Bench:
    """Runs trials; keeps between them what later ones need."""

    workload: LoadedWorkload
    enter: Callable[[Side | None], None]
    allow_nonfinite: bool
    limit: int | None
    poisoned: str | None = None
    _fp64: Fp64Errors = field(default_factory=Fp64Errors)
    _sizes: list[int] = field(default_factory=list)
    _buffers: dict[Side, BufferSnapshot] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.remember_buffers()

    def remember_buffers(self) -> None:
        """What is in both models' buffers now is what each call starts from."""
        self._buffers = {"kernel": BufferSnapshot(self.workload.kernel), "ref": BufferSnapshot(self.workload.ref)}

    def first_trial(self, seed: int) -> tuple[PrecisionTrial, Fp64Errors]:
        """A trial with the float64 yardstick; where the reference is worse than the tolerance, it widens for all."""
        self._fp64 = Fp64Errors()
        return self.trial(seed, with_yardstick=True), self._fp64

    def trial(self, seed: int, *, with_yardstick: bool = False) -> PrecisionTrial:
        """Kernel, reference, kernel; each on clones of its own, from the same seed and the same buffers."""
        self.enter(self.workload.inputs_side)
        inputs = self.workload.inputs(seed)
        self.enter(None)
        notes: list[Reason] = []
        first = self._isolated(self._kernel(inputs, seed), notes)
        yardstick = self._yardstick(inputs, seed) if with_yardstick else None
        ref = self._call("ref", clone_tree(inputs), seed)
        comparison = self._compare(first, ref, inputs)
        if yardstick is not None:
            if isinstance(yardstick, YardstickError):
                self._fp64 = Fp64Errors(reason=yardstick.reason)
            else:
                self._fp64 = fp64_errors(first, ref, yardstick[0], comparison.tolerances, self.limit)
            del yardstick
            _release_cached(self.workload.device)
            if self._fp64.widened:
                comparison = self._compare(first, ref, inputs)
        self._sizes = sizes_of(ref)
        second = self._kernel(inputs, seed)
        same = _same(first, second, self.limit)
        again = comparison if same else self._compare(second, ref, inputs)
        shapes = tuple(tuple(tensor.shape) for _, tensor in tensor_leaves(inputs))
        return _record(seed, shapes, comparison, again, same, (*notes, *self._fp64.notes))

    def _compare(self, kernel: Any, ref: Any, inputs: list[Any]) -> Comparison:
        return compare_trees(
            kernel,
            ref,
            inputs=inputs,
            widened=self._fp64.widened,
            allow_nonfinite=self.allow_nonfinite,
            chunk_elements=self.limit,
        )

    def _kernel(self, inputs: list[Any], seed: int) -> Any:
        arguments = clone_tree(inputs)
        with poisoned_memory(self.workload.device, self._sizes or sizes_of(inputs)) as method:
            self.poisoned = method
            return self._call("kernel", arguments, seed)

    def _call(self, side: Side, arguments: list[Any], seed: int) -> Any:
        model = self.workload.kernel if side == "kernel" else self.workload.ref
        assert model is not None
        self._buffers[side].restore()
        seed_everything(seed)
        self.enter(side)
        try:
            with torch.no_grad():
                result = model(*arguments)
            synchronise(self.workload.device)
        except (Exception, SystemExit) as error:  # User code may raise anything; it is reported as theirs.
            raise SideError(side, error) from error
        self.enter(None)
        return result

    def _yardstick(self, inputs: list[Any], seed: int) -> tuple[Any] | YardstickError:
        """The float64 run, in a tuple because it may be anything, or why there is none."""
        self._buffers["ref"].restore()
        seed_everything(seed)
        self.enter("ref")
        try:
            exact = run_in_float64(self.workload.ref, inputs, self.workload.device)
            self.enter(None)
            return (exact,)
        except YardstickError as error:
            return error
        except RuntimeError as error:
            raise SideError("ref", error) from error

    def _isolated(self, result: Any, notes: list[Reason]) -> Any:
        """The kernel's result in memory of its own, before anything else runs that could write there.

        Only plain tensors are copied: others might compute what they should have held already.
        """
        try:
            return map_tensors(result, _copied_if_plain)
        except Exception as error:  # A container of the kernel's own may raise anything when it is walked.
            if not is_out_of_memory(error):
                raise SideError("kernel", error) from error
            message = "no memory for a copy of the kernel's result: the reference ran while it was still the kernel's"
            notes.append(Reason(code="result_not_isolated", message=message))
            return result


def _release_cached(device: torch.device) -> None:
    """Give back what the float64 run took: a kernel may take device memory beside torch's allocator."""
    if device.type == "cuda":
        torch.cuda.empty_cache()


def _copied_if_plain(tensor: Tensor) -> Tensor:
    return clone_tensor(plain(tensor)) if type(tensor) in PLAIN_TYPES else tensor


def _same(first: Any, second: Any, limit: int | None) -> bool | None:
    """Two results of the kernel are equal bit for bit; None: they hold something that has no bits to compare."""
    pairing = pair_leaves(second, first)
    if any(one.code in _UNCOMPARABLE_CODES for one in pairing.mismatches):
        return None
    return not pairing.mismatches and all(bits_equal(pair.kernel, pair.ref, limit) for pair in pairing.pairs)


def _record(
    seed: int,
    shapes: tuple[tuple[int, ...], ...],
    first: Comparison,
    second: Comparison,
    deterministic: bool | None,
    notes: tuple[Reason, ...],
) -> PrecisionTrial:
    """One trial's record: numbers of the first call, or of the second where only that one is wrong."""
    shown, mismatches = first, first.mismatches
    late = _wrong(second) if not _wrong(first) else None
    if late:
        shown = second
        message = f"the first call agreed, the second does not: {late[0].code}: {late[0].message}"
        differs = Mismatch(code="second_call_differs", where=late[0].where, message=message)
        mismatches = (differs, *second.mismatches)
    return PrecisionTrial(
        seed=seed,
        shapes=shapes,
        mismatches=mismatches,
        tolerances=shown.tolerances,
        elements=shown.elements,
        mismatched_elements=shown.mismatched_elements,
        max_abs_error=shown.max_abs_error,
        mean_abs_error=shown.mean_abs_error,
        max_rel_error=shown.max_rel_error,
        mean_rel_error=shown.mean_rel_error,
        worst_output=shown.worst_output,
        worst_index=shown.worst_index,
        worst_kernel_value=shown.worst_kernel_value,
        worst_ref_value=shown.worst_ref_value,
        deterministic=deterministic,
        nonfinite_elements=shown.nonfinite_elements,
        vacuous_controls=shown.vacuous_controls,
        notes=(*notes, *shown.notes),
    )


def _wrong(comparison: Comparison) -> list[Mismatch]:
    return [one for one in comparison.mismatches if one.code not in EQUAL_SPECIAL_CODES]
