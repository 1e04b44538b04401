"""The block caches, on recorded launches and on what reports may lack."""

from __future__ import annotations

from typing import Any

import pytest
from recorded_ncu import changed, h200, probe, profile, quantities_of

from kprof.audit import audit
from kprof.blocks.caches import HIT_RATE_OF_LITTLE, THRESHOLDS, CachesBlock, caches_block
from kprof.counter_profile import Finding
from kprof.counters.combine import combine
from kprof.counters.quantities import Quantities


def block_of(found: Quantities, *findings: Finding, **changes: Any) -> CachesBlock:
    return caches_block(profile(changed(found, **changes), None, *findings))


def codes(block: CachesBlock) -> list[str]:
    return [warning.code for warning in block.warnings]


def test_the_large_logsumexp() -> None:
    block = block_of(probe("logsumexp_kernel", 1))
    assert block.l1_hit_pct == pytest.approx(100 * 15583976 / 37748736)
    assert block.l2_hit_pct == pytest.approx(23.59, abs=0.005)
    assert (block.ld_sectors_per_request, block.st_sectors_per_request) == (4.0, 4.0)
    assert (block.ld_efficiency_pct, block.st_efficiency_pct) == (100.0, 100.0)
    assert (block.bank_conflicts, block.local_bytes) == (0.0, 0.0)
    assert (block.status, block.reasons, block.warnings) == ("ok", {}, ())


def test_the_tiny_logsumexp_has_a_true_l1_rate_and_an_l2_rate_of_others() -> None:
    block = block_of(probe("logsumexp_kernel", 0))
    assert block.l1_hit_pct == pytest.approx(100 * 160 / 360)
    assert block.l2_hit_pct == pytest.approx(43.01, abs=0.005)
    assert (block.ld_sectors_per_request, block.st_sectors_per_request) == (4.0, 4.0)
    assert codes(block) == ["little_traffic"]
    assert "200 of 5585 sectors" in block.warnings[0].message


def test_one_word_of_each_sector() -> None:
    block = block_of(probe("uncoalesced"))
    assert (block.ld_sectors_per_request, block.ld_efficiency_pct) == (32.0, 12.5)
    assert (block.st_sectors_per_request, block.st_efficiency_pct) == (None, None)
    assert block.reasons == {"st_sectors_per_request": "nothing_counted", "st_efficiency_pct": "nothing_counted"}


def test_bank_conflicts() -> None:
    assert block_of(probe("smem_conflict")).bank_conflicts == 268174498.0
    assert block_of(probe("dram_copy")).bank_conflicts == 0.0


@pytest.mark.parametrize(("name", "rate"), [("fma_fp32", 112.11), ("smem_conflict", 115.89)])
def test_a_rate_over_100_is_kept_and_flagged(name: str, rate: float) -> None:
    block = block_of(probe(name))
    assert block.l2_hit_pct == pytest.approx(rate, abs=0.005)
    assert (block.status, block.reason and block.reason.code) == ("suspect", "implausible_hit_rate")
    assert codes(block) == ["little_traffic"]
    # ncu prints 0 % of L1 for a kernel that never asks it.
    assert block.l1_hit_pct is None
    assert block.reasons["l1_hit_pct"] == "too_little_traffic"


def test_a_finding_on_real_traffic_makes_it_suspect() -> None:
    found = probe("l2_read")
    assert found.l2_sectors is not None
    changes = {"l2_hit_sectors": found.l2_sectors * 1.0039}
    over = audit(changed(found, **changes), h200())
    block = block_of(found, *over, **changes)
    assert (block.status, block.l2_hit_pct) == ("suspect", pytest.approx(100.39))
    assert block.reason == over[0].reason
    assert codes(block) == ["implausible_hit_rate"]


def test_an_impossible_rate_makes_it_suspect_however_little_the_traffic() -> None:
    found = probe("fma_fp32")
    findings = audit(found, h200())
    assert [one.code for one in findings] == [HIT_RATE_OF_LITTLE]
    block = block_of(found, *findings)
    assert (block.status, block.reason and block.reason.code) == ("suspect", "implausible_hit_rate")
    assert codes(block) == ["little_traffic"]
    elsewhere = Finding("implausible_clock", "2139 MHz", ("sm_clock_hz",))
    assert block_of(probe("l2_read"), elsewhere).status == "ok"
    here = Finding("negative_value", "local_bytes is -32", ("local_bytes",))
    both = block_of(found, here, *findings)
    assert both.reason == here.reason
    assert codes(both) == ["implausible_hit_rate", "little_traffic"]
    assert block_of(found, l2_hit_rate_pct=None, l2_hit_sectors=-1.0).status == "suspect"


