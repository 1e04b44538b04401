"""ncu's command line: explicit, complete, in the order that ncu takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kprof.collectors.ncu_run.command_line import RunSettings, kernels_named, ncu_command
from kprof.collectors.ncu_run.request import MetricRequest
from kprof.collectors.ncu_run.tool import NcuTool

NEW = NcuTool(Path("/opt/ncu"), options=frozenset({"--metrics", "--config-file", "--warp-sampling-interval"}))
METRICS = MetricRequest("default", ("a.sum", "b.avg"))
SETTINGS = RunSettings(clock_control="none", cache_control="all", launches=64)


def test_the_whole_line() -> None:
    assert ncu_command(NEW, METRICS, SETTINGS, Path("/p/r.ncu-rep"), Path("/p/log")) == (
        "/opt/ncu", "--config-file", "off",
        "--target-processes", "all", "--profile-from-start", "off", "--nvtx",
        "--clock-control", "none", "--cache-control", "all", "--replay-mode", "kernel", "--launch-count", "64",
        "--metrics", "a.sum,b.avg", "--warp-sampling-interval", "0",
        "--force-overwrite", "--export", "/p/r.ncu-rep", "--log-file", "/p/log",
    )  # fmt: skip


def test_kernels_and_sets_are_asked_for_where_given() -> None:
    settings = RunSettings("base", "none", 3, kernels="^gemm$")
    line = ncu_command(NEW, MetricRequest("full", ("a",), "full"), settings, Path("r"), Path("l"))
    assert line[line.index("--kernel-name-base") :][:4] == (
        "--kernel-name-base", "function", "--kernel-name", "regex:^gemm$",
    )  # fmt: skip
    assert line[line.index("--set") + 1] == "full"
    assert line[line.index("--clock-control") + 1] == "base"
    assert line[line.index("--cache-control") + 1] == "none"


@pytest.mark.parametrize(
    ("options", "interval"),
    [
        ({"--metrics", "--sampling-interval"}, "--sampling-interval"),
        ({"--metrics"}, None),
        ((), "--warp-sampling-interval"),
    ],
)
def test_an_option_goes_by_the_name_that_this_ncu_has(options: set[str], interval: str | None) -> None:
    line = ncu_command(NcuTool(Path("ncu"), options=frozenset(options)), METRICS, SETTINGS, Path("r"), Path("l"))
    assert [argument for argument in line if argument.endswith("sampling-interval")] == ([interval] if interval else [])
    assert ("--config-file" in line) == (not options)


def test_names_match_themselves_and_nothing_else() -> None:
    pattern = re.compile(kernels_named(["gemm", "operator()", "a.b", "gemm"]))
    for name in ("gemm", "gemm(float *, int)", "gemm<128, 64>", "operator()", "operator()(int)", "a.b"):
        assert pattern.search(name), name
    for name in ("gemm2", "my_gemm", "axb", "operator", "GEMM"):
        assert not pattern.search(name), name
