"""Precision traded silently, by counters: launches recorded on an H200 (products of 4096 in fp16, fp32, TF32, int8)."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import captures
import made_evidence
import msgspec
import pytest

from kprof.blocks.integrity.block import integrity_block
from kprof.blocks.integrity.check import Check
from kprof.blocks.integrity.traded import AS_EXACT_RATIO
from kprof.capture import Capture, decode_capture
from kprof.collectors.ncu.csv_file import read_csv_text
from kprof.counter_evidence import CountersEvidence, ProfiledLaunch
from kprof.evidence import Side, TensorInfo
from kprof.integrity_evidence import IntegrityEvidence
from kprof.precision_evidence import PrecisionEvidence
from kprof.report import build_report

DATA = Path(__file__).parents[2] / "data"
FP16, FP32, TF32 = 0, 1, 2
FLOP = "1.374e+11 FLOP"


@cache
def recorded() -> tuple[ProfiledLaunch, ...]:
    text = gzip.decompress((DATA / "ncu" / "torch-operators.raw.csv.gz").read_bytes()).decode()
    return read_csv_text(text.splitlines(keepends=True), "operators").launches


def launch(number: int, side: Side) -> ProfiledLaunch:
    return msgspec.structs.replace(recorded()[number], side=side)


def run(
    kernel: int,
    ref: int | None,
    dtypes: tuple[str, ...] = ("float32",) * 2,
    errors: tuple[float, float] | None = (2.0e-5, 1.0e-6),
) -> Capture:
    """What is measured of a product whose two sides launch what was recorded; all errors are within tolerance."""
    launches = (launch(kernel, "kernel"), *((launch(ref, "ref"),) if ref is not None else ()))
    precision = captures.h200_tiny().precision
    assert isinstance(precision, PrecisionEvidence)
    ours, theirs = errors or (None, None)
    inputs = tuple(
        TensorInfo(path=f"[{index}]", shape=(4096, 4096), dtype=dtype, constant=False)
        for index, dtype in enumerate(dtypes)
    )
    return captures.h200_tiny(
        workload=made_evidence.workload(inputs=inputs),
        precision=msgspec.structs.replace(precision, kernel_error_vs_fp64=ours, ref_error_vs_fp64=theirs),
        integrity=IntegrityEvidence(probed=True),
        counters=CountersEvidence(format="ncu_csv_raw", launches=launches),
    )


def check(capture: Capture) -> Check:
    (one,) = (each for each in integrity_block(capture).checks or () if each.name == "precision_traded")
    return one


@pytest.mark.parametrize(("kernel", "source"), [(TF32, "tf32"), (FP16, "fp16")])
def test_tensor_operations_narrower_than_the_contract_are_told_with_their_number(kernel: int, source: str) -> None:
    found = check(run(kernel, FP32))
    assert (found.severity, found.passed) == ("advisory", False)
    assert found.detail == (
        f"its tensor cores do {FLOP} of {source}, where all inputs are float32 and the reference's do none such"
    )


def test_it_is_advice_and_fails_nothing() -> None:
    report = build_report(run(TF32, FP32))
    assert report.blocks.precision.passed is True
    assert report.blocks.integrity.passed is not False
    assert "precision_traded" in [one.code for one in report.blocks.integrity.warnings]


def test_by_counters_alone_where_nobody_knows_the_error() -> None:
    assert check(run(TF32, FP32, errors=None)).passed is False
    unknown = check(run(FP32, FP32, errors=None))
    assert (unknown.passed, unknown.reason) == (None, "error_not_measured")


@pytest.mark.parametrize(
    ("kernel", "ref", "dtypes"),
    [
        (FP32, FP32, ("float32",)),
        (TF32, TF32, ("float32",)),  # the reference does so too
        (TF32, None, ("float32",)),  # nobody counted the reference's
        (FP16, FP32, ("float16", "float32")),
        (FP16, FP32, ("bfloat16",)),
        (TF32, FP32, ("int64",)),  # no contract to break
        (3, FP32, ("float32",)),  # int8: quantised by contract or not, no floating type
    ],
)
def test_what_is_no_trade(kernel: int, ref: int | None, dtypes: tuple[str, ...]) -> None:
    found = check(run(kernel, ref, dtypes))
    assert (found.passed, found.detail) == (True, "")


@pytest.mark.parametrize(("ratio", "passed"), [(AS_EXACT_RATIO, True), (AS_EXACT_RATIO * 1.01, False)])
def test_narrow_products_that_make_an_exact_one_trade_nothing(ratio: float, passed: bool) -> None:
    found = check(run(TF32, FP32, errors=(ratio * 1e-6, 1e-6)))
    assert found.passed is passed
    assert f"{FLOP} of tf32" in found.detail


def test_by_error_and_by_counters_both_are_told() -> None:
    detail = check(run(TF32, FP32, errors=(1e-3, 1e-6))).detail
    assert "its error against fp64 is 0.001" in detail
    assert f"{FLOP} of tf32" in detail


@pytest.mark.parametrize("name", ["matmul_bf16", "cuda_naive_4x8192x4096", "triton_fused_4x8192x4096"])
def test_recorded_runs_of_honest_kernels_trade_nothing(name: str) -> None:

    capture = decode_capture((DATA / "h200" / f"{name}.json").read_bytes(), name)
    found = check(msgspec.structs.replace(capture, integrity=capture.integrity or IntegrityEvidence(probed=True)))
    assert found.passed is True
