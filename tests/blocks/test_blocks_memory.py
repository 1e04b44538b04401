"""The block memory."""

from __future__ import annotations

import captures
import msgspec
import pytest

from kprof.blocks.memory import memory_block
from kprof.evidence import Fault, MemoryEvidence, SideMemory


def test_peaks_are_in_millions_of_bytes() -> None:
    evidence = MemoryEvidence(
        method="torch_cuda_allocator",
        kernel=SideMemory(peak_bytes=2_500_000, device_delta_bytes=2**21),
        ref=SideMemory(peak_bytes=10_000_000, device_delta_bytes=0),
    )
    block = memory_block(captures.h200_tiny(memory=evidence))
    assert (block.status, block.kernel_peak_mb, block.ref_peak_mb, block.ratio) == ("ok", 2.5, 10.0, 0.25)
    assert block.kernel_device_delta_mb == pytest.approx(2.097152)
    assert block.ref_device_delta_mb == 0.0
    assert block.method == "torch_cuda_allocator"
    assert block.reasons == {}


def test_a_kernel_that_allocates_nothing_has_zero_and_a_ratio() -> None:
    evidence = MemoryEvidence(method="m", kernel=SideMemory(peak_bytes=0), ref=SideMemory(peak_bytes=100))
    assert memory_block(captures.h200_tiny(memory=evidence)).ratio == 0.0


def test_no_ratio_to_a_reference_that_allocates_nothing() -> None:
    evidence = MemoryEvidence(method="m", kernel=SideMemory(peak_bytes=100), ref=SideMemory(peak_bytes=0))
    block = memory_block(captures.h200_tiny(memory=evidence))
    assert (block.ref_peak_mb, block.ratio) == (0.0, None)
    assert block.reasons["ratio"] == "ref_peak_is_zero"


def test_the_cpu_has_no_device_to_ask() -> None:
    block = memory_block(captures.cpu_run())
    assert block.kernel_peak_mb == pytest.approx(0.00128)
    assert block.ratio == 0.25
    assert block.reasons == {"kernel_device_delta_mb": "no_device", "ref_device_delta_mb": "no_device"}


def test_without_a_reference() -> None:
    block = memory_block(captures.without_ref(captures.h200_tiny()))
    assert block.status == "ok"
    assert block.kernel_peak_mb == pytest.approx(0.001536)
    assert block.reasons == dict.fromkeys(("ref_peak_mb", "ratio", "ref_device_delta_mb"), "no_reference")


@pytest.mark.parametrize(("side", "status"), [("kernel", "failed"), ("ref", "suspect")])
def test_a_side_that_failed_leaves_the_others_numbers(side: str, status: str) -> None:
    capture = captures.h200_tiny()
    assert capture.memory is not None
    fault = Fault(stage="memory", side=side, code="out_of_memory", message="80 GB asked for")  # type: ignore[arg-type]
    partial = msgspec.structs.replace(capture.memory, **{side: None})
    block = memory_block(captures.h200_tiny(faults=(fault,), memory=partial))
    assert block.status == status
    assert block.reason is not None
    assert block.reason.code == "out_of_memory"
    assert block.reasons == dict.fromkeys((f"{side}_peak_mb", "ratio", f"{side}_device_delta_mb"), "out_of_memory")


def test_a_stage_that_failed_altogether() -> None:
    fault = Fault(stage="memory", side="kernel", code="crashed", message="SIGABRT")
    block = memory_block(captures.h200_tiny(faults=(fault,), memory=None))
    assert block.status == "failed"
    assert set(block.reasons.values()) == {"crashed"}


def test_a_negative_peak_is_suspect() -> None:
    evidence = MemoryEvidence(method="m", kernel=SideMemory(peak_bytes=100), ref=SideMemory(peak_bytes=-5_000_000))
    block = memory_block(captures.h200_tiny(memory=evidence))
    assert (block.status, block.ref_peak_mb) == ("suspect", -5.0)
    assert block.reason is not None
    assert block.reason.code == "negative_memory"
