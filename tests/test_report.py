"""The report: valid for every kind of run, the same again from its capture, and the exit code it asks for."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import captures
import jsonschema
import made_evidence
import msgspec
import pytest

import kprof
from kprof.blocks.base import null_paths
from kprof.capture import decode_capture, encode_capture
from kprof.evidence import Fault, TimingEvidence
from kprof.renderers.json import render, render_json
from kprof.report import BLOCK_NAMES, Report, build_report, exit_code, report_schema

PUBLISHED = Path(kprof.__file__).parent / "schema" / "report-v1.json"
every_run = pytest.mark.parametrize("name", captures.ALL)


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def strict(text: str) -> Any:
    return json.loads(text, parse_constant=refuse)


@every_run
def test_every_report_is_valid_against_the_published_schema(name: str) -> None:
    document = strict(render(build_report(captures.ALL[name]())))
    schema = strict(PUBLISHED.read_text())
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    assert [error.message for error in validator.iter_errors(document)] == []


@every_run
def test_every_null_of_every_block_has_a_reason_and_every_reason_a_null(name: str) -> None:
    report = build_report(captures.ALL[name]())
    for block_name in BLOCK_NAMES:
        block = getattr(report.blocks, block_name)
        assert set(block.reasons) == set(null_paths(block)), block_name
        assert all(code.replace("_", "").isalnum() and code == code.lower() for code in block.reasons.values())
    for kernel in report.kernels:
        assert set(kernel.reasons) == set(null_paths(kernel))


@every_run
def test_the_report_is_the_same_again_from_its_capture(name: str) -> None:
    capture = captures.ALL[name]()
    again = decode_capture(encode_capture(capture), "a file")
    measured, replayed = build_report(capture), build_report(again, "replayed")
    assert replayed.source == "replayed"
    assert msgspec.structs.replace(replayed, source="measured") == measured


@every_run
def test_a_report_can_be_read_back(name: str) -> None:
    report = build_report(captures.ALL[name]())
    assert msgspec.json.decode(render(report), type=Report) == report


@every_run
def test_every_block_is_present(name: str) -> None:
    document = strict(render(build_report(captures.ALL[name]())))
    assert tuple(document["blocks"]) == BLOCK_NAMES
    assert {"build", "precision", "timing", "memory", "launches", "sol", "integrity"} < set(BLOCK_NAMES)
    assert document["schema_version"] == 1
    assert document["kprof_version"] == kprof.__version__
    assert document["created"] == "2026-12-01T15:00:00Z"


def test_the_published_schema_is_the_generated_one() -> None:
    assert PUBLISHED.read_text() == render_json(report_schema()), (
        "the schema changed; write it again with: kprof schema > kprof/schema/report-v1.json"
    )


def test_the_schema_is_strict_and_describes_every_field_of_ours() -> None:
    schema = report_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == "urn:kprof:report:1"
    timing = schema["$defs"]["TimingBlock"]["properties"]
    assert timing["kernel_us"]["description"] == "Kernel: headline time. Unit: us. Source: the headline view."
    assert timing["kernel_us"]["x-unit"] == "us"
    assert set(timing["status"]["enum"]) == {"ok", "unavailable", "failed", "skipped", "suspect"}
    evidence = {"Reason", "Fault", "Mismatch"}
    for name, definition in schema["$defs"].items():
        assert definition["required"] == list(definition["properties"]), name
        assert definition["additionalProperties"] is False, name
        for field, described in definition["properties"].items():
            assert name in evidence or "description" in described, f"{name}.{field}"


def valid(document: Any) -> bool:
    return jsonschema.Draft202012Validator(report_schema()).is_valid(document)


def test_the_schema_refuses_what_a_report_never_holds() -> None:
    document = strict(render(build_report(captures.h200_tiny())))
    assert valid(document)
    for path, value in (
        (("blocks", "timing", "status"), "fine"),
        (("blocks", "timing", "kernel_us"), "1.6"),
        (("blocks", "timing", "kernel_ms"), 1.6),
        (("schema_version",), 2),
        (("blocks", "precision", "passed"), 1),
    ):
        changed = json.loads(json.dumps(document))
        place = changed
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        assert not valid(changed), path
    del document["blocks"]["sol"]
    assert not valid(document)


def test_numbers_that_are_not_finite_never_reach_the_json() -> None:
    bad = made_evidence.trial(1, max_abs_error=math.inf, mean_rel_error=math.nan, worst_kernel_value=math.nan)
    series = made_evidence.series("host", "warm", 20.0, 90.0)
    samples = (*series.kernel_us[:-1], math.nan)
    timing = captures.cpu_run().timing
    assert timing is not None
    capture = captures.cpu_run(
        precision=made_evidence.precision(bad),
        timing=msgspec.structs.replace(timing, series=(msgspec.structs.replace(series, kernel_us=samples),)),
        workload=made_evidence.workload(overrides={"R": math.inf, "D": 4}),
    )
    report = build_report(capture)
    document = strict(render(report))
    assert valid(document)
    assert document["workload"]["overrides"] == {"R": "inf", "D": 4}
    assert document["blocks"]["precision"]["reasons"]["max_abs_error"] == "not_finite"
    timing_block = document["blocks"]["timing"]
    assert timing_block["kernel_us"] is None
    for path in ("kernel_us", "host.warm.kernel_median_us", "samples_us.host.kernel"):
        assert timing_block["reasons"][path] == "not_finite", path


def test_kernels_are_the_launches_in_order_with_counters_null() -> None:
    kernels = build_report(captures.h200_tiny()).kernels
    assert [kernel.id for kernel in kernels] == list(range(10))
    assert [kernel.side for kernel in kernels] == ["kernel"] + ["ref"] * 9
    first, last = kernels[0], kernels[-1]
    assert (first.name, first.full_name) == ("logsumexp_kernel", made_evidence.NAIVE)
    assert (first.grid, first.block, first.duration_us) == ((2, 1, 1), (256, 1, 1), 1.6)
    assert first.duration_source == "torch.profiler"
    assert (last.name, last.duration_us) == ("exp_kernel", 2.0)
    counted = ("sol", "roofline", "occupancy", "caches", "stalls", "bottleneck")
    expected = dict.fromkeys(counted, "counters_not_collected") | {
        "device": "not_collected",
        "process_id": "not_collected",
        "launch_id": "not_collected",
    }
    assert first.reasons == expected


def test_no_kernels_without_a_device_or_unless_asked_for() -> None:
    assert build_report(captures.cpu_run()).kernels == ()
    assert build_report(captures.h200_tiny(requested=("timing",))).kernels == ()


def test_the_workload_and_the_machine_are_told() -> None:
    document = strict(render(build_report(captures.h200_tiny())))
    assert document["workload"]["inputs"] == [
        {"path": "[0]", "shape": [4, 10, 32], "dtype": "float32", "constant": False}
    ]
    assert document["environment"]["clocks_before"]["sm_mhz"] == 1980
    assert document["environment"]["device_name"] == "NVIDIA H200"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("cpu", 0),
        ("tiny", 0),
        ("without_ref", 0),
        ("only_build", 0),
        ("nan", 0),
        ("wrong", 1),
        ("build_failure", 3),
        ("precision_crash", 3),
        ("timing_hang", 3),
        ("ref_failure", 3),
    ],
)
def test_exit_code(name: str, code: int) -> None:
    assert exit_code(build_report(captures.ALL[name]())) == code


@pytest.mark.parametrize(
    ("stage", "side", "code"),
    [
        ("load", None, 3),
        ("build", "ref", 3),
        ("timing", None, 3),
        ("launches", "kernel", 3),
        ("memory", "ref", 3),
        ("launches", None, 0),
        ("memory", None, 0),
    ],
)
def test_exit_code_of_a_fault(stage: Any, side: Any, code: int) -> None:
    fault = Fault(stage=stage, side=side, code="crashed", message="it fell")
    assert exit_code(build_report(captures.h200_tiny(faults=(fault,)))) == code


def test_a_fault_comes_before_a_wrong_result() -> None:
    fault = Fault(stage="timing", side="kernel", code="crashed", message="it fell")
    report = build_report(msgspec.structs.replace(captures.wrong_kernel(), faults=(fault,)))
    assert report.blocks.precision.passed is False
    assert exit_code(report) == 3


def test_faults_keep_the_tail_of_the_output() -> None:
    assert build_report(captures.build_failure()).faults[0].detail.startswith("cuda.cu(12)")


def test_timing_without_a_headline_could_not_measure() -> None:
    report = build_report(captures.cpu_run())
    assert report.blocks.timing.kernel_us is not None
    assert exit_code(report) == 0
    empty = msgspec.structs.replace(
        captures.cpu_run(), timing=TimingEvidence(series=(made_evidence.series("host_stream", "warm", 1.0, 1.0),))
    )
    assert exit_code(build_report(empty)) == 3
