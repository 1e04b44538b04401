"""Waiting for a device, whatever it is."""

from __future__ import annotations

from typing import Any, Final

import torch

_wait: Final[Any] = torch.cuda.synchronize  # Taken at import, which is before any user code: it may replace torch's.


def synchronise(device: torch.device) -> None:
    """Wait for all streams of a CUDA device; a fault of what ran there is raised here. The CPU is never behind."""
    if device.type == "cuda":
        _wait(device)
