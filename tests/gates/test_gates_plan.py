"""The thresholds file: its two parts, units, tolerances, and everything that it must not hold."""

from __future__ import annotations

import gate_reports
import pytest

from kprof.errors import UsageError
from kprof.gates.plan import default_plan, holds, parse_threshold, read_plan
from kprof.yamlfile import YamlDocument

EXAMPLE = """
thresholds:
  - timing.speedup >= 1.2
  - precision.passed == true
  - launches.kernel_launches <= 1
  - bottleneck.family != latency
  - kernels[gemm#2].duration_us < 3.5us
regressions:
  timing.kernel_us: 3% and 0.5 us
  sol.score: 5%
  roofline.arithmetic_intensity: {tolerance: 10%, better: higher}
"""


def test_the_example_of_the_documentation() -> None:
    plan = gate_reports.plan(EXAMPLE)
    assert [(one.path.text, one.operator, one.literal) for one in plan.thresholds] == [
        ("timing.speedup", ">=", 1.2),
        ("precision.passed", "==", True),
        ("launches.kernel_launches", "<=", 1),
        ("bottleneck.family", "!=", "latency"),
        ("kernels[gemm#2].duration_us", "<", 3.5),
    ]
    assert [(one.path.text, one.better, one.relative, one.absolute) for one in plan.regressions] == [
        ("timing.kernel_us", "lower", 0.03, 0.5),
        ("sol.score", "higher", 0.05, None),
        ("roofline.arithmetic_intensity", "higher", 0.1, None),
    ]


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("timing.kernel_us <= 12", 12.0),
        ("timing.kernel_us <= 12 us", 12.0),
        ("timing.kernel_us<=12us", 12.0),
        ("timing.kernel_us <= 0.012 ms", 12.0),
        ("timing.kernel_us <= 12000 ns", 12.0),
        ("timing.kernel_us <= 1.2e1 µs", 12.0),
        ("build.seconds < 500 ms", 0.5),
        ("timing.speedup >= 1.5x", 1.5),
        ("roofline.dram_bandwidth_gbs > 3.2 TB/s", 3200.0),
        ("occupancy.achieved_pct > 50 %", 50.0),
        ("memory.kernel_peak_mb < 2 GB", 2000.0),
        ("timing.method == 'CUPTI span over all streams'", "CUPTI span over all streams"),
        ("precision.passed != False", False),
    ],
)
def test_units_are_understood(text: str, literal: object) -> None:
    assert parse_threshold(text).literal == pytest.approx(literal)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("timing.kernel_us <= 12 GB/s", "unit 'GB/s'"),
        ("timing.kernel_us <= 12 furlongs", "ns, us, ms, s"),
        ("launches.kernel_launches <= 2 us", "plain number"),
        ("timing.kernel_us <= nan", "finite number"),
        ("timing.kernel_us <= inf", "finite number"),
        ("timing.kernel_us <= 1e999", "finite number"),
        ("timing.kernel_us <= fast", "finite number"),
        ("timing.kernel_us <= true", "finite number"),
        ("precision.passed == yes", "true or false"),
        ("precision.passed == 1", "true or false"),
        ("precision.passed >= true", ">= is for numbers"),
        ("bottleneck.family == memroy", "memory"),
        ("bottleneck.family < memory", "< is for numbers"),
        ("timing.kernel_us = 12", "path op value"),
        ("timing.kernel_us", "path op value"),
        ("timing.kernel_us <=", "path op value"),
        ("timing.kernel_us =< 12", "path op value"),
        ("timing.kernel_us <= 12 <= 13", "12 <= 13"),
        ("<= 12", "path op value"),
        ("", "path op value"),
    ],
)
def test_a_threshold_that_means_nothing_is_refused(text: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_threshold(text)
    assert told in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "an empty file"),
        ("# nothing yet\n", "an empty file"),
        ("- timing.speedup >= 1.2\n", "a list"),
        ("timing.speedup >= 1.2\n", "text"),
        ("thresholds: {}\n", "a mapping, expected a list"),
        ("thresholds: []\n", "no gate"),
        ("thresholds: []\nregressions: {}\n", "no gate"),
        ("thresholds:\n  timing.speedup: 1.2\n", "a mapping, expected a list"),
        ("thresholds:\n  - timing.speedup: 1.2\n", "a mapping, expected text"),
        ("thresholds:\n  - 5\n", "a number, expected text"),
        ("thresholds:\n  -\n", "nothing, expected text"),
        ("threshold:\n  - timing.speedup >= 1.2\n", "no such part"),
        ("regressions:\n  - timing.kernel_us: 3%\n", "a list, expected path: tolerance"),
        ("regressions:\n", "nothing, expected path: tolerance"),
        ("regressions: 3%\n", "text, expected path: tolerance"),
        ("regressions:\n  timing.kernel_us: 3\n", "3% or 3 us"),
        ("regressions:\n  timing.kernel_us: '3'\n", "3% or 3 us"),
        ("regressions:\n  timing.kernel_us:\n", "nothing without a unit"),
        ("regressions:\n  timing.kernel_us: -3%\n", "0 or more"),
        ("regressions:\n  timing.kernel_us: nan%\n", "finite"),
        ("regressions:\n  timing.kernel_us: .nan\n", "finite"),
        ("regressions:\n  timing.kernel_us: 3% and 5%\n", "two tolerances of one kind"),
        ("regressions:\n  timing.kernel_us: 3% or 5 us\n", "finite tolerance"),
        ("regressions:\n  timing.kernel_us: 3 GB/s\n", "unit 'GB/s'"),
        ("regressions:\n  timing.kernel_us: [3%]\n", "a list"),
        ("regressions:\n  timing.kernel_us: {tolerance: 3%, worse: lower}\n", "'worse'"),
        ("regressions:\n  timing.kernel_us: {better: lower}\n", "no tolerance"),
        ("regressions:\n  timing.kernel_us: {tolerance: 3%, better: faster}\n", "'faster'"),
        ("regressions:\n  roofline.arithmetic_intensity: 3%\n", "neither way"),
        ("regressions:\n  precision.passed: 3%\n", "true or false"),
        ("regressions:\n  bottleneck.family: 3%\n", "text"),
        ("regressions:\n  timing.kernl_us: 3%\n", "timing.kernel_us"),
        ("regressions:\n  timing.kernel_us: 3%\n  timing.kernel_us: 5%\n", "found twice"),
        ("thresholds:\n  - timing.kernl_us < 3\n", "timing.kernel_us"),
        ("thresholds:\n  - timing.kernel_us < 3\n  - timing.kernel_us < 3\n", "twice"),
        ("thresholds: [", "not readable as YAML"),
    ],
)
def test_a_file_of_another_form_is_refused_with_its_line(text: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        gate_reports.plan(text)
    assert told in f"{caught.value.message} {caught.value.hint}"
    assert caught.value.message.startswith("t.yaml")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("one", "other", "possible"),
    [
        ("< 5", "> 10", False),
        ("< 5", "> 5", False),
        ("<= 5", "> 5", False),
        ("<= 5", ">= 5", True),
        ("<= 5", "< 10", True),
        ("> 5", "> 7", True),
        ("== 5", "< 5", False),
        ("== 5", "<= 5", True),
        ("== 5", "!= 5", False),
        ("!= 5", "!= 6", True),
        ("== 5", "== 6", False),
        ("< 12 us", "> 0.012 ms", False),
    ],
)
def test_thresholds_that_no_value_passes_together_are_refused(one: str, other: str, possible: bool) -> None:
    for first, second in ((one, other), (other, one)):
        text = f"thresholds:\n  - timing.kernel_us {first}\n  - timing.kernel_us {second}\n"
        if possible:
            assert len(gate_reports.plan(text).thresholds) == 2
        else:
            with pytest.raises(UsageError, match="contradicts"):
                gate_reports.plan(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("precision.passed == true", "precision.passed == false"),
        ("precision.passed != true", "precision.passed != false"),
        ("precision.passed == true", "precision.passed != true"),
        ("bottleneck.family == memory", "bottleneck.family == compute"),
    ],
)
def test_words_and_flags_contradict_too(one: str, other: str) -> None:
    with pytest.raises(UsageError, match="contradicts"):
        gate_reports.plan(f"thresholds:\n  - {one}\n  - {other}\n")


