"""Loads a kernel file and its reference as they are on disk, and makes their inputs and models.

The files follow the KernelBench convention: the reference defines ``Model``, ``get_inputs()`` and
``get_init_inputs()``, the kernel ``ModelNew`` (or another entry). Each file is imported from its real path under a
module name of its own, so that Triton and ``inspect.getsource`` find the source and equal names in the two files do not
collide.
"""

from __future__ import annotations

import hashlib
import importlib.util
import random
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch

from kprof.errors import first_line
from kprof.evidence import Reason, Side
from kprof.harness_names import provide_harness_names
from kprof.trees import bytes_of, clone_tree, map_tensors, tensor_leaves

Kind = Literal["cuda", "cpp", "triton", "pytorch"]
Override = int | float | bool | str
_KEPT_BYTES = 2_000_000_000


class WorkloadError(Exception):
    """A file of the user's cannot be used.

    Args:
        side: whose file.
        code: stable reason code.
        message: what was found and expected.
        hint: what to do.
        detail: a log, where there is more to say than the traceback does.
    """

    def __init__(self, side: Side, code: str, message: str, hint: str, detail: str = "") -> None:
        super().__init__(message)
        self.side: Side = side
        self.code, self.message, self.hint, self.detail = code, message, hint, detail


@dataclass
class LoadedWorkload:
    """Both sides ready to be called: models constructed, in eval mode, on the device."""

    device: torch.device
    kernel: Callable[..., Any]
    ref: Callable[..., Any] | None
    make_inputs: Callable[[], Any]
    inputs_side: Side
    """Whose file makes the inputs."""
    kind: Kind = "pytorch"
    warnings: tuple[Reason, ...] = ()
    widened: dict[str, float] = field(default_factory=dict)
    """Least absolute tolerance by output, as precision found it: there the reference itself is off by half of that."""
    ref_compiled: bool = False
    """``ref`` is torch.compile's; precision is judged before that, against the eager one."""

    _kept: tuple[int, list[Any]] | None = None
    """The first inputs made, untouched: several stages use the same ones, and large ones take seconds to make."""

    def compile_ref(self) -> None:
        """Run the reference through torch.compile from now on."""
        if self.ref is not None:
            compiled: Any = torch.compile(self.ref)
            self.ref, self.ref_compiled = compiled, True

    def inputs(self, seed: int) -> list[Any]:
        """Fresh inputs for ``seed``: Python's, numpy's and torch's generators seeded, tensors on the device.

        Raises:
            WorkloadError: get_inputs raised or gave something that is no sequence of arguments.
        """
        if self._kept is not None and self._kept[0] == seed:
            kept: list[Any] = clone_tree(self._kept[1])
            return kept
        seed_everything(seed)
        try:
            made = self.make_inputs()
        except Exception as error:  # User code may raise anything; it is reported as theirs.
            raise WorkloadError(
                self.inputs_side,
                "get_inputs_failed",
                f"get_inputs() raised {type(error).__name__}: {first_line(error)}",
                "Run get_inputs() by itself; sizes can be changed with --set.",
            ) from error
        if isinstance(made, torch.Tensor) or not isinstance(made, (list, tuple)):
            raise WorkloadError(
                self.inputs_side,
                "get_inputs_failed",
                f"get_inputs() gave a {type(made).__name__}; a list or tuple of arguments was expected",
                "Return a list: return [x].",
            )
        inputs = [map_tensors(value, lambda tensor: tensor.to(self.device)) for value in made]
        if self._kept is None and sum(bytes_of(tensor) for _, tensor in tensor_leaves(inputs)) <= _KEPT_BYTES:
            self._kept = (seed, clone_tree(inputs))
        return inputs


