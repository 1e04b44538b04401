"""Waiting for a device, whatever it is."""

from __future__ import annotations

import torch


def synchronise(device: torch.device) -> None:
    """Wait for all streams of a CUDA device; a fault of what ran there is raised here. The CPU is never behind."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
