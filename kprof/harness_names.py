"""What kernel and reference files may rely on without importing or installing it.

Files written for earlier harnesses use two things those harnesses gave them: the module
``kernelbench.distributed_collectives`` with ``default_device()``, and a global ``popcorn_pri`` with ``jitter_int()``.
Both are provided where they are absent, so that such files load unchanged.
"""

from __future__ import annotations

import importlib.util
import sys
import types

import torch

_COLLECTIVES = "kernelbench.distributed_collectives"


def default_device() -> torch.device:
    """``cuda:0`` where there is a GPU, else ``cpu``."""
    return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


def jitter_int(
    default: int, *, min_ratio: float = 0.85, max_ratio: float = 1.15, minimum: int = 1, align: int = 1
) -> int:
    """A size near ``default``, drawn evenly from torch's global generator.

    Args:
        default: the size to vary.
        min_ratio: lower end of the range, as a share of ``default``.
        max_ratio: upper end of the range (included), as a share of ``default``.
        minimum: the lower end is at least this.
        align: the result is rounded down to a multiple of this, and is at least this.

    Raises:
        ValueError: the range is empty or ``align`` is not positive.
    """
    low = max(minimum, int(default * min_ratio))
    high = int(default * max_ratio)
    if align < 1 or high < low:
        raise ValueError(f"jitter_int: nothing to draw from [{low}, {high}] in steps of {align}")
    drawn = int(torch.randint(low, high + 1, ()).item())
    return max(align, drawn - drawn % align)


def provide_harness_names(module: types.ModuleType) -> None:
    """Give ``module`` the global ``popcorn_pri``, and the interpreter the module it may import, where absent."""
    if not hasattr(module, "popcorn_pri"):
        vars(module)["popcorn_pri"] = types.SimpleNamespace(jitter_int=jitter_int)
    if not _importable(_COLLECTIVES):
        package = sys.modules.get("kernelbench") or types.ModuleType("kernelbench")
        collectives = types.ModuleType(_COLLECTIVES)
        vars(collectives)["default_device"] = default_device
        vars(package)["distributed_collectives"] = collectives
        sys.modules.setdefault("kernelbench", package)
        sys.modules[_COLLECTIVES] = collectives


def _importable(name: str) -> bool:
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
