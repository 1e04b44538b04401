"""Makes the plain helper modules beside this file importable from every folder of tests; skips what needs a GPU."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests marked ``gpu`` where there is none, before any fixture of theirs is made."""
    if item.get_closest_marker("gpu") is None:
        return
    import torch  # Seconds, which the other tests need not pay.

    if not torch.cuda.is_available():
        pytest.skip("needs an NVIDIA GPU with CUDA (found none)")
