"""One precision trial: kernel, reference, kernel again, each on clones of its own of the same fresh inputs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import Tensor

from kprof.collectors.precision.chunks import bits_equal, is_out_of_memory
from kprof.collectors.precision.comparison import Comparison, compare_trees
from kprof.collectors.precision.inplace import (
    aliasing_notes,
    aliasing_outputs,
    changed_inputs,
    modification_warnings,
    readable_leaves,
)
from kprof.collectors.precision.originals import original_torch
from kprof.collectors.precision.poison import poisoned_memory, sizes_of
from kprof.collectors.precision.records import record_trial
from kprof.collectors.precision.structure import PLAIN_TYPES, pair_leaves, plain
from kprof.collectors.precision.weights import BufferSnapshot
from kprof.collectors.precision.yardstick import Fp64Errors, YardstickError, fp64_errors, run_in_float64
from kprof.collectors.synchronise import synchronise
from kprof.errors import first_line
from kprof.evidence import Reason, Side
from kprof.precision_evidence import PrecisionTrial
from kprof.trees import clone_tensor, clone_tree, map_tensors, shape_of, tensor_leaves
from kprof.workload import LoadedWorkload, seed_everything

_UNCOMPARABLE_CODES: Final = frozenset({"not_a_plain_tensor", "unsupported_output"})


class SideError(Exception):
    """One side's own code raised, or its work on the device failed.

    Args:
        side: whose.
        error: what it raised.
    """

    def __init__(self, side: Side, error: BaseException) -> None:
        super().__init__(f"{side}: {type(error).__name__}: {first_line(error)}")
        self.side: Side = side
        self.error = error


@dataclass(frozen=True)
class _ToInputs:
    """What one call did to its inputs."""

    changed: dict[str, Tensor]
    aliasing: frozenset[str]


@dataclass
class Bench:
    """Runs trials; keeps between them what later ones need."""

    workload: LoadedWorkload
    enter: Callable[[Side | None], None]
    allow_nonfinite: bool
    limit: int | None
    poisoned: str | None = None
    warnings: tuple[Reason, ...] = ()
    """What the first trial found the sides to do to their inputs."""
    _replaced: dict[str, None] = field(default_factory=dict)
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
        first, ours = self._kernel(inputs, seed, notes, watch=with_yardstick)
        yardstick = self._yardstick(inputs, seed) if with_yardstick else None
        ref, theirs = self._ref(inputs, seed, watch=with_yardstick)
        comparison = self._compare(first, ref, inputs)
        if ours is not None and theirs is not None:
            with self._torchs_own():
                self.warnings = modification_warnings(ours.changed, theirs.changed, self.limit)
                notes += aliasing_notes(ours.aliasing, theirs.aliasing)
            del ours, theirs
        if yardstick is not None:
            if isinstance(yardstick, YardstickError):
                self._fp64 = Fp64Errors(reason=yardstick.reason)
            else:
                with self._torchs_own():
                    self._fp64 = fp64_errors(first, ref, yardstick[0], comparison.tolerances, self.limit)
                self.workload.widened = dict(self._fp64.widened)
            del yardstick
            _release_cached(self.workload.device)
            if self._fp64.widened:
                comparison = self._compare(first, ref, inputs)
        self._sizes = sizes_of(ref)
        second, _ = self._kernel(inputs, seed, None, watch=False)
        with self._torchs_own():
            same = _same(first, second, self.limit)
        again = comparison if same else self._compare(second, ref, inputs)
        shapes = tuple(shape_of(tensor) for _, tensor in tensor_leaves(inputs))
        return record_trial(seed, shapes, comparison, again, same, (*notes, *self._fp64.notes))

    def replaced_torch(self) -> tuple[Reason, ...]:
        """A warning where user code has replaced functions of torch's."""
        if not self._replaced:
            return ()
        message = f"the files replace {', '.join(list(self._replaced)[:4])}; results were compared with torch's own"
        return (Reason(code="torch_replaced", message=message),)

    def _torchs_own(self) -> AbstractContextManager[None]:
        return original_torch(lambda name: self._replaced.update({name: None}))

    def _compare(self, kernel: Any, ref: Any, inputs: list[Any]) -> Comparison:
        with self._torchs_own():
            return compare_trees(
                kernel,
                ref,
                inputs=inputs,
                widened=self._fp64.widened,
                allow_nonfinite=self.allow_nonfinite,
                chunk_elements=self.limit,
            )

    def _kernel(
        self, inputs: list[Any], seed: int, notes: list[Reason] | None, *, watch: bool
    ) -> tuple[Any, _ToInputs | None]:
        """The kernel's result, isolated where there is a list for ``notes``, and what it did to its inputs."""
        with self._torchs_own():
            arguments = clone_tree(inputs)
        leaves = readable_leaves(arguments)
        with poisoned_memory(self.workload.device, self._sizes or sizes_of(inputs)) as method:
            self.poisoned = method
            result = self._call("kernel", arguments, seed)
        with self._torchs_own():
            isolated = result if notes is None else self._isolated(result, notes)
            return isolated, self._to_inputs(result, leaves, inputs) if watch else None

    def _ref(self, inputs: list[Any], seed: int, *, watch: bool) -> tuple[Any, _ToInputs | None]:
        with self._torchs_own():
            arguments = clone_tree(inputs)
        leaves = readable_leaves(arguments)
        result = self._call("ref", arguments, seed)
        with self._torchs_own():
            return result, self._to_inputs(result, leaves, inputs) if watch else None

    def _to_inputs(self, result: Any, leaves: dict[str, Tensor], inputs: list[Any]) -> _ToInputs:
        return _ToInputs(changed_inputs(leaves, inputs, self.limit), aliasing_outputs(result, leaves))

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
            return map_tensors(result, copied_if_plain)
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


def copied_if_plain(tensor: Tensor) -> Tensor:
    """A plain tensor in memory of its own; any other as it is, for it might compute what it should have held."""
    return clone_tensor(plain(tensor)) if type(tensor) in PLAIN_TYPES else tensor


def _same(first: Any, second: Any, limit: int | None) -> bool | None:
    """Two results of the kernel are equal bit for bit; None: they hold something that has no bits to compare."""
    pairing = pair_leaves(second, first)
    if any(one.code in _UNCOMPARABLE_CODES for one in pairing.mismatches):
        return None
    if any(tensor.is_meta for pair in pairing.pairs for tensor in (pair.kernel, pair.ref)):
        return None
    return not pairing.mismatches and all(bits_equal(pair.kernel, pair.ref, limit) for pair in pairing.pairs)
