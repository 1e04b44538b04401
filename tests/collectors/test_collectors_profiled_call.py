"""The calls under ncu: warm first, one in each range, on equal inputs. The range is a stand-in; the calls are real."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from kprof.collectors import profiled_call
from kprof.collectors.profiled_call import profile_calls
from kprof.errors import CannotMeasureError
from kprof.evidence import Side


@dataclass
class Files:
    """A stand-in for what loading the two files gives; it keeps what happened in order."""

    with_ref: bool = True
    kernel_raises: bool = False
    happened: list[str] = field(default_factory=list)
    grad: list[bool] = field(default_factory=list)
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    inputs_side: Side = "ref"

    @property
    def ref(self) -> Callable[..., Any] | None:
        return self._side("ref") if self.with_ref else None

    @property
    def kernel(self) -> Callable[..., Any]:
        return self._side("kernel")

    def inputs(self, seed: int) -> list[Any]:
        return [torch.full((2,), float(seed))]

    def _side(self, name: str) -> Callable[..., Any]:
        def call(value: torch.Tensor) -> torch.Tensor:
            self.happened.append(f"{name} {value.tolist()}")
            self.grad.append(torch.is_grad_enabled())
            if name == "kernel" and self.kernel_raises and "open kernel" in self.happened:
                raise ValueError("no")
            return value.clone()

        return call

    @contextmanager
    def profiled(self, side: Side) -> Iterator[None]:
        self.happened.append(f"open {side}")
        try:
            yield
        finally:
            self.happened.append(f"close {side}")


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    warm = profiled_call.warm_up
    monkeypatch.setattr(profiled_call, "warm_up", lambda timers: warm(timers, 0.001))


def run(files: Files, sides: tuple[Side, ...] = ("kernel", "ref"), seed: int = 5) -> list[Side]:
    entered: list[Side] = []
    profile_calls(files, seed=seed, enter=entered.append, sides=sides, profiled=files.profiled)  # type: ignore[arg-type]
    return entered


def test_both_sides_are_warm_before_one_call_of_each_is_profiled() -> None:
    files = Files()
    entered = run(files)
    begin = files.happened.index("open kernel")
    warm, profiled = files.happened[:begin], files.happened[begin:]
    assert warm.count("kernel [5.0, 5.0]") >= 3
    assert warm.count("ref [5.0, 5.0]") >= 3
    assert profiled == [
        "open kernel", "kernel [5.0, 5.0]", "close kernel", "open ref", "ref [5.0, 5.0]", "close ref",
    ]  # fmt: skip
    assert not any(files.grad)
    assert (entered[0], entered[-2:]) == ("ref", ["kernel", "ref"]), "who made the inputs, then whose call it is"


@pytest.mark.parametrize("side", ["kernel", "ref"])
def test_one_side_alone_neither_runs_nor_warms_the_other(side: Side) -> None:
    files = Files()
    run(files, sides=(side,))
    assert {line.split()[0] for line in files.happened} == {"open", side, "close"}


def test_a_side_that_is_not_there_is_left_out() -> None:
    files = Files(with_ref=False, inputs_side="kernel")
    run(files)
    assert files.happened[-1] == "close kernel"


def test_each_side_has_inputs_of_its_own() -> None:
    class Spoils(Files):
        @property
        def kernel(self) -> Callable[..., Any]:
            return lambda value: value.fill_(7.0)

    files = Spoils()
    run(files)
    assert "ref [5.0, 5.0]" in files.happened
    assert "ref [7.0, 7.0]" not in files.happened


def test_what_a_call_raises_passes_and_closes_the_range() -> None:
    files = Files(kernel_raises=True)
    with pytest.raises(ValueError, match="no"):
        run(files)
    assert files.happened[-1] == "close kernel"


def test_without_a_gpu_it_says_so_before_anything_runs() -> None:
    files = Files()
    with pytest.raises(CannotMeasureError) as caught:
        profile_calls(files, seed=0, enter=lambda side: None, sides=("kernel",))  # type: ignore[arg-type]
    assert caught.value.code == "no_cuda_device"
    assert files.happened == []
