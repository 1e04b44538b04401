"""The registry: every number of a report is declared, and its name says the unit that is declared."""

from __future__ import annotations

import typing
from typing import Annotated

import pytest

from kprof.evidence import Record
from kprof.metrics import SUFFIX_UNITS, UNITS, describe, metric
from kprof.report import Blocks, Report


class Undeclared(Record, frozen=True, kw_only=True):
    good_us: Annotated[float, metric("us", "Time", source="test")]
    bad: tuple[int, ...] | None = None


class Contradicting(Record, frozen=True, kw_only=True):
    time_us: Annotated[float | None, metric("s", "Time", source="test")] = None


class Inner(Record, frozen=True, kw_only=True):
    length_mb: Annotated[float, metric("MB", "Length", better="lower", source="test")]


class Outer(Record, frozen=True, kw_only=True):
    one: Inner | None = None
    many: tuple[Inner, ...] = ()
    named: Annotated[dict[str, Inner], metric("record", "By name", source="test")] = {}  # noqa: RUF012
    label: str = ""


def test_every_number_of_a_report_is_declared_and_named_after_its_unit() -> None:
    described = describe(Report)
    numeric = {path: info for path, info in described.items() if info.numeric}
    assert len(numeric) > 200
    for path, info in numeric.items():
        assert info.unit in UNITS - {"text", "bool", "record"}, path
        assert info.meaning, path
        assert info.source, path
        for suffix, unit in SUFFIX_UNITS.items():
            if path.endswith(suffix):
                assert info.unit == unit, path


def test_every_field_of_every_block_is_declared_text_and_flags_too() -> None:
    described = describe(Blocks)
    fields = [
        f"{name}.{field}" for name, block in typing.get_type_hints(Blocks).items() for field in block.__struct_fields__
    ]
    assert len(fields) > 13 * 5
    assert [field for field in fields if field not in described] == []


@pytest.mark.parametrize(
    ("path", "unit", "better"),
    [
        ("timing.kernel_us", "us", "lower"),
        ("timing.ref_us", "us", None),
        ("timing.speedup", "ratio", "higher"),
        ("timing.device.cold.kernel_p95_us", "us", "lower"),
        ("timing.samples_us.*.kernel", "us", "lower"),
        ("timing.repeats[].kernel_spread_pct", "%", "lower"),
        ("precision.passed", "bool", "higher"),
        ("precision.max_abs_error", "output", "lower"),
        ("memory.kernel_peak_mb", "MB", "lower"),
        ("launches.kernel_launches", "count", "lower"),
        ("launches.fusion_ratio", "ratio", "higher"),
        ("launches.table[].total_us", "us", "lower"),
        ("sol.score", "ratio", "higher"),
        ("roofline.peak_fp16_tflops", "TFLOP/s", None),
        ("roofline.arithmetic_intensity", "FLOP/byte", None),
        ("build.seconds", "s", "lower"),
        ("stalls.warp_cycles_per_instruction", "cycles/instruction", "lower"),
    ],
)
def test_what_gates_and_comparison_will_ask_for(path: str, unit: str, better: str | None) -> None:
    info = describe(Blocks)[path]
    assert info.unit == unit
    assert info.better == better


def test_a_number_without_a_declaration_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"Undeclared\.bad is a number without a unit"):
        describe(Undeclared)


def test_a_name_that_contradicts_its_unit_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Contradicting\.time_us declares s; its name says us"):
        describe(Contradicting)


def test_a_unit_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="furlong"):
        metric("furlong", "Length", source="test")


def test_paths_go_into_records_lists_and_maps() -> None:
    assert list(describe(Outer)) == ["one.length_mb", "many[].length_mb", "named", "named.*.length_mb"]


def test_a_description_holds_meaning_unit_and_source() -> None:
    meta = metric("us", "Time of a call", better="lower", source="a clock")
    assert meta.description == "Time of a call. Unit: us. Source: a clock."
    assert meta.extra_json_schema == {"x-unit": "us", "x-better": "lower", "x-source": "a clock"}
    assert metric("text", "A word", source="a book").description == "A word. Source: a book."
