"""The block build."""

from __future__ import annotations

import captures
import msgspec

from kprof.blocks.build import build_block
from kprof.evidence import BuildEvidence, Fault


def test_a_compiled_kernel() -> None:
    block = build_block(captures.h200_tiny())
    assert (block.status, block.reason) == ("ok", None)
    assert (block.seconds, block.cached, block.arch, block.log_tail) == (65.0, False, "sm_90", "[2/2] c++ ok")
    assert block.extensions == ("logsumexp",)
    # The reference is plain PyTorch.
    assert block.ref_seconds is None
    assert block.reasons == {"ref_seconds": "nothing_to_build", "ref_cached": "nothing_to_build"}


def test_a_cached_build_says_so() -> None:
    assert build_block(captures.h200_tiny(build=captures.built(cached=True))).cached is True


def test_nothing_to_build_is_skipped_and_has_no_times() -> None:
    nothing = captures.built().ref
    block = build_block(captures.h200_tiny(build=BuildEvidence(kernel=nothing, ref=nothing)))
    assert block.status == "skipped"
    assert block.reason is not None
    assert block.reason.code == "nothing_to_build"
    assert block.seconds is None
    assert set(block.reasons.values()) == {"nothing_to_build"}


def test_a_failure_keeps_the_compilers_words() -> None:
    block = build_block(captures.build_failure())
    assert block.status == "failed"
    assert block.reason is not None
    assert (block.reason.code, block.reason.message) == ("build_failed", "kernel: nvcc: error: expected a ';'")
    assert block.log_tail == "cuda.cu(12): error: expected a ';'\n1 error detected"
    assert block.reasons["seconds"] == "build_failed"
    assert "log_tail" not in block.reasons


def test_a_reference_that_does_not_build_is_named_and_the_kernels_numbers_stay() -> None:
    fault = Fault(stage="build", side="ref", code="build_failed", message="no such header")
    only_kernel = msgspec.structs.replace(captures.built(), ref=None)
    block = build_block(captures.h200_tiny(faults=(fault,), build=only_kernel))
    assert block.status == "failed"
    assert block.reason is not None
    assert block.reason.message == "reference: no such header"
    assert block.seconds == 65.0
    assert block.reasons == {"ref_seconds": "build_failed", "ref_cached": "build_failed"}


def test_a_load_fault_skips_the_build() -> None:
    fault = Fault(stage="load", side="kernel", code="syntax_error", message="line 3")
    block = build_block(captures.h200_tiny(faults=(fault,), build=None))
    assert block.status == "skipped"
    assert block.reason is not None
    assert block.reason.code == "syntax_error"
    assert set(block.reasons.values()) == {"syntax_error"}


def test_not_requested() -> None:
    block = build_block(captures.h200_tiny(requested=("timing",)))
    assert block.status == "skipped"
    assert block.seconds is None
    assert set(block.reasons.values()) == {"not_requested"}
