"""Makes the two models' weights equal, where their constructors did not.

The same seed goes before both constructors, and yet other initialisers, or another order of them, draw other numbers.
Weights are parameters, buffers, and tensors kept as plain attributes (or in lists and dicts of those).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final, Literal

import torch
from torch import Tensor

from kprof.errors import first_line
from kprof.evidence import Reason
from kprof.trees import clone_tensor, is_ordinary, shape_of, tensor_leaves

How = Literal["none", "as_constructed", "copied_by_name", "copied_by_shape", "not_comparable"]
_MODULE_INTERNALS: Final = frozenset(vars(torch.nn.Module()))


@dataclass(frozen=True)
class WeightsOutcome:
    """What `equalise_weights` did."""

    how: How
    warnings: tuple[Reason, ...] = ()


@dataclass(frozen=True)
class _Weights:
    required: dict[str, Tensor]
    """Parameters and floating buffers: what a result may depend on."""
    optional: dict[str, Tensor]
    """Whole-number buffers (batch counters, positions) and plain attributes: often constants that the other side
    has no need of."""

    @property
    def all(self) -> dict[str, Tensor]:
        return {**self.required, **self.optional}


def uncompiled(model: Any) -> Any:
    """The module or function behind ``torch.compile``; others as they are."""
    original = getattr(model, "_orig_mod", None)
    return original if original is not None else getattr(model, "_torchdynamo_orig_callable", model)


def has_weights(model: Any) -> bool:
    """``model`` keeps any tensor."""
    return bool(_weights_of(model).all)


def equalise_weights(kernel: Any, ref: Any) -> WeightsOutcome:
    """Copy the reference's weights into the kernel's, by name, else by a shape that only one tensor has.

    In place, so that addresses the kernel has kept stay good. Nothing is copied where all are equal already: then a
    difference between the results is the kernel's own. Where one of the reference's has no counterpart nothing can be
    said, and nothing is copied.
    """
    ours, theirs = _weights_of(kernel), _weights_of(ref)
    if not ours.all and not theirs.all:
        return WeightsOutcome("none")
    if not theirs.required:
        return WeightsOutcome("as_constructed")
    by_name = _same_names(ours.all, theirs.all)
    by_shape = _unique_shapes(ours.all, theirs.required, by_name)
    partners = {**by_name, **by_shape}
    missing = sorted(theirs.required.keys() - partners.keys())
    if missing:
        return WeightsOutcome("not_comparable", (_no_counterpart(missing, theirs.required, ours.all),))
    pairs = [(ours.all[mine], theirs.all[name]) for name, mine in partners.items()]
    if all(_equal(mine, wanted) for mine, wanted in pairs):
        return WeightsOutcome("as_constructed")
    try:
        with torch.no_grad():
            for mine, wanted in pairs:
                mine.copy_(wanted)
    except RuntimeError as error:
        message = f"the reference's weights could not be copied: {first_line(error)}"
        return WeightsOutcome("not_comparable", (Reason(code="weights_not_copied", message=message),))
    warnings = _warnings(by_shape, sorted(ours.required.keys() - set(partners.values())))
    return WeightsOutcome("copied_by_shape" if by_shape else "copied_by_name", warnings)


def _weights_of(model: Any) -> _Weights:
    model = uncompiled(model)
    required: dict[str, Tensor] = {}
    optional: dict[str, Tensor] = {}
    if not isinstance(model, torch.nn.Module):
        attributes = getattr(model, "__dict__", {})
        for name, value in attributes.items():
            optional.update(tensor_leaves(value, name))
        return _Weights({}, optional)
    required.update(model.named_parameters())
    for name, buffer in model.named_buffers():
        (required if _is_inexact(buffer) else optional)[name] = buffer
    for prefix, module in model.named_modules():
        for name, value in vars(module).items():
            if name not in _MODULE_INTERNALS:
                optional.update(tensor_leaves(value, f"{prefix}.{name}" if prefix else name))
    return _Weights(required, optional)


def _is_inexact(tensor: Tensor) -> bool:
    """Floating or complex: no counter, index or mask."""
    return tensor.is_floating_point() or tensor.is_complex()


def _same_names(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> dict[str, str]:
    return {name: name for name, tensor in theirs.items() if name in ours and shape_of(ours[name]) == shape_of(tensor)}


def _unique_shapes(ours: dict[str, Tensor], theirs: dict[str, Tensor], taken: dict[str, str]) -> dict[str, str]:
    """Names of the reference's and the kernel's tensors that are left and alone on either side in their shape."""
    left_ours = {
        name: shape_of(tensor) for name, tensor in ours.items() if name not in taken.values() and _is_inexact(tensor)
    }
    left_theirs = {name: shape_of(tensor) for name, tensor in theirs.items() if name not in taken}
    count_ours, count_theirs = Counter(left_ours.values()), Counter(left_theirs.values())
    by_shape = {shape: name for name, shape in left_ours.items() if count_ours[shape] == 1}
    return {
        name: by_shape[shape] for name, shape in left_theirs.items() if count_theirs[shape] == 1 and shape in by_shape
    }


def _equal(ours: Tensor, theirs: Tensor) -> bool:
    """Equal values, in the kernel's type; false where that cannot be asked (sparse, quantized)."""
    if not is_ordinary(ours) or not is_ordinary(theirs):
        return False
    wanted = theirs.detach().to(device=ours.device, dtype=ours.dtype)
    return bool(torch.allclose(ours.detach(), wanted, rtol=0.0, atol=0.0, equal_nan=True))


