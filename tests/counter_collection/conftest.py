"""A bench for each test of collecting counters."""

from __future__ import annotations

from pathlib import Path

import pytest
from counter_bench import Bench


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)