def seed_everything(seed: int) -> None:
    """Seed Python's, numpy's (where it is loaded) and torch's generators."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def load_module(path: Path, side: Side) -> types.ModuleType:
    """Import ``path`` under a name that no other file shares.

    Raises:
        WorkloadError: a syntax error, or the file raised while it was imported.
    """
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]
    name = f"kprof_{side}_{path.stem.replace('.', '_')}_{digest}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise WorkloadError(
            side, "not_python", f"{path} is not a Python file", "Give the .py file that defines the model."
        )
    module = importlib.util.module_from_spec(spec)
    provide_harness_names(module)
    sys.modules[name] = module
    with _blamed_on(side, "import_failed", f"importing {path.name}", path.name):
        spec.loader.exec_module(module)
    return module


@contextmanager
def _blamed_on(side: Side, code: str, doing: str, file: str = "?") -> Iterator[None]:
    """Turn whatever user code raises into a `WorkloadError` of ``side``; ``file`` is for errors that name none."""
    try:
        yield
    except WorkloadError:
        raise
    except SyntaxError as error:
        where = Path(error.filename).name if error.filename else file
        hint = "Mend the file."
        if error.lineno is not None:
            where, hint = f"{where}:{error.lineno}", "Mend the line named."
        raise WorkloadError(side, "syntax_error", f"{where}: {error.msg}", hint) from error
    except (Exception, SystemExit) as error:  # User code may raise anything; it is reported as theirs.
        raise WorkloadError(
            side,
            code,
            f"{doing} raised {type(error).__name__}: {first_line(error)}",
            "Its traceback is in faults[].detail of the report.",
        ) from error


def override_constants(module: types.ModuleType, overrides: dict[str, Override], side: Side) -> None:
    """Set module-level constants of the file that makes the inputs.

    Raises:
        WorkloadError: a name that the module does not define as a plain constant; the message lists those it does.
    """
    known = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, (bool, int, float, str)) and not name.startswith("__")
    }
    for name, value in overrides.items():
        if name not in known:
            listed = ", ".join(f"{key}={known[key]!r}" for key in sorted(known)) or "none"
            raise WorkloadError(
                side,
                "unknown_override",
                f"--set {name}: no such constant; the file defines {listed}",
                "Name one of those.",
            )
        was = known[name]
        fits = type(value) is type(was) or (isinstance(was, float) and type(value) is int)
        if not fits:
            raise WorkloadError(
                side,
                "override_type",
                f"--set {name}={value!r}: {_a(value)}, but the file has {name} = {was!r}",
                f"Give {_a(was)}.",
            )
        setattr(module, name, float(value) if isinstance(was, float) else value)


def _a(value: Override) -> str:
    name = type(value).__name__
    return f"an {name}" if name == "int" else f"a {name}"


def construct(module: types.ModuleType, name: str, side: Side, init: Any, seed: int, device: torch.device) -> Any:
    """Make one side's model: seeded, in eval mode, on the device.

    A plain function under that name is taken as it is.

    Raises:
        WorkloadError: the name is missing or stands for nothing that can be called, or its constructor raised.
    """
    entry = getattr(module, name, None)
    if entry is None:
        raise WorkloadError(side, "entry_missing", _missing_message(module, name), _missing_hint(side))
    if not callable(entry):
        file = Path(module.__file__ or "?").name
        message = f"{name} in {file} is of type {type(entry).__name__}, which cannot be called"
        hint = f"Make {name} a class or a function" + ("; or name another with --entry." if side == "kernel" else ".")
        raise WorkloadError(side, "entry_not_callable", message, hint)
    if not isinstance(entry, type):
        return entry
    args, kwargs = _init_arguments(init)
    seed_everything(seed)
    with _blamed_on(side, "constructor_failed", f"{name}()"):
        model = entry(*args, **kwargs)
        if isinstance(model, torch.nn.Module):
            model = model.eval().to(device)
    return model


def _missing_message(module: types.ModuleType, name: str) -> str:
    defined = sorted(
        key for key, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__
    )
    return f"{Path(module.__file__ or '?').name} defines no {name}; it defines {', '.join(defined) or 'nothing'}"


def _missing_hint(side: Side) -> str:
    return "Name the class with --entry NAME." if side == "kernel" else "A reference defines Model and get_inputs()."


def _init_arguments(init: Any) -> tuple[list[Any], dict[str, Any]]:
    """Constructor arguments from get_init_inputs(): a list, a dict of keywords, or ``[list, dict]``."""
    if isinstance(init, dict):
        return [], init
    values = list(init)
    if len(values) == 2 and isinstance(values[0], (list, tuple)) and isinstance(values[1], dict):
        return list(values[0]), values[1]
    return values, {}


def initial_inputs(module: types.ModuleType, side: Side, seed: int) -> Any:
    """What get_init_inputs() gives; an empty list where the file has none."""
    make = getattr(module, "get_init_inputs", None)
    if make is None:
        return []
    seed_everything(seed)
    with _blamed_on(side, "get_init_inputs_failed", "get_init_inputs()"):
        return make()


def inputs_maker(module: types.ModuleType, side: Side) -> Callable[[], Any]:
    """The file's ``get_inputs``.

    Raises:
        WorkloadError: there is none.
    """
    make = getattr(module, "get_inputs", None)
    if not callable(make):
        message = _missing_message(module, "get_inputs()")
        hint = "Define get_inputs() in it."
        if side == "kernel":
            hint = "Give the reference with --ref, or define get_inputs() in the kernel file."
        raise WorkloadError(side, "get_inputs_missing", message, hint)
    return make  # type: ignore[no-any-return]
