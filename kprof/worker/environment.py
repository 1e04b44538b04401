"""The environment that a worker starts with."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from kprof.subprocesses.environment import base_environment, scratch_environment


def worker_environment(cache_root: Path, scratch: Path) -> dict[str, str]:
    """The environment that all of kprof's processes share, with temporary files in ``scratch``.

    Where torch's bytecode is nowhere kept (an image that forbids it), each worker would compile some thousand modules
    again, 3 to 4 s of its start: then it is kept in kprof's cache.

    Args:
        cache_root: of kprof's cache.
        scratch: the folder for its temporary files.
    """
    environment = {**base_environment(), "PYTHONUNBUFFERED": "1", **scratch_environment(scratch)}
    if not _torch_is_compiled():
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment["PYTHONPYCACHEPREFIX"] = str(cache_root / "bytecode")
    return environment


def _torch_is_compiled() -> bool:
    """Torch's bytecode lies beside it, as after any usual installation (true too where torch is not found)."""
    spec = importlib.util.find_spec("torch")
    return spec is None or spec.cached is None or Path(spec.cached).exists()
