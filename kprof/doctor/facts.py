"""What the checks judge: gathered at once, each probe bounded, none able to take the command along."""

from __future__ import annotations

import importlib.util
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kprof.doctor.boards import Board, Boards, ask_boards
from kprof.doctor.builders import Builders, look_at_builders
from kprof.doctor.profiling import Profiling, look_at_profiling
from kprof.errors import CannotMeasureError
from kprof.evidence import Reason
from kprof.installation import Installation, TorchDevice
from kprof.own_worker import OwnAnswer, run_own_worker

TORCH_S: Final = 30.0
"""Longest wait for torch, which takes 2 to 6 s to start, to find its devices and to profile one kernel."""
TORCH_MISSING: Final = Reason(code="torch_missing", message="torch is not installed", hint="pip install torch")


@dataclass(frozen=True)
class Facts:
    """All that was found."""

    asked: str
    """``--device``: ``auto``, ``cpu`` or ``cuda:N``."""
    cache_root: Path
    boards: Boards
    torch: OwnAnswer
    profiling: Profiling
    builders: Builders

    @property
    def installation(self) -> Installation | None:
        return self.torch.installation

    @property
    def on_gpu(self) -> bool:
        """The main job is to run on a GPU: there is one, or one was asked for."""
        devices = self.installation.devices if self.installation is not None else ()
        return self.asked != "cpu" and bool(self.boards.boards or devices or self.asked.startswith("cuda"))

    @property
    def index(self) -> int:
        """The device among those that CUDA counts."""
        return device_index(self.asked) or 0

    @property
    def device(self) -> TorchDevice | None:
        """The device, as torch has it."""
        devices = self.installation.devices if self.installation is not None else ()
        return devices[self.index] if self.index < len(devices) else None

    @property
    def board(self) -> Board | None:
        """The board, as NVML has it: by UUID, or the only one there is."""
        if self.device is not None and self.device.uuid is not None:
            return next((board for board in self.boards.boards if board.uuid == self.device.uuid), None)
        return self.boards.boards[0] if len(self.boards.boards) == 1 else None


def device_index(asked: str) -> int | None:
    """Of ``auto``, ``cuda`` and ``cuda:N``; None for the CPU."""
    if asked == "cpu":
        return None
    number = asked.partition(":")[2]
    return int(number) if number else 0


def gather(asked: str, ncu: str | None, cache_root: Path) -> Facts:
    """Look at everything.

    Args:
        asked: the device.
        ncu: the ncu that the user named; None: the one on PATH.
        cache_root: kprof's cache.
    """
    # Before torch and ncu: their own processes would be found on the board.
    boards = Boards(error="not asked: the device is the CPU") if asked == "cpu" else ask_boards()
    tried = device_index(asked) if boards.boards else None
    with ThreadPoolExecutor(3) as pool:
        torch = pool.submit(_ask_torch, asked, cache_root)
        profiling = pool.submit(look_at_profiling, ncu, cache_root, tried)
        builders = pool.submit(look_at_builders)
        return Facts(asked, cache_root, boards, torch.result(), profiling.result(), builders.result())


def _ask_torch(asked: str, cache_root: Path) -> OwnAnswer:
    if importlib.util.find_spec("torch") is None:
        return OwnAnswer(failed=TORCH_MISSING)
    try:
        return run_own_worker("installation", asked, cache_root, TORCH_S)
    except CannotMeasureError as error:
        return OwnAnswer(failed=Reason(code=error.code, message=error.message, hint=error.hint))


def visible_devices() -> str | None:
    """``CUDA_VISIBLE_DEVICES``, where it is set."""
    return os.environ.get("CUDA_VISIBLE_DEVICES")
