"""Recorded reports: complete, alike in every form, and the labels of the details page against the raw page."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import pytest
from ncu_tables import LAUNCH, RECORDED, launch_cells, quoted, read

from kprof.collectors.ncu.labels import LABELS, metric_of_label
from kprof.collectors.ncu.numbers import parse_cell
from kprof.collectors.ncu.reading import read_report
from kprof.collectors.ncu.units import parse_unit
from kprof.counter_evidence import ProfiledLaunch
from kprof.counters.resolve import DEVICE_NAME, is_wanted

REPORT = RECORDED / "probes.ncu-rep"
RAW = RECORDED / "probes.raw.csv"
DETAILS = RECORDED / "probes.details.csv"
KERNELS = [
    "pointer_chase", "dram_copy", "fma_fp32", "mma_fp16", "xu_exp", "l2_read", "smem_conflict", "uncoalesced",
    "barrier_heavy", "low_occ_copy", "one_long_block", "logsumexp_kernel", "logsumexp_kernel",
]  # fmt: skip
# What a program does again in every run; times, hit rates and stalls move from run to run.
EXACT = (
    "smsp__inst_executed.sum", "launch__", "device__attribute", "l1tex__t_requests_pipe_lsu_mem_global",
    "l1tex__t_sectors_pipe_lsu_mem_global", "sm__ops_path_tensor", "peak_sustained_", ".sum.peak_sustained",
    "smsp__thread_inst_executed",
)  # fmt: skip


def base_names(launches: tuple[ProfiledLaunch, ...]) -> list[str]:
    return [launch.name.partition("(")[0] for launch in launches]


@pytest.mark.parametrize("path", [RAW, RECORDED / "library-kernels.raw.csv"], ids=lambda path: path.name)
def test_a_raw_page_is_complete(path) -> None:  # type: ignore[no-untyped-def]
    with path.open(newline="") as stream:
        header, _, *rows = list(csv.reader(stream))
    evidence = read_report(path)
    assert evidence.format == "ncu_csv_raw"
    assert evidence.warnings == ()
    assert [launch.launch_id for launch in evidence.launches] == [int(row[0]) for row in rows]
    wanted = {name for name in header if is_wanted(name)}
    assert len(wanted) > 200
    for launch, row in zip(evidence.launches, rows, strict=True):
        assert launch.metrics.keys() | launch.absent.keys() == wanted
        assert launch.name == row[header.index("Kernel Name")]
        # These were exported in base units: each number is the cell's own.
        for name, value in launch.metrics.items():
            text = row[header.index(name)]
            assert value == (text if name == DEVICE_NAME else float(text.replace(",", "")))


def test_a_binary_report_is_complete() -> None:
    ncu_report = pytest.importorskip("ncu_report", reason="needs ncu-report (pip install ncu-report)")
    actions = ncu_report.load_report(str(REPORT)).range_by_idx(0)
    evidence = read_report(REPORT)
    assert (evidence.format, evidence.ncu_version, evidence.warnings) == ("ncu_report", "2025.3.1", ())
    assert base_names(evidence.launches) == KERNELS
    for number, launch in enumerate(evidence.launches):
        names = actions.action_by_idx(number).metric_names()
        assert launch.launch_id == number
        assert launch.metrics.keys() | launch.absent.keys() == set(filter(is_wanted, names))
        assert launch.metrics[DEVICE_NAME] == "NVIDIA H200"


def test_two_runs_in_two_forms_tell_the_same() -> None:
    """The report and the table are of two runs of one program: its work is equal, its times nearly."""
    report, table = read_report(REPORT).launches, read_report(RAW).launches
    assert base_names(report) == base_names(table) == KERNELS
    compared = 0
    for one, other in zip(report, table, strict=True):
        for field in ("name", "device", "grid", "block", "compute_capability"):
            assert getattr(one, field) == getattr(other, field), field
        for name in one.metrics.keys() & other.metrics.keys():
            if any(part in name for part in EXACT) and "pct_of_peak" not in name:
                assert other.metrics[name] == (
                    one.metrics[name] if name == DEVICE_NAME else pytest.approx(one.metrics[name], rel=5e-3, abs=5e-3)
                ), name
                compared += 1
        # A kernel of 2 us spreads more than the others.
        near = 0.2 if one.metrics["gpu__time_duration.sum"] < 5e3 else 0.05  # type: ignore[operator]
        assert other.metrics["gpu__time_duration.sum"] == pytest.approx(one.metrics["gpu__time_duration.sum"], rel=near)
    assert compared > 400


def guessed(name: str) -> str:
    """The base unit of a metric that the recorded table does not have."""
    return "ns" if "__time" in name else "byte" if "bytes" in name else ""


def test_a_report_printed_as_a_table_reads_the_same() -> None:
    """Every value of the binary report, in the spelling of a raw page with automatic units."""
    report = read_report(REPORT).launches
    with RAW.open(newline="") as stream:
        base = dict(zip(*list(csv.reader(stream))[:2], strict=True))
    scaled = {
        **{
            name: base.get(name) or ("ns" if "__time" in name else "byte" if "bytes" in name else "")
            for name in report[0].metrics
        },
        "gpu__time_duration.sum": "usecond",
        "dram__bytes_read.sum": "Mbyte",
        "dram__bytes.sum.per_second": "Gbyte/s",
    }
    names = list(report[0].metrics)
    rows = []
    for launch in report:
        cells = []
        for name in names:
            value = launch.metrics[name]
            factor = parse_unit(scaled.get(name, "")).factor  # type: ignore[union-attr]
            cells.append(value if isinstance(value, str) else f"{value / factor:,.12f}")
        rows.append([*launch_cells(launch.launch_id, launch.name), *cells])
    table = quoted([*LAUNCH, *names], [*[""] * 11, *(scaled.get(name, "") for name in names)], *rows)
    for launch, again in zip(report, read(table).launches, strict=True):
        assert again.name == launch.name
        assert again.metrics.keys() == launch.metrics.keys()
        for name, value in launch.metrics.items():
            assert again.metrics[name] == (
                value if isinstance(value, str) else pytest.approx(value, rel=1e-6, abs=1e-6)
            )


def details_rows() -> Iterator[dict[str, str]]:
    with DETAILS.open(newline="") as stream:
        yield from (row for row in csv.DictReader(stream) if row["Metric Name"])


def test_the_details_page_is_read() -> None:
    evidence = read_report(DETAILS)
    assert (evidence.format, evidence.warnings) == ("ncu_csv_details", ())
    assert [launch.launch_id for launch in evidence.launches] == [0, 1, 3, 5]
    assert all(len(launch.metrics) == len({name for name, _ in LABELS.values()}) for launch in evidence.launches)
    assert all(DEVICE_NAME not in launch.metrics for launch in evidence.launches)
    tables = {launch.launch_id: launch for launch in read_report(RAW).launches}
    for launch in evidence.launches:
        table = tables[launch.launch_id]
        assert (launch.name, launch.grid, launch.process_id) == (table.name, table.grid, table.process_id)


@pytest.mark.parametrize("label", LABELS, ids=lambda label: " ".join(label))
def test_a_label_shows_its_metric(label: tuple[str, str]) -> None:
    """The label's value is the metric's, within the last digit shown, in each of the four launches."""
    name, bases = LABELS[label]
    assert is_wanted(name)
    raw = {launch.launch_id: launch for launch in read_report(RAW).launches}
    rows = [row for row in details_rows() if (row["Section Name"], row["Metric Name"]) == label]
    assert [row["ID"] for row in rows] == ["0", "1", "3", "5"]
    for row in rows:
        unit, shown = parse_unit(row["Metric Unit"]), parse_cell(row["Metric Value"])
        assert unit is not None
        assert isinstance(shown, float)
        assert unit.base in bases
        digits = len(row["Metric Value"].partition(".")[2])
        last_digit = 10.0**-digits * unit.factor
        # The raw page is rounded to two digits, too.
        assert raw[int(row["ID"])].metrics[name] == pytest.approx(
            shown * unit.factor, rel=0, abs=0.51 * last_digit + 0.005
        )


def test_a_label_counts_only_with_its_section_and_unit() -> None:
    memory = ("Memory Workload Analysis", "Memory Throughput")
    assert metric_of_label(*memory, "Tbyte/s", "9.0") == "dram__bytes.sum.per_second"
    assert metric_of_label(*memory, "%", "9.0") is None
    assert metric_of_label(*memory, "", "9.0") is None
    assert metric_of_label(*memory, "byte/s", "11.0") is None
    whole = metric_of_label("GPU Speed Of Light Throughput", "Memory Throughput", "%", "9.0")
    assert whole == "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
    assert metric_of_label("GPU Speed Of Light Throughput", "Memory Throughput", "Gbyte/s", "9.0") is None
    assert metric_of_label("Some Section", "Duration", "us", "9.0") is None


def test_a_metric_under_its_own_name_overrules_a_label() -> None:
    sol = "GPU Speed Of Light Throughput"
    header = [*LAUNCH, "Section Name", "Metric Name", "Metric Unit", "Metric Value"]
    label = [*launch_cells(), sol, "Duration", "us", "1.23"]
    exact = [*launch_cells(), "Command line profiler metrics", "gpu__time_duration.sum", "ns", "1,234"]
    for rows in ([label, exact], [exact, label]):
        assert read(quoted(header, *rows)).launches[0].metrics == {"gpu__time_duration.sum": 1234.0}
    unknown = [*exact[:-1], "n/a"]
    for rows in ([label, unknown], [unknown, label]):
        assert read(quoted(header, *rows)).launches[0].metrics == {"gpu__time_duration.sum": 1230.0}
    both = [*launch_cells(), sol, "Duration gpu__time_duration.sum", "us", "1.23"]
    assert read(quoted(header, both)).launches[0].metrics == {"gpu__time_duration.sum": 1230.0}
