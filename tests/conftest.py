"""Makes the helper modules beside this file importable everywhere, builds what several tests use, skips what needs a
GPU, looks for leftovers.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from running import EXAMPLE, BuiltExample, run_kprof

with contextlib.suppress(ImportError):  # Machines that run the tests for a GPU need not have it.
    from hypothesis import settings

    # The same examples in every run; HYPOTHESIS_PROFILE=default draws new ones.
    settings.register_profile("same", derandomize=True)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(scope="session")
def built_example(tmp_path_factory: pytest.TempPathFactory) -> BuiltExample:
    """cpu.py, compiled once for all tests that run it: with torch's headers that takes fifteen seconds."""
    cache = tmp_path_factory.mktemp("example")
    return BuiltExample(run_kprof(*EXAMPLE, cwd=cache, cache=cache), cache)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests marked ``gpu`` where there is none, before any fixture of theirs is made."""
    if item.get_closest_marker("gpu") is None:
        return
    import torch  # Seconds, which the other tests need not pay.

    if not torch.cuda.is_available():
        pytest.skip("needs an NVIDIA GPU with CUDA (found none)")


@pytest.fixture(scope="session", autouse=True)
def no_private_folder_is_left() -> Iterator[None]:
    """Workers that this process started have taken their private folders with them."""
    yield
    marks = Path(tempfile.gettempdir()).glob("kprof-*/owner")
    left = [str(mark.parent) for mark in marks if _text(mark).split(" ")[0] == str(os.getpid())]
    assert not left


def _text(file: Path) -> str:
    """Another run's folder may go, or be unreadable, meanwhile."""
    try:
        return file.read_text()
    except OSError:
        return ""
