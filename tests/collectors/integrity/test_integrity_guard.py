"""What a kernel's file may not touch: each replacement is seen, and nothing that torch does by itself is."""

from __future__ import annotations

import builtins
import json
import random
import secrets
import sys
import time
import types

import pytest
import torch
from torch import nn

from kprof.collectors.integrity.guard import Guard
from kprof.collectors.timing import collect, timers


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


@pytest.fixture
def reference() -> tuple[types.ModuleType, Model]:
    module = types.ModuleType("ref_of_a_test")
    vars(module).update(Model=Model, helper=lambda: 1, torch=torch)
    Model.__module__ = "ref_of_a_test"
    return module, Model()


@pytest.fixture
def guard(reference: tuple[types.ModuleType, Model]) -> Guard:
    taken = Guard()
    taken.take(*reference)
    return taken


def names(guard: Guard) -> list[str]:
    return [patch.name for patch in guard.patches("call")]


def test_what_nobody_touched_is_as_it_was(guard: Guard) -> None:
    assert guard.patches("import") == ()
    assert guard.replaced_now() == []


def test_without_a_taken_state_there_is_nothing_to_say() -> None:
    assert Guard().patches("call") == ()


def test_a_guard_that_does_not_watch_holds_nothing(
    reference: tuple[types.ModuleType, Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = Guard(watching=False)
    idle.take(*reference)
    monkeypatch.setattr(json, "dumps", lambda value: "")
    idle.imported()
    assert idle.patches("import") == ()


@pytest.mark.parametrize(
    ("owner", "name", "told"),
    [
        (time, "perf_counter_ns", "time.perf_counter_ns"),
        (json, "dumps", "json.dumps"),
        (secrets, "randbits", "secrets.randbits"),
        (random.Random, "getrandbits", "random.Random.getrandbits"),
        (builtins, "breakpoint", "builtins.breakpoint"),
        (torch, "allclose", "torch.allclose"),
        (torch.Tensor, "sub", "torch.Tensor.sub"),
        (torch.cuda, "synchronize", "torch.cuda.synchronize"),
        (torch.cuda.Event, "elapsed_time", "torch.cuda.streams.Event.elapsed_time"),
        (torch.nn.functional, "softmax", "torch.nn.functional.softmax"),
        (collect, "host_sample", "kprof.collectors.timing.collect.host_sample"),
        (timers, "WARM_UP_S", "kprof.collectors.timing.timers.WARM_UP_S"),
        (timers.Timers, "call", "kprof.collectors.timing.timers.Timers.call"),
    ],
)
def test_a_replacement_is_seen(
    guard: Guard, monkeypatch: pytest.MonkeyPatch, owner: object, name: str, told: str
) -> None:
    monkeypatch.setattr(owner, name, lambda *_, **__: None)
    assert told in names(guard)
    monkeypatch.undo()
    assert names(guard) == []


def test_code_exchanged_inside_a_function_is_seen(guard: Guard) -> None:
    original = timers.host_resolution_us.__code__
    timers.host_resolution_us.__code__ = (lambda: 1.0).__code__
    try:
        assert names(guard) == ["kprof.collectors.timing.timers.host_resolution_us.__code__"]
    finally:
        timers.host_resolution_us.__code__ = original


def test_what_is_done_to_the_reference_is_seen(guard: Guard, reference: tuple[types.ModuleType, Model]) -> None:
    module, model = reference
    vars(module)["helper"] = lambda: 2
    model.forward = lambda x: x  # type: ignore[method-assign]
    handle = model.register_forward_hook(lambda *_: None)
    found = names(guard)
    assert "reference.helper" in found
    assert any(name.endswith(".forward") for name in found)
    assert any("_forward_hooks" in name for name in found)
    handle.remove()


def test_a_mode_and_a_hook_left_running_are_seen(guard: Guard) -> None:
    class Watch(torch.overrides.TorchFunctionMode):
        pass

    with Watch():
        assert any("torch mode" in name for name in names(guard))
    before = sys.getprofile()
    sys.setprofile(lambda *_: None)
    try:
        found = names(guard)
    finally:
        sys.setprofile(before)
    assert any("sys hook profile" in name for name in found)
    assert names(guard) == []


@pytest.mark.filterwarnings("ignore:Warning only once for all operators")
def test_an_operator_replaced_in_the_dispatcher_is_seen(guard: Guard) -> None:
    library = torch.library.Library("aten", "IMPL")
    library.impl("hardsigmoid", lambda x: x, "CPU")
    try:
        assert any("aten/hardsigmoid" in name for name in names(guard))
    finally:
        library._destroy()


def test_looking_does_not_rest_on_what_was_replaced(guard: Guard) -> None:
    def none(*_: object, **__: object) -> None: ...

    own = vars(builtins)
    kept = {name: own[name] for name in ("sorted", "set", "dict", "getattr", "isinstance", "callable")}
    try:
        for name in kept:
            own[name] = none
        found = guard.patches("call")
        still = own["sorted"] is none
    finally:
        for name in kept:
            own[name] = kept[name]
    assert {patch.name for patch in found} >= {"builtins.sorted", "builtins.isinstance"}
    assert still


def test_what_torch_replaces_itself_is_none_of_the_kernel_s(guard: Guard) -> None:
    torch.vmap(lambda x: x * 2)(torch.ones(3))
    torch.func.grad(lambda x: (x * x).sum())(torch.ones(3))
    assert names(guard) == []


def test_what_torchs_compiler_adds_to_the_reference_is_none_either(
    guard: Guard, reference: tuple[types.ModuleType, Model]
) -> None:
    module, _ = reference
    compiled = types.FunctionType((lambda x: x).__code__, vars(module))
    vars(module).update(__compiled_fn_1_b2f4=compiled, __import_torch_dot__dynamo_dot_utils=torch)
    assert names(guard) == []
    vars(module)["__getattr__"] = compiled
    assert set(names(guard)) == {"reference.__getattr__", "reference.__getattr__.__code__"}


def test_only_a_few_are_looked_at_inside_a_call(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    assert guard.replaced_now() == ["time.perf_counter"]