def _no_counterpart(missing: list[str], theirs: dict[str, Tensor], ours: dict[str, Tensor]) -> Reason:
    listed = ", ".join(f"{name} {shape_of(theirs[name])}" for name in missing[:4])
    kept = ", ".join(f"{name} {shape_of(tensor)}" for name, tensor in list(ours.items())[:4]) or "nothing"
    more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
    return Reason(
        code="weights_not_comparable",
        message=f"the reference's {listed}{more} has no counterpart of that name or shape; the kernel keeps {kept}",
        hint="Give the kernel's parameters the names and shapes of the reference's.",
    )


def _warnings(by_shape: dict[str, str], unmatched: list[str]) -> tuple[Reason, ...]:
    warnings = []
    if by_shape:
        listed = ", ".join(f"{name} to {mine}" for name, mine in sorted(by_shape.items()))
        message = f"copied by shape alone: {listed}"
        hint = "Use the reference's names, so that nothing has to be guessed."
        warnings.append(Reason(code="weights_copied_by_shape", message=message, hint=hint))
    if unmatched:
        message = f"the kernel keeps weights that the reference does not have: {', '.join(unmatched[:4])}"
        warnings.append(Reason(code="kernel_weights_unmatched", message=message))
    return tuple(warnings)


class BufferSnapshot:
    """A model's buffers as they were, to be put back before each call: a call must not depend on the one before."""

    def __init__(self, model: Any) -> None:
        target = uncompiled(model)
        modules = target.modules() if isinstance(target, torch.nn.Module) else ()
        # Buffers that are None (caches yet to be filled) are in no public listing.
        self._saved = [
            (module, name, buffer, None if buffer is None else clone_tensor(buffer))
            for module in modules
            for name, buffer in module._buffers.items()
        ]

    def restore(self) -> None:
        """Put back the tensors and their values."""
        for module, name, buffer, values in self._saved:
            if module._buffers.get(name) is not buffer:
                module._buffers[name] = buffer
            if buffer is None or values is None:
                continue
            if shape_of(buffer) != shape_of(values):
                buffer.resize_(values.shape)
            if not is_ordinary(buffer) or not torch.equal(buffer, values):
                buffer.copy_(values)
