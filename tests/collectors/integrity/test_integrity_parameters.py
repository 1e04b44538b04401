"""The reference's parameters: whoever writes to them is seen, unless it is the reference itself."""

from __future__ import annotations

import importlib.util
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from kprof.collectors.integrity.guard import Guard

_PLAIN = "return self.linear(x)"


def reference(folder: Path, forward: str = _PLAIN) -> tuple[types.ModuleType, Any]:
    """The reference's file and its model."""
    path = folder / "ref_of_a_test.py"
    path.write_text(f"""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        nn.init.ones_(self.linear.bias)
        self.optimizer = torch.optim.SGD([self.linear.weight], lr=0.1)

    def forward(self, x):
        {forward}
""")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, module.Model()


def taken(module: types.ModuleType, model: nn.Module) -> Guard:
    guard = Guard()
    guard.take(module, model)
    return guard


def names(guard: Guard) -> list[str]:
    return [patch.name for patch in guard.patches("call")]


def test_parameters_that_were_written_to_in_a_call_are_seen(tmp_path: Path) -> None:
    module, model = reference(tmp_path)
    guard = taken(module, model)
    with guard.reference_running():
        model(torch.ones(4))
    assert names(guard) == []
    model.linear.weight.data.zero_()
    assert names(guard) == ["reference.linear.weight"]


def test_parameters_written_to_by_the_import_are_seen_at_once(tmp_path: Path) -> None:
    module, model = reference(tmp_path)
    guard = taken(module, model)
    model.linear.bias.data.add_(1)
    guard.imported()
    assert names(guard) == ["reference.linear.bias"]


@pytest.mark.parametrize(
    "forward",
    [
        "self.linear.weight.data = nn.functional.normalize(self.linear.weight.data); " + _PLAIN,
        "self.linear.weight.detach().clamp_(-0.1, 0.1); " + _PLAIN,
        "self.linear.weight.grad = self.linear.weight.detach(); self.optimizer.step(); " + _PLAIN,
    ],
)
def test_parameters_that_the_reference_writes_are_its_own(tmp_path: Path, forward: str) -> None:
    module, model = reference(tmp_path, forward)
    guard = taken(module, model)
    before = model.linear.weight.detach().clone()
    model(torch.ones(4))
    assert not torch.equal(model.linear.weight, before)
    assert names(guard) == []  # Nobody has seen yet who writes.
    with guard.reference_running():
        model(torch.ones(4))
    assert names(guard) == []


def test_parameters_of_every_kind_are_held(tmp_path: Path) -> None:
    module, _ = reference(tmp_path)
    model = nn.Module()
    for index, dtype in enumerate((torch.float16, torch.float64, torch.complex64, torch.complex128, torch.bool)):
        ones = torch.ones(2, 3, dtype=dtype)
        model.register_parameter(f"p{index}", nn.Parameter(ones.t(), requires_grad=False))
    model.register_parameter("none", nn.Parameter(torch.empty(0)))
    model.lazy = nn.LazyLinear(3)
    guard = taken(module, model)
    assert names(guard) == []
    with guard.reference_running():
        model.lazy(torch.ones(2))
    assert names(guard) == []  # What a lazy module does to itself in its first call is its own.
    for index in range(5):
        model.get_parameter(f"p{index}").data.zero_()
    assert names(guard) == [f"reference.p{index}" for index in range(5)]
