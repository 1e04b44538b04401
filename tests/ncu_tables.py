"""Tables as ncu prints them, written small for one test each."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from kprof.collectors.ncu.csv_file import read_csv_text
from kprof.counter_evidence import CountersEvidence

RECORDED = Path(__file__).parent / "data" / "ncu"
LAUNCH = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size",
          "Grid Size", "Device", "CC")  # fmt: skip
DETAILS = (*LAUNCH, "Section Name", "Metric Name", "Metric Unit", "Metric Value")
BY_NAME = "Command line profiler metrics"
DURATION = "gpu__time_duration.sum"
READ = "dram__bytes_read.sum"


def launch_cells(launch_id: int = 0, name: str = "k", process: int = 1, device: int = 0) -> list[str]:
    """The cells that say which launch a row is of."""
    return [
        str(launch_id), str(process), "python", "h", name, "1", "7", "(256, 1, 1)", "(64, 1, 1)", str(device), "9.0",
    ]  # fmt: skip


def quoted(*rows: Sequence[str]) -> str:
    """Rows in ncu's spelling: every cell quoted."""
    stream = io.StringIO()
    csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def details_row(metric: str, unit: str, value: str, section: str = BY_NAME, **launch: int | str) -> list[str]:
    """One row of a details page."""
    return [*launch_cells(**launch), section, metric, unit, value]  # type: ignore[arg-type]


def raw_table(columns: dict[str, tuple[str, ...]], units: Sequence[str] | None = None) -> str:
    """A raw page: metric to its cells, a launch each."""
    rows = [[*LAUNCH, *columns]]
    if units is not None:
        rows.append([*[""] * len(LAUNCH), *units])
    for launch_id, cells in enumerate(zip(*columns.values(), strict=True)):
        rows.append([*launch_cells(launch_id), *cells])
    return quoted(*rows)


def read(text: str) -> CountersEvidence:
    """What the text holds."""
    return read_csv_text(io.StringIO(text, newline=""), "test.csv")


def codes(evidence: CountersEvidence) -> list[str]:
    """Codes of the warnings."""
    return [warning.code for warning in evidence.warnings]
