"""What can be seen of a workload without running it: its inputs, and what its files are written in."""

from __future__ import annotations

import ast
import types
from pathlib import Path
from typing import Any

import torch

from kprof.evidence import TensorInfo
from kprof.trees import is_ordinary, shape_of, tensor_leaves
from kprof.workload import Kind


def describe_inputs(inputs: list[Any]) -> tuple[TensorInfo, ...]:
    """Shape, dtype and constancy of each tensor among the inputs."""
    return tuple(
        TensorInfo(
            path=path,
            shape=shape_of(tensor),
            dtype=str(tensor.dtype).removeprefix("torch."),
            constant=_is_constant(tensor),
        )
        for path, tensor in tensor_leaves(inputs)
    )


def _is_constant(tensor: torch.Tensor) -> bool:
    """All elements of a floating tensor of two or more are equal; false where they cannot be told one by one."""
    if not is_ordinary(tensor) or not tensor.is_floating_point() or tensor.numel() < 2:
        return False
    first = tensor.reshape(-1)[0] if tensor.is_contiguous() else tensor[(0,) * tensor.dim()]
    return bool((tensor == first).all())


def source_kind(module: types.ModuleType, extensions: tuple[tuple[str, bool], ...]) -> Kind:
    """What a loaded file is written in.

    Args:
        module: the loaded file.
        extensions: name of each extension it built while loading, and whether that holds CUDA sources.
    """
    if any(with_cuda for _, with_cuda in extensions):
        return "cuda"
    if extensions:
        return "cpp"
    return "triton" if imports_triton(Path(module.__file__ or "")) else "pytorch"


def imports_triton(path: Path) -> bool:
    """The file imports triton somewhere (syntax tree, so that comments and strings do not count)."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):  # The last two: nested too deep.
        return False
    names = (
        alias.name if isinstance(node, ast.Import) else (node.module or "")
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    )
    return any(name.split(".")[0] == "triton" for name in names)
