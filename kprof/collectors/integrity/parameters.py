"""The reference's parameters: a kernel that writes to them gives the reference another task, such as an easy one."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from typing import Any, Final

import torch
from torch import Tensor
from torch.nn.parameter import UninitializedParameter

from kprof.collectors.integrity.constants import may_write_in_place
from kprof.collectors.precision.originals import original_torch
from kprof.trees import is_ordinary, shape_of

_BITS: Final = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_MOST_ELEMENTS: Final = 1 << 24
"""Of one parameter that are looked at; of a larger one every second, third, ..."""

_Digest = tuple[tuple[int, ...], torch.dtype, int]


class Parameters:
    """The parameters of a model as they were, by sums over their bits.

    Args:
        module: the reference's file; None: there is none.
        model: what it made; what is no module of torch's has none.
    """

    def __init__(self, module: types.ModuleType | None = None, model: Any = None) -> None:
        self._model = model
        self._may_write = module is None or may_write_in_place(module)
        self._held = self._now()
        self._written: set[str] = set()
        self._seen_running = False

    def changed_at_import(self) -> list[str]:
        """Those that are not what they were: right after an import, while the reference has not run."""
        now = self._now()
        return [f"reference.{name}" for name, digest in self._held.items() if now.get(name) != digest]

    def changed(self) -> list[str]:
        """Those that are not what they were, of a reference that does not write to them itself; none before it ran."""
        if self._may_write or not self._seen_running:
            return []
        return [name for name in self.changed_at_import() if name.removeprefix("reference.") not in self._written]

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The reference alone runs: what changes meanwhile is its own to change."""
        before = self._now()
        yield
        now = self._now()
        self._written |= {name for name, digest in before.items() if now.get(name) != digest}
        self._seen_running = True

    def _now(self) -> dict[str, _Digest]:
        if not isinstance(self._model, torch.nn.Module):
            return {}
        with original_torch(), torch.no_grad():
            # Those that are made in the first call have no values yet.
            known = ((n, p) for n, p in self._model.named_parameters() if not isinstance(p, UninitializedParameter))
            return {name: _digest(one) for name, one in known if is_ordinary(one) and not one.is_meta}


def _digest(parameter: Tensor) -> _Digest:
    flat = parameter.detach().contiguous().reshape(-1)
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    bits = flat.view(_BITS[flat.element_size()])[:: 1 + flat.numel() // _MOST_ELEMENTS]
    return shape_of(parameter), parameter.dtype, int(bits.sum(dtype=torch.int64))
