"""What a kernel's source shows that is worth a look: from its syntax tree, so that comments and texts say nothing.

Notes are advice. Whether the kernel did its work is shown by what it does when it runs; a source can hide anything.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kprof.integrity_evidence import StaticNote

_MOST: Final = 20
_BUILDERS: Final = frozenset({"load_inline", "load", "CUDAExtension", "CppExtension"})
_FOREIGN: Final = frozenset({"time", "torch", "json", "sys", "os", "builtins", "math", "statistics", "kprof", "gc"})
"""Modules whose parts a kernel has no business to replace."""
_ENDINGS: Final = frozenset({"os._exit", "os.abort", "os.kill", "os.killpg", "sys.exit"})
_FORKS: Final = frozenset({"os.fork", "os.forkpty", "pty.fork"})
_PRYING: Final = frozenset(
    {
        "sys._getframe",
        "inspect.stack",
        "inspect.currentframe",
        "gc.get_objects",
        "gc.get_referrers",
        "sys._current_frames",
    }
)
_NOT_REPLACING: Final = (
    "torch.backends.",
    "torch._dynamo.config.",
    "torch._inductor.config.",
    "os.environ",
    "sys.path",
)
"""Settings, which are there to be set."""


def static_notes(kernel_file: Path, ref_file: Path | None, entry: str) -> tuple[StaticNote, ...]:
    """The notes of a kernel's file, by line; none where it cannot be read or parsed.

    Args:
        kernel_file: the source.
        ref_file: the reference's, whose name an import may give away.
        entry: the class or function that is measured.
    """
    try:
        tree = ast.parse(kernel_file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):  # The last two: nested too deep.
        return ()
    try:
        found = list(_Reader(tree, ref_file.stem if ref_file is not None else None, entry).notes())
    except RecursionError:
        return ()
    return tuple(sorted(set(found), key=lambda note: (note.line, note.code)))[:_MOST]


def _note(code: str, node: ast.AST, message: str) -> StaticNote:
    return StaticNote(code=code, line=getattr(node, "lineno", 0), message=message)


@dataclass
class _Reader:
    tree: ast.Module
    ref_name: str | None
    entry: str

    def __post_init__(self) -> None:
        self._modules = dict(_imported_modules(self.tree))

    def notes(self) -> Iterator[StaticNote]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ClassDef):
                yield from self._of_class(node)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield from self._of_function(node)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                yield from self._of_import(node)
            elif isinstance(node, ast.Call):
                yield from self._of_call(node)
            elif isinstance(node, (ast.Assign, ast.AugAssign, ast.Delete)):
                yield from self._of_assignment(node)

    def _of_class(self, node: ast.ClassDef) -> Iterator[StaticNote]:
        bases = [self._name(base) for base in node.bases]
        defined = {item.name for item in node.body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))}
        if node.name == self.entry and "forward" not in defined and "Model" in {base.split(".")[-1] for base in bases}:
            yield _note("inherits_forward", node, f"{node.name} has no forward of its own: it is the reference's class")
        if {"torch.Tensor", "torch._C.TensorBase"} & set(bases):
            yield _note(
                "tensor_subclass", node, f"{node.name} is a kind of tensor: it can compute when it is looked at"
            )

    def _of_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[StaticNote]:
        if node.name == "__init__":
            return
        for inner in _own_nodes(node):
            if not isinstance(inner, ast.Try) or any(self._builds(part) for part in inner.body):
                continue
            for handler in inner.handlers:
                fallback = None if _raises(handler) else self._library_call(handler)
                if fallback is not None:
                    message = f"where it fails, {node.name} goes on with {fallback}: no failure of the kernel shows"
                    yield _note("falls_back", handler, message)

    def _of_import(self, node: ast.Import | ast.ImportFrom) -> Iterator[StaticNote]:
        named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        for name in named:
            if name.split(".")[0] == "kprof":
                yield _note("imports_kprof", node, "it imports kprof")
            elif self.ref_name is not None and name.split(".")[-1] == self.ref_name:
                yield _note("imports_reference", node, f"it imports {name}, the reference's file")

    def _of_call(self, node: ast.Call) -> Iterator[StaticNote]:
        name = self._name(node.func)
        if name in _ENDINGS:
            yield _note("ends_process", node, f"it calls {name}")
        elif name in _FORKS:
            yield _note("forks", node, f"it calls {name}")
        elif name in _PRYING:
            yield _note("looks_at_callers", node, f"it calls {name}: it can see who calls it, and find others' results")
        elif name in ("setattr", "delattr") and node.args:
            target = self._name(node.args[0])
            if self._is_foreign(target):
                yield _note("replaces", node, f"it sets an attribute of {target}")

    def _of_assignment(self, node: ast.Assign | ast.AugAssign | ast.Delete) -> Iterator[StaticNote]:
        targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets
        for target in targets:
            parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            for part in parts:
                name = self._name(part) if isinstance(part, ast.Attribute) else ""
                if self._is_foreign(name.rpartition(".")[0]) and not name.startswith(_NOT_REPLACING):
                    yield _note("replaces", node, f"it replaces {name}")

    def _is_foreign(self, name: str) -> bool:
        return name.split(".")[0] in _FOREIGN

    def _builds(self, node: ast.AST) -> bool:
        calls = (inner for inner in ast.walk(node) if isinstance(inner, ast.Call))
        return any(self._name(call.func).split(".")[-1] in _BUILDERS for call in calls)

    def _library_call(self, handler: ast.ExceptHandler) -> str | None:
        """The first call of an operator of torch's, or of a model, in a handler."""
        for node in (inner for statement in handler.body for inner in ast.walk(statement)):
            if not isinstance(node, ast.Call):
                continue
            name = self._name(node.func)
            if name.startswith("torch.") and not name.startswith(("torch.cuda.", "torch.empty", "torch.zeros")):
                return name
            if "super()." in name or name.split(".")[-1] in ("forward", "ref", "reference", "fallback"):
                return name
        return None

    def _name(self, node: ast.AST) -> str:
        """Dotted name, imports resolved: ``F.softmax`` is ``torch.nn.functional.softmax``."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Call):
            parts.append(f"{self._name(node.func)}()")
        elif isinstance(node, ast.Name):
            parts.append(self._modules.get(node.id, node.id))
        return ".".join(reversed(parts))


def _imported_modules(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.split(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """What a function holds, functions inside it left out: they are looked at by themselves."""
    for child in ast.iter_child_nodes(function):
        yield child
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from _own_nodes(child)


def _raises(handler: ast.ExceptHandler) -> bool:
    return any(isinstance(node, ast.Raise) for statement in handler.body for node in ast.walk(statement))
