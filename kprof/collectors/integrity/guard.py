"""What a kernel's file may not touch: clocks, torch, Python's own, kprof, the reference. Taken before it is loaded.

Held against what stands there later, by identity. The code of kprof's and of the reference's functions is held too: it
can be exchanged inside a function that stays the same. The reference's constants and parameters are compared by value.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import importlib
import json
import math
import os
import random
import secrets
import statistics
import sys
import threading
import time
import types
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np
import torch
import torch.autograd.profiler
import torch.profiler
import torch.testing
import torch.utils.deterministic
from torch.nn.modules.lazy import LazyModuleMixin
from torch.overrides import _len_torch_function_stack  # type: ignore[attr-defined]

from kprof.collectors.integrity.constants import Constants
from kprof.collectors.integrity.parameters import Parameters
from kprof.collectors.precision.originals import by_torch_itself, replaced_functions
from kprof.collectors.settings import Settings
from kprof.integrity_evidence import Patch, When

_MODULES: Final[tuple[Any, ...]] = (
    time, json, json.decoder, json.encoder, sys, os, math, statistics, gc, threading, importlib, types,
    random, secrets, np.random,
    msgspec, msgspec.json, msgspec.structs,
    torch.cuda, torch.cuda.streams, torch.cuda.graphs, torch.cuda.nvtx, torch.nn.functional, torch.testing,
    torch.autograd.profiler, torch.profiler, torch.overrides, torch.utils.deterministic,
)  # fmt: skip
_CLASSES: Final[tuple[Any, ...]] = (
    torch.nn.Module, torch.cuda.Event, torch.cuda.Stream, torch.cuda.CUDAGraph, torch.autograd.profiler.profile,
    json.JSONEncoder, json.JSONDecoder, random.Random, random.SystemRandom,
)  # fmt: skip
_ABSENT: Final = object()
_NAMES: Final = vars(builtins)
_BUILTINS: Final = {name: value for name, value in _NAMES.items() if callable(value)}
"""Taken at import, which is before any user code."""
_OF_TORCHS_TRANSFORMS: Final = ("FuncTorch", "Batched", "Meta", "Functionalize", "Python")
"""Dispatch keys that torch registers operators of its own for when vmap and its like are first used."""
_MOST: Final = 50
# Python's own hooks stand in sys by these names only while nobody is interactive.
_OTHERS: Final = frozenset(
    {"sys.last_type", "sys.last_value", "sys.last_traceback", "sys.last_exc", "sys.ps1", "sys.ps2"}
)
_QUICK: Final[tuple[tuple[Any, str], ...]] = tuple(
    (owner, name)
    for owner, names in (
        (time, ("perf_counter", "perf_counter_ns", "time", "time_ns", "monotonic", "sleep")),
        (torch.cuda, ("synchronize", "Event", "current_stream")),
        (torch.cuda.Event, ("record", "elapsed_time", "synchronize")),
        (torch, ("allclose", "equal", "isclose")),
        (torch.Tensor, ("allclose", "equal", "copy_", "clone")),
        (json, ("dumps", "loads")),
        (os, ("_exit", "write")),
    )
    for name in names
)
"""What is looked at while the kernel runs too: a file may put back what it replaced."""


class Guard:
    """What stood where before the kernel's file was loaded.

    Args:
        watching: False: nothing is held, and nothing is ever found. A process whose checks nobody asks for, such as one
            under ncu, has no work of it.
    """

    def __init__(self, *, watching: bool = True) -> None:
        self._watching = watching
        self._held: dict[str, Any] = {}
        self.settings: Settings | None = None
        """Of torch, as the reference left them; None: nobody keeps them."""
        self._quick: list[tuple[Any, str, Any]] = []
        self._reference: Any = None
        self._constants: Constants | None = None
        self._parameters = Parameters()
        self._by_import: list[str] = []

    def take(self, module: types.ModuleType | None, model: Any) -> None:
        """Hold what is there now.

        Args:
            module: the reference's file; None: there is none.
            model: what it made.
        """
        if not self._watching:
            return
        self._reference = (module, model)
        self._constants = Constants(module) if module is not None else None
        self._parameters = Parameters(module, model)
        self._replaced = {name for name, _, _ in replaced_functions()}
        self._quick = [(owner, name, getattr(owner, name)) for owner, name in _QUICK]
        self._held = dict(self._watched())

    def imported(self) -> None:
        """The kernel's file has been imported, and the reference has not run since: whose constants are others now?"""
        with self._originals():
            self._by_import = self._constants.changed_at_import() if self._constants is not None else []
            self._by_import += self._parameters.changed_at_import()

    def reference_running(self) -> contextlib.AbstractContextManager[None]:
        """The reference alone runs meanwhile: parameters that it writes to are its own to change."""
        return self._parameters.running()

    def patches(self, when: When) -> tuple[Patch, ...]:
        """What is no longer what it was, by name."""
        if not self._held:
            return ()
        with self._originals() as theirs:
            found = [f"builtins.{name}" for name in theirs]
            return tuple(Patch(name=name, when=when) for name in sorted({*found, *self._changed()} - _OTHERS)[:_MOST])

    @contextlib.contextmanager
    def _originals(self) -> Iterator[dict[str, Any]]:
        """Looking takes Python's own functions, which may be replaced themselves: they are put in place meanwhile.

        Yields:
            What stood in their place, by name.
        """
        # No function is called before they are in place.
        theirs = {}
        for name in _BUILTINS:
            if _NAMES.get(name) is not _BUILTINS[name]:
                theirs[name] = _NAMES.get(name, _ABSENT)
                _NAMES[name] = _BUILTINS[name]
        try:
            yield theirs
        finally:
            for name, value in theirs.items():
                if value is _ABSENT:
                    del _NAMES[name]
                else:
                    _NAMES[name] = value

    def _changed(self) -> list[str]:
        now = dict(self._watched())
        changed = [
            name
            for name, value in self._held.items()
            if (found := now.get(name, _ABSENT)) is not value and not by_torch_itself(value, found)
        ]
        changed += [name for name, _, _ in replaced_functions() if name not in self._replaced]
        added = (name for name in now if name not in self._held and name.startswith(_COUNTED))
        changed += [name for name in added if not _of_compiler(name)]
        changed += self._constants.changed() if self._constants is not None else []
        return changed + self._by_import + self._parameters.changed()

    def replaced_now(self) -> list[str]:
        """Those of the few most wanted that are replaced at this moment: cheap enough for inside a call."""
        return [f"{_name(owner)}.{name}" for owner, name, was in self._quick if getattr(owner, name, None) is not was]

    def _watched(self) -> Iterator[tuple[str, Any]]:
        for module in _MODULES:
            for name, value in vars(module).items():
                if callable(value):
                    yield f"{module.__name__}.{name}", value
        for owner in _CLASSES:
            for name, value in vars(owner).items():
                if callable(value) or isinstance(value, property):
                    yield f"{_name(owner)}.{name}", value
        for name, module in list(sys.modules.items()):
            if name == "kprof" or name.startswith("kprof."):
                yield from _whole(name, module)
        yield from _of_reference(*self._reference)
        yield from _modes()


