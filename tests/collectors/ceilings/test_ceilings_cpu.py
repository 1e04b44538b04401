"""Roofs of this very processor: there, plausible, and measured without a trace."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from kprof.ceilings_cache import cached_ceilings
from kprof.ceilings_evidence import CeilingsEvidence
from kprof.collectors.ceilings import cpu
from kprof.collectors.ceilings.collect import collect_ceilings
from kprof.collectors.ceilings.here import ceilings_here
from kprof.collectors.ceilings.rates import host_seconds, rate_of, time_of
from kprof.collectors.environment import collect_environment

DEVICE = torch.device("cpu")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> CeilingsEvidence:
    """A quick measurement of this machine."""
    *_, last = collect_ceilings(DEVICE, tmp_path_factory.mktemp("cache"), quick=True)
    return last


def test_every_roof_of_a_processor_is_there(found: CeilingsEvidence) -> None:
    names = [one.name for one in found.measured]
    assert names.count("cache") == len(cpu.CACHE_FOOTPRINTS)
    assert {"dram_read", "dram_copy", "dram_triad", "fp32", "fp64", "bf16", "call"} <= set(names)
    assert found.device == "cpu"
    assert found.absent == {}


def test_samples_are_ordered_and_rates_are_those_of_a_computer(found: CeilingsEvidence) -> None:
    for one in found.measured:
        low, high = sorted((one.worst, one.best))
        assert low <= one.median <= high
        assert one.samples >= 3
        if one.unit == "byte/s":
            assert 1e8 < one.best < 1e13
        elif one.unit == "FLOP/s":
            assert 1e8 < one.best < 1e15
        else:
            assert 0.1 < one.best < 1e4


def test_dram_is_measured_beyond_the_last_cache(found: CeilingsEvidence) -> None:
    of_dram, of_caches = found.get("dram_copy"), found.get("cache")
    assert of_dram is not None
    assert of_caches is not None
    assert (of_dram.footprint_bytes or 0) >= (of_caches.footprint_bytes or 0)


def test_the_random_numbers_of_the_process_stay_as_they_were(tmp_path: Path) -> None:
    torch.manual_seed(7)
    before = torch.get_rng_state()
    *_, _last = collect_ceilings(DEVICE, tmp_path, quick=True)
    assert torch.equal(torch.get_rng_state(), before)


def test_what_the_cache_holds_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = collect_environment(DEVICE)
    monkeypatch.setattr(cpu, "_CONTENDED_SHARE", 1e9)  # Whatever else this machine does just now.
    first = ceilings_here(DEVICE, environment, tmp_path)
    assert first is not None
    assert first.quick
    assert cached_ceilings(environment, tmp_path) == first
    assert ceilings_here(DEVICE, environment, tmp_path) == first


def test_those_of_a_busy_machine_are_told_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = collect_environment(DEVICE)
    monkeypatch.setattr(cpu, "_CONTENDED_SHARE", -1.0)
    found = ceilings_here(DEVICE, environment, tmp_path)
    assert found is not None
    assert [warning.code for warning in found.warnings] == ["ceilings_contended"]
    assert cached_ceilings(environment, tmp_path) is None


def test_without_room_for_the_arrays_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*_: object, **__: object) -> torch.Tensor:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp] not enough memory")

    monkeypatch.setattr(torch, "rand", no_room)
    assert ceilings_here(DEVICE, collect_environment(DEVICE), tmp_path) is None


@pytest.mark.parametrize(("text", "size"), [("32768K\n", 2**25), ("96M", 96 * 2**20), ("", 0), ("lots", 0)])
def test_sizes_of_caches_as_the_kernel_writes_them(text: str, size: int, tmp_path: Path) -> None:
    (tmp_path / "size").write_text(text)
    assert cpu._cache_bytes(tmp_path / "size") == size
    assert cpu._cache_bytes(tmp_path / "none") == 0


def test_samples_are_long_enough_and_as_many_as_fit() -> None:
    calls = []
    seconds = host_seconds(lambda: calls.append(0), least_s=1e-3, budget_s=0.0)
    assert len(seconds) == 3
    assert len(calls) > 100
    assert len(host_seconds(lambda: None, least_s=0.0, budget_s=10.0, most=5)) == 5


def test_a_rate_has_its_slowest_and_fastest_sample_and_so_has_a_time() -> None:
    rate = rate_of("fp32", "FLOP/s", 100.0, [1.0, 2.0, 4.0], "x")
    assert (rate.median, rate.worst, rate.best, rate.samples) == (50.0, 25.0, 100.0, 3)
    time = time_of("call", [1.0, 2.0, 4.0], "x")
    assert (time.median, time.worst, time.best, time.unit) == (2.0, 4.0, 1.0, "us")