def test_a_file_without_regressions_leaves_the_default_ones_and_an_empty_part_none() -> None:
    only = "thresholds:\n  - timing.speedup > 1\n"
    assert gate_reports.plan(only).regressions == default_plan().regressions
    assert gate_reports.plan(f"{only}regressions: {{}}\n").regressions == ()
    (default,) = default_plan().regressions
    assert (default.path.text, default.relative) == ("timing.kernel_us", 0.01)


@pytest.mark.parametrize(
    ("value", "operator", "literal", "result"),
    [
        (1.2, ">=", 1.2, True),
        (1.2, ">", 1.2, False),
        (1.2, "<=", 1.2, True),
        (1.2, "<", 1.2, False),
        (1.2, "==", 1.2, True),
        (1.2, "!=", 1.2, False),
        (1, "==", 1.0, True),
        ("memory", "==", "memory", True),
        (True, "!=", True, False),
    ],
)
def test_the_border_belongs_to_the_operators_that_say_so(
    value: float, operator: str, literal: float, result: bool
) -> None:
    assert holds(value, operator, literal) is result  # type: ignore[arg-type]


def test_the_reader_says_where_it_reads() -> None:
    with pytest.raises(UsageError, match=r"g\.yaml:3: thresholds\[1\]"):
        read_plan(YamlDocument("g.yaml", "thresholds:\n  - timing.speedup > 1\n  - timing.spedup > 1\n"))
