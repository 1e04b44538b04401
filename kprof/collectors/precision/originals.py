"""Torch as it was before user code ran: a file that replaces ``torch.Tensor.abs`` must not judge its own result.

What remains in user code's reach: kprof's own functions, the dispatcher's kernels (``torch.library``) and the modes of
the process. A worker runs in the same process as the code that it measures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

_ABSENT: Final = object()
_ORIGINALS: Final[tuple[tuple[Any, dict[str, Any]], ...]] = (
    (Tensor, dict(vars(Tensor))),
    (torch, {name: value for name, value in vars(torch).items() if callable(value)}),
)
"""Taken at import, which is before any user code."""
_TORCH: Final = Path(torch.__file__).parent


@contextmanager
def original_torch(on_replaced: Callable[[str], None] | None = None) -> Iterator[None]:
    """While the context lasts, the methods of ``torch.Tensor`` and the functions of ``torch`` are torch's own.

    Args:
        on_replaced: told the name of each that user code had replaced.
    """
    found = [(owner, original, _replaced(owner, original)) for owner, original in _ORIGINALS]
    for owner, original, theirs in found:
        for name in theirs:
            _put(owner, name, original.get(name, _ABSENT))
            if on_replaced is not None and not by_torch_itself(original.get(name), theirs[name]):
                on_replaced(_told(owner, name))
    try:
        yield
    finally:
        for owner, _, theirs in found:
            for name, value in theirs.items():
                _put(owner, name, value)


def replaced_functions() -> list[tuple[str, Any, Any]]:
    """The methods of ``torch.Tensor`` and functions of ``torch`` in whose place user code's stand now.

    Returns:
        Name, original and what stands there now; of what was not there, or is gone, an object of no meaning.
    """
    return [
        (_told(owner, name), original.get(name, _ABSENT), found)
        for owner, original in _ORIGINALS
        for name, found in _replaced(owner, original).items()
        if not by_torch_itself(original.get(name), found)
    ]


def by_torch_itself(was: Any, found: Any) -> bool:
    """A function of torch's wrapped by torch's own code under its own name, as loading torch's compiler does."""
    code = getattr(found, "__code__", None)
    if code is None or str(getattr(was, "__module__", "")).split(".")[0] != "torch":
        return False
    names = {getattr(one, "__name__", None) for one in (was, found)}
    where = Path(code.co_filename)
    # Torch's compiler tags new modules by a function of a name of its own.
    return (len(names) == 1 and where.is_relative_to(_TORCH)) or where.is_relative_to(_TORCH / "_dynamo")


def _told(owner: Any, name: str) -> str:
    return f"torch.Tensor.{name}" if owner is Tensor else f"torch.{name}"


def _replaced(owner: Any, original: dict[str, Any]) -> dict[str, Any]:
    """What stands in an original's place, and what hides a method that ``torch.Tensor`` inherits."""
    now = vars(owner)
    changed = {name: now.get(name, _ABSENT) for name, value in original.items() if now.get(name, _ABSENT) is not value}
    if owner is Tensor and len(now) + len(changed) > len(original):
        inherited = {name: value for name, value in now.items() if name not in original}
        changed.update({name: value for name, value in inherited.items() if hasattr(torch._C.TensorBase, name)})
    return changed


def _put(owner: Any, name: str, value: Any) -> None:
    if value is not _ABSENT:
        setattr(owner, name, value)
    elif name in vars(owner):
        delattr(owner, name)
