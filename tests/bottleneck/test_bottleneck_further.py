"""Labels of further recorded kernels: probes with a bound by construction, and PyTorch's operators."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import pytest
from ncu_data import DATA, profile

from kprof.bottleneck.classify import classify
from kprof.collectors.ncu.csv_file import read_csv_text
from kprof.collectors.ncu.reading import read_report
from kprof.counter_evidence import ProfiledLaunch
from kprof.kernelnames import base_name

# In launch order: what may rightly be said of each. Some run twice or three times in other shapes.
PROBES = [
    ("fma_fp64", {"compute/fp64"}),
    ("hfma2", {"compute/issue", "compute/fp16", "compute/fma"}),
    ("int_logic", {"compute/alu"}),
    ("imad", {"compute/fma"}),
    ("dep_fma", {"latency/under_filled", "latency/execution_dependency", "latency/occupancy"}),
    ("dep_fma", {"latency/under_filled", "latency/execution_dependency"}),
    ("dep_fma", {"latency/execution_dependency"}),
    ("dep_chase_l2", {"latency/under_filled", "latency/memory_dependency", "latency/occupancy"}),
    ("dep_chase_l2", {"latency/memory_dependency"}),
    ("l1_read", {"memory/l1"}),
    ("smem_read", {"memory/shared"}),
    ("hot_atomic", {"latency/atomics", "memory/l2"}),
    ("spread_atomic", {"memory/l2", "latency/atomics"}),
    ("spill", {"latency/memory_dependency", "memory/l2", "memory/dram"}),
    ("diverge", {"compute/issue", "compute/fma"}),
    ("under", {"latency/under_filled"}),
    ("under", {"compute/issue", "latency/under_filled"}),
    ("ridge", {"memory/dram", "balanced"}),
    ("empty_k", {"latency/under_filled"}),
    ("empty_k", {"latency/memory_dependency", "latency/instruction_fetch", "latency"}),
    ("syncs", {"latency/barrier"}),
    ("shared_atomic", {"compute/issue", "memory/shared"}),
    ("dram_read", {"memory/dram"}),
    ("dram_write", {"memory/dram"}),
    ("tail", {"compute/issue", "compute/fma", "latency/imbalance"}),
    ("sqrt_div", {"compute/issue", "compute/alu", "compute/fma"}),
]
OPERATORS = {
    0: {"compute/tensor"},
    1: {"compute/issue", "compute/fma"},
    2: {"compute/tensor"},
    3: {"compute/tensor", "balanced"},
    4: {"compute/tensor"},
    14: {"memory/dram", "memory/l2"},
    15: {"memory/dram"},
    16: {"memory/dram"},
    17: {"memory/dram"},
    18: {"memory/dram"},
    19: {"memory/dram"},
    25: {"latency/under_filled"},
    26: {"memory/dram"},
    51: {"memory/l2"},
}


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> tuple[ProfiledLaunch, ...]:
    report: Path = tmp_path_factory.mktemp("probes") / "more.ncu-rep"
    report.write_bytes(gzip.decompress((DATA / "more-probes.ncu-rep.gz").read_bytes()))
    return read_report(report).launches


@cache
def operators() -> tuple[ProfiledLaunch, ...]:
    text = gzip.decompress((DATA / "torch-operators.raw.csv.gz").read_bytes()).decode()
    return read_csv_text(text.splitlines(keepends=True), "operators").launches


def label(launch: ProfiledLaunch) -> str:
    return classify(profile(launch)).label


@pytest.mark.parametrize(("number", "name", "right"), [(i, *probe) for i, probe in enumerate(PROBES)])
def test_probes(probes: tuple[ProfiledLaunch, ...], number: int, name: str, right: set[str]) -> None:
    launch = probes[number]
    assert base_name(launch.name) == name
    assert label(launch) in right


@pytest.mark.parametrize(("number", "right"), OPERATORS.items())
def test_operators(number: int, right: set[str]) -> None:
    assert label(operators()[number]) in right


def test_kprofs_own_report_tells_the_side() -> None:
    (launch,) = read_report(DATA / "logsumexp.ncu-rep").launches
    assert (launch.side, launch.samples_only) == ("kernel", False)