@pytest.mark.parametrize("report", ["probes", "library-kernels"])
def test_little_traffic_is_told_of_none_that_reads_or_writes_much(report: str) -> None:
    """38 to 99 % of what L2 looked up was for the SMs in the one kind, 7 % at most in the other."""
    ids = {"probes": (0, 1, 8, 13, 16, 21), "library-kernels": (0, 3, 4, 7, 9, 14, 30)}[report]
    assert not any(codes(block_of(quantities_of(report, launch_id))) for launch_id in ids)
    others = {"probes": (3, 5, 6, 10, 15, 19, 20), "library-kernels": (15, *range(17, 27))}[report]
    assert all("little_traffic" in codes(block_of(quantities_of(report, launch_id))) for launch_id in others)


def test_without_the_sectors_of_the_sms_their_number_decides() -> None:
    blind = {"l2_bytes": None}
    assert codes(block_of(probe("logsumexp_kernel", 0), **blind)) == ["little_traffic"]
    assert codes(block_of(quantities_of("library-kernels", 18), **blind)) == ["little_traffic"]
    assert codes(block_of(probe("uncoalesced"), **blind)) == []


def test_too_few_sectors_for_a_rate() -> None:
    few = float(THRESHOLDS.least_sectors - 1)
    block = block_of(probe("dram_copy"), l1_sectors=few, l1_hit_sectors=3.0, l2_sectors=few, l2_hit_sectors=3.0)
    assert (block.l1_hit_pct, block.l2_hit_pct) == (None, None)
    assert block.reasons == {"l1_hit_pct": "too_little_traffic", "l2_hit_pct": "too_little_traffic"}
    enough = few + 1
    assert block_of(probe("dram_copy"), l1_sectors=enough, l1_hit_sectors=2.0).l1_hit_pct == 25.0


def test_one_launch_may_have_its_rate_only() -> None:
    found = quantities_of("library-kernels", 9)
    assert found.l1_sectors is None
    block = block_of(found, l2_sectors=None, l2_hit_sectors=None)
    assert (block.l1_hit_pct, block.l2_hit_pct) == (1.88, 87.49)
    assert block.warnings == ()


def test_no_rate_of_l1_for_a_kernel_of_tensor_memory_accesses() -> None:
    """ncu says 0 % of a GEMM that never reads through L1; of one that reads and never hits it is true."""
    assert block_of(quantities_of("library-kernels", 0)).reasons["l1_hit_pct"] == "too_little_traffic"
    assert block_of(quantities_of("library-kernels", 4)).l1_hit_pct == 0.0


def test_sectors_per_request_from_what_is_there() -> None:
    found = probe("uncoalesced")
    assert block_of(found, load_sectors=None).ld_sectors_per_request == found.load_sectors_per_request == 32.0
    block = block_of(found, load_requests=None, load_sectors_per_request=None)
    assert block.ld_sectors_per_request is None
    assert block.reasons["ld_sectors_per_request"] == "counter_not_collected"


def test_several_launches_are_sums_over_sums() -> None:
    copy, strided = probe("dram_copy"), probe("uncoalesced")
    block = caches_block(profile(combine([copy, strided])))
    assert block.ld_sectors_per_request == pytest.approx((33554432 + 2162688) / (2097152 + 67584))
    assert block.l2_hit_pct == pytest.approx(100 * (53820640 + 35264) / (104132754 + 4392606))
    assert block.st_sectors_per_request == 16.0


def test_efficiency_of_several_launches_needs_weights() -> None:
    found = changed(combine([probe("dram_copy"), probe("uncoalesced")]), load_bytes_per_sector=None)
    block = caches_block(profile(found))
    assert (block.ld_efficiency_pct, block.reasons["ld_efficiency_pct"]) == (None, "per_launch_only")
    weighted = changed(found, load_bytes_per_sector=30.3)
    assert caches_block(profile(weighted)).ld_efficiency_pct == pytest.approx(94.6875)


def test_rates_of_several_launches_are_never_averaged() -> None:
    found = combine([changed(quantities_of("library-kernels", 9), l1_hit_sectors=None)] * 2)
    block = caches_block(profile(found))
    assert (block.l1_hit_pct, block.reasons["l1_hit_pct"]) == (None, "counter_not_collected")


def test_nothing_collected() -> None:
    block = caches_block(profile(Quantities()))
    assert block.status == "unavailable"
    assert block.reasons == dict.fromkeys(block.reasons, "counters_not_available")
    assert len(block.reasons) == 8
