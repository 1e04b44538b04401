"""Every format as it was when somebody last looked at it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import get_args

import pytest

from kprof.blocks.base import Status
from kprof.report import BLOCK_NAMES

sys.path.insert(0, str(Path(__file__).parent))
import goldens


@pytest.mark.parametrize(("name", "format_"), goldens.KEPT)
def test_golden(name: str, format_: str) -> None:
    assert goldens.made(name, format_) == goldens.golden(name, format_).read_text(encoding="utf-8"), (
        "it changed; if that was meant: python tests/renderers/goldens.py"
    )


def test_blocks_are_in_every_state_there_is() -> None:
    found = {getattr(goldens.report(run).blocks, name).status for run in goldens.NAMES for name in BLOCK_NAMES}
    assert found == set(get_args(Status))


def test_nothing_is_kept_that_nobody_compares() -> None:
    assert {path.name for path in goldens.FOLDER.iterdir()} == {goldens.golden(*kept).name for kept in goldens.KEPT}
