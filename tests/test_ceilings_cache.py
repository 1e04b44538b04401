"""Measured ceilings in the cache: found again for the same device and versions, and for nothing else."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from ceilings import cpu_ceilings, h200_ceilings

from kprof.ceilings_cache import cached_ceilings, keep_ceilings
from kprof.evidence import Environment

BOARD = Environment(
    device="cuda:0",
    device_name="NVIDIA H200",
    gpu_uuid="GPU-1",
    memory_bytes=150_000_000_000,
    driver="580.1",
    cuda="13.0",
    torch="2.11.0",
)


def test_a_board_finds_its_own_whatever_its_number(tmp_path: Path) -> None:
    assert cached_ceilings(BOARD, tmp_path) is None
    keep_ceilings(h200_ceilings(), tmp_path)
    assert cached_ceilings(BOARD, tmp_path) == h200_ceilings()
    assert cached_ceilings(msgspec.structs.replace(BOARD, device="cuda:5"), tmp_path) == h200_ceilings()


@pytest.mark.parametrize("changed", [{"gpu_uuid": "GPU-2"}, {"driver": "590"}, {"torch": "2.12.0"}, {"cuda": "12.8"}])
def test_another_board_or_version_has_none(changed: dict[str, str], tmp_path: Path) -> None:
    keep_ceilings(h200_ceilings(), tmp_path)
    assert cached_ceilings(msgspec.structs.replace(BOARD, **changed), tmp_path) is None


def test_a_processor_is_told_apart_by_its_threads(tmp_path: Path) -> None:
    keep_ceilings(cpu_ceilings(), tmp_path)
    run = Environment(device="cpu", device_name="Xeon", cpu_threads=2, torch="2.11.0")
    assert cached_ceilings(run, tmp_path) == cpu_ceilings()
    assert cached_ceilings(msgspec.structs.replace(run, cpu_threads=4), tmp_path) is None


def test_a_damaged_file_is_as_none(tmp_path: Path) -> None:
    file = keep_ceilings(h200_ceilings(), tmp_path)
    assert file is not None
    file.write_text("{")
    assert cached_ceilings(BOARD, tmp_path) is None


def test_a_cache_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "ceilings").write_text("in the way")
    assert keep_ceilings(h200_ceilings(), tmp_path) is None
