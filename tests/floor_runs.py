"""Counts the floor of small references on the CPU, for the tests of its parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from kprof.collectors.floor.collect import collect_floor
from kprof.evidence import Side
from kprof.floor_evidence import FloorEvidence


@dataclass
class Files:
    """A stand-in for what loading the two files gives."""

    make: Callable[[], list[Any]]
    ref: Callable[..., Any] | None
    kernel: Callable[..., Any] = torch.neg
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    inputs_side: Side = "ref"
    made: int = 0

    def inputs(self, seed: int) -> list[Any]:
        torch.manual_seed(seed)
        self.made += 1
        return self.make()


def floor(ref: Callable[..., Any], *inputs: Any) -> FloorEvidence:
    """The floor of a reference that finds its inputs unchanged."""
    return collect_floor(Files(lambda: list(inputs), ref), seed=1, enter=lambda side: None)  # type: ignore[arg-type]


def codes(evidence: FloorEvidence) -> list[str]:
    return [one.code for one in evidence.over_estimates]


def randn(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape).to(dtype)


class Layers(nn.Module):
    """One layer used, one not, a buffer used and one not."""

    used_buffer: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = nn.Linear(8, 4), nn.Linear(100, 100)
        self.register_buffer("used_buffer", torch.ones(4))
        self.register_buffer("unused_buffer", torch.ones(1000))

    def forward(self, x: Tensor) -> Tensor:
        return torch.as_tensor(self.used(x) * self.used_buffer)
