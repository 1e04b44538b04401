"""Where the files that travel with kprof are: GPU specs and probe kernels."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


@lru_cache(maxsize=16)
def resource_dir(name: str) -> Path:
    """Folder ``name`` (such as ``specs`` or ``kernels/probes``) as shipped with this kprof.

    A wheel carries the folders inside the package, under ``_data``. A checkout, and an editable install of one,
    has them beside the package.

    Raises:
        FileNotFoundError: neither place has it: the installation is broken.
    """
    for root in (_PACKAGE / "_data", _PACKAGE.parent):
        candidate = root / name
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"kprof's own folder {name!r} is neither in {_PACKAGE / '_data'} nor in {_PACKAGE.parent}")
