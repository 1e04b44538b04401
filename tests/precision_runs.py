"""Runs the precision trials on small CPU models, for the tests of their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from kprof.collectors.precision.collect import collect_precision
from kprof.evidence import Side
from kprof.precision_evidence import PrecisionEvidence
from kprof.workload import LoadedWorkload

CPU = torch.device("cpu")


def workload(kernel: Any, ref: Any, make_inputs: Callable[[], Any]) -> LoadedWorkload:
    return LoadedWorkload(CPU, kernel, ref, make_inputs, "ref")


def vectors() -> list[Tensor]:
    return [torch.randn(6, 5)]


def run(
    kernel: Any,
    ref: Any,
    make_inputs: Callable[[], Any] = vectors,
    *,
    trials: int = 3,
    entered: list[Side | None] | None = None,
    **options: Any,
) -> PrecisionEvidence:
    entered = [] if entered is None else entered
    loaded = workload(kernel, ref, make_inputs)
    return list(collect_precision(loaded, trials=trials, seed=7, enter=entered.append, **options))[-1]


def codes(evidence: PrecisionEvidence) -> list[list[str]]:
    return [[mismatch.code for mismatch in trial.mismatches] for trial in evidence.trials]


def passes(evidence: PrecisionEvidence) -> bool:
    return len(evidence.trials) == evidence.trials_requested and not any(codes(evidence))


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(5, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)  # type: ignore[no-any-return]


class Softmax(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(x, dim=-1)