_COUNTED: Final = ("reference.", "torch.library aten", "torch mode ", "sys hook ", "random.Random.")
"""Things that nobody held, and that are there now: additions that count."""


def _of_compiler(added: str) -> bool:
    """What torch's compiler puts beside the functions that it compiles: ``reference.__compiled_fn_1_...``.

    Code of the reference that does not name such a thing is not changed by it.
    """
    owner, _, name = added.partition(".")
    name = name.partition(".")[0]
    return owner == "reference" and name.startswith("__") and not name.endswith("__")


def _name(owner: Any) -> str:
    return f"{owner.__module__}.{owner.__qualname__}" if isinstance(owner, type) else str(owner.__name__)


def _whole(name: str, module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """All that a module of kprof's holds, and the code of its functions and of its classes' methods."""
    for key, value in list(vars(module).items()):
        if key.startswith("__"):
            continue
        yield f"{name}.{key}", value
        if getattr(value, "__module__", None) != name:
            continue
        if isinstance(value, types.FunctionType):
            yield f"{name}.{key}.__code__", value.__code__
            yield f"{name}.{key}.__defaults__", value.__defaults__
        elif isinstance(value, type):
            yield from _of_class(f"{name}.{key}", value)


def _of_class(name: str, kind: type) -> Iterator[tuple[str, Any]]:
    for key, value in list(vars(kind).items()):
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if isinstance(function, types.FunctionType):
            yield f"{name}.{key}", value
            yield f"{name}.{key}.__code__", function.__code__


def _of_reference(module: types.ModuleType | None, model: Any) -> Iterator[tuple[str, Any]]:
    """The functions and classes of the reference's file, and the hooks and methods that its model has of its own."""
    if module is None:
        return
    for key, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType):
            yield f"reference.{key}", value
            yield f"reference.{key}.__code__", value.__code__
        elif isinstance(value, (types.ModuleType, types.BuiltinFunctionType)):
            yield f"reference.{key}", value
        elif isinstance(value, type):
            yield f"reference.{key}", value
            if value.__module__ == module.__name__:
                yield from _of_class(f"reference.{key}", value)
    # What waits for its first call to have parameters loses its hooks in it, and becomes a module of another class.
    for inner in model.modules() if isinstance(model, torch.nn.Module) else ():
        if isinstance(inner, LazyModuleMixin):
            continue
        yield from _of_model(f"reference.{type(inner).__name__} at {id(inner):x}", inner)


def _of_model(where: str, model: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    """The methods that a model has of its own, and its hooks."""
    for key, value in vars(model).items():
        if callable(value):
            yield f"{where}.{key}", value
        elif key.endswith("_hooks") and isinstance(value, dict):
            yield from ((f"{where}.{key}[{number}]", hook) for number, hook in value.items())


def _modes() -> Iterator[tuple[str, Any]]:
    """Modes that see every operator, operators replaced in torch's dispatcher, hooks of the interpreter."""
    yield from ((f"torch mode {depth} for functions", True) for depth in range(_len_torch_function_stack()))
    dispatch = torch._C._len_torch_dispatch_stack()
    yield from ((f"torch mode {depth} for operators", True) for depth in range(dispatch))
    for entry in getattr(torch.library, "_impls", ()):
        name, _, key = str(entry).rpartition("/")
        if name.startswith("aten/") and not key.startswith(_OF_TORCHS_TRANSFORMS):
            yield f"torch.library {entry}", True
    hooks = {"profile": sys.getprofile(), "trace": sys.gettrace(), "gc callbacks": len(gc.callbacks) or None}
    yield from ((f"sys hook {name}", True) for name, hook in hooks.items() if hook is not None)
