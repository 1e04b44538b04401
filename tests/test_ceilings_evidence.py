"""Measured ceilings: what is read from them, and the file they travel in."""

from __future__ import annotations

from pathlib import Path

import pytest
from ceilings import ceiling, cpu_ceilings, h200_ceilings
from made_evidence import CPU

from kprof.ceilings_evidence import decode_ceilings, describes_board_of, encode_ceilings, load_ceilings
from kprof.errors import InputFileError
from kprof.evidence import Environment


@pytest.mark.parametrize(
    ("share", "gbs"),
    [
        (1.0, 4500.0),
        (0.5, 4000.0),
        (2 / 3, 4150.0),
        (0.0, 4000.0),
        # Between a triad and a read the time of a byte is interpolated: half way between 1/4150 and 1/4500.
        (5 / 6, 2 / (1 / 4150 + 1 / 4500)),
        (None, 4500.0),
    ],
)
def test_the_bandwidth_of_dram_is_that_of_the_mix(share: float | None, gbs: float) -> None:
    assert h200_ceilings().dram_bandwidth(share) == pytest.approx(gbs * 1e9)


def test_the_fastest_samples_serve_a_floor() -> None:
    assert h200_ceilings().dram_bandwidth(1.0, best=True) == pytest.approx(4545e9)


def test_one_mix_alone_serves_every_other() -> None:
    only = h200_ceilings(measured=(ceiling("dram_copy", 4000e9),))
    assert [only.dram_bandwidth(share) for share in (0.0, 0.7, 1.0)] == [4000e9] * 3
    assert h200_ceilings(measured=()).dram_bandwidth(0.5) is None


@pytest.mark.parametrize(
    ("moved", "name", "gbs"),
    [
        (1000, "cache", 151.5),  # The smallest footprint shows the call itself: a larger one is faster.
        (2**20, "cache", 151.5),
        (2**20 + 1, "cache", 151.5),
        (2**24, "cache", 101.0),
        (2**27 - 1, "cache", 101.0),
        (2**30, "dram_read", 50.5),
    ],
)
def test_the_bandwidth_of_a_processor_is_that_of_the_footprint_at_most(moved: int, name: str, gbs: float) -> None:
    found = cpu_ceilings().processor_bandwidth(moved)
    assert found is not None
    assert (found.name, found.best) == (name, pytest.approx(gbs * 1e9))


def test_a_processor_without_bandwidths_has_none() -> None:
    assert cpu_ceilings(measured=(ceiling("call", 3.0, "us"),)).processor_bandwidth(100) is None


def test_of_one_name_the_largest_footprint_counts() -> None:
    found = cpu_ceilings().get("cache")
    assert found is not None
    assert found.footprint_bytes == 2**24
    assert cpu_ceilings().get("bf16") is None


def test_they_come_back_from_their_file_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "ceilings.json"
    file.write_bytes(encode_ceilings(h200_ceilings()))
    assert load_ceilings(file) == h200_ceilings()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not JSON"),
        (b"[1]", "it has no ceilings_version"),
        (b"{}", "it has no ceilings_version"),
        (b'{"ceilings_version": 99}', "its version is 99"),
        (b'{"ceilings_version": 1}', "missing required field"),
        (b'{"ceilings_version": 1, "checks": []}', "x.json"),
        (b"[" * 100_000, "is not JSON"),
    ],
)
def test_other_files_are_refused_with_the_way_to_make_one(content: bytes, message: str) -> None:
    with pytest.raises(InputFileError) as caught:
        decode_ceilings(content, "x.json")
    assert message in caught.value.message
    assert "kprof doctor --ceilings --json" in caught.value.hint


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="cannot read"):
        load_ceilings(tmp_path / "none.json")


def test_they_are_of_the_device_of_a_run_or_of_another() -> None:
    run = Environment(device="cuda:3", device_name="NVIDIA H200")
    assert describes_board_of(h200_ceilings(), run)
    assert describes_board_of(h200_ceilings(), Environment(device="cuda:0"))  # Nobody said which board it was.
    assert not describes_board_of(h200_ceilings(), Environment(device="cuda:0", device_name="NVIDIA L4"))
    assert not describes_board_of(h200_ceilings(), CPU)
    assert describes_board_of(cpu_ceilings(), CPU)
