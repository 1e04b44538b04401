"""The plain values that the reference's file defines: constants of its module and of its classes.

Whatever changes them slows the reference or makes its task another one. What the reference's own code may write is
compared only around the import of the kernel's file, when the reference does not run; all else after calls too.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from typing import Any, Final

import torch

_SCALARS: Final = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)
_MOST_ITEMS: Final = 10_000
"""In one container; larger ones are data."""
_INDIRECT: Final = frozenset(
    {"globals", "vars", "locals", "setattr", "delattr", "exec", "eval", "__dict__", "modules", "import_module"}
)
"""Code that has one of these names may write to any constant."""
_CONSTRUCTION: Final = frozenset({"__init__", "reset_parameters", "init_weights", "_init_weights"})
_WRITES: Final = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR"})


class Constants:
    """The constants of the reference's module as they were.

    Args:
        module: its file, imported.
    """

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module
        self._held = dict(_constants(module))
        code = _code_of(module)
        # Without its code nobody knows what the reference writes.
        self._written = None if code is None else _written_by(code)

    def changed_at_import(self) -> list[str]:
        """Those that are not what they were: right after an import, before the reference runs again."""
        now = dict(_constants(self._module))
        return [name for name, value in self._held.items() if now.get(name) != value]

    def changed(self) -> list[str]:
        """Those that are not what they were and that no code of the reference writes to."""
        if self._written is None or self._written & _INDIRECT:
            return []
        return [
            name
            for name in self.changed_at_import()
            if name.rpartition(".")[2] not in self._written and self._held[name][1]
        ]


def _constants(module: types.ModuleType) -> Iterator[tuple[str, tuple[str, bool]]]:
    """By name: the value as text, so that later writes into a container show, and whether it is immutable."""
    for key, value in _plain(module):
        yield f"reference.{key}", value
    for owner, kind in list(vars(module).items()):
        if isinstance(kind, type) and kind.__module__ == module.__name__:
            yield from ((f"reference.{owner}.{key}", value) for key, value in _plain(kind))


def _plain(owner: Any) -> Iterator[tuple[str, tuple[str, bool]]]:
    for key, value in list(vars(owner).items()):
        if not key.startswith("__") and _is_plain(value):
            yield key, (_text(value), _is_immutable(value))


def _is_plain(value: Any, depth: int = 4) -> bool:
    """Numbers, names and the like, and containers of nothing else."""
    if type(value) in _SCALARS:
        return True
    if depth == 0 or type(value) not in (tuple, list, dict, set, frozenset) or len(value) > _MOST_ITEMS:
        return False
    items = (*value, *value.values()) if type(value) is dict else value
    return all(_is_plain(item, depth - 1) for item in items)


def _is_immutable(value: Any) -> bool:
    if type(value) in (tuple, frozenset):
        return all(map(_is_immutable, value))
    return type(value) in _SCALARS


def _text(value: Any) -> str:
    """Equal for equal values of equal types, NaN included."""
    if type(value) in (set, frozenset):
        return f"{type(value).__name__} {sorted(map(_text, value))}"
    if type(value) in (tuple, list):
        return f"{type(value).__name__} {[_text(item) for item in value]}"
    if type(value) is dict:
        return f"dict {[(_text(key), _text(item)) for key, item in value.items()]}"
    return f"{type(value).__name__} {value!r}"


def _code_of(module: types.ModuleType) -> types.CodeType | None:
    loader: Any = getattr(getattr(module, "__spec__", None), "loader", None)
    try:
        code = loader.get_code(module.__name__)
    except (AttributeError, ImportError, OSError, SyntaxError):
        return None
    return code if isinstance(code, types.CodeType) else None


def _written_by(code: types.CodeType) -> frozenset[str]:
    """Globals and attributes that functions in ``code`` write to, and the names by which they might write to any."""
    names: set[str] = set()
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names |= {str(one.argval) for one in dis.get_instructions(inner) if one.opname in _WRITES}
            names |= _INDIRECT & {*inner.co_names}
            names |= _written_by(inner)
    return frozenset(names)


def may_write_in_place(module: types.ModuleType) -> bool:
    """Functions of the module, those that construct aside, call operators in place or write to the data of a tensor."""
    code = _code_of(module)
    return code is None or bool(_written_by(code) & {"data", *_INDIRECT}) or any(map(_ends_in_place, _called_by(code)))


def _called_by(code: types.CodeType) -> Iterator[str]:
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType) and inner.co_name not in _CONSTRUCTION:
            yield from inner.co_names
            yield from _called_by(inner)


def _ends_in_place(name: str) -> bool:
    """As torch names operators that write to their first argument."""
    return name.endswith("_") and not name.startswith("_")
