"""Files that are almost right, given to every command that reads some: an exit code that is promised, an error in words
or strict JSON, and an end in time. Never a traceback.

The examples are the same in each run. KPROF_FUZZ_EXAMPLES=3000 tries so many of each kind.
"""

from __future__ import annotations

import contextlib
import gc
import gzip
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import captures
import pytest
from fuzzing import changed_bytes, changed_json
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from running import REPO

from kprof import cli
from kprof.capture import decode_capture, encode_capture
from kprof.collectors.launches.trace import read_trace
from kprof.collectors.launches.windows import find_windows, launch_calls, queue_kept_full
from kprof.errors import CannotMeasureError
from kprof.renderers.json import render
from kprof.report import build_report

DATA = Path(__file__).parent / "data"
EXAMPLES = int(os.environ.get("KPROF_FUZZ_EXAMPLES", "0"))
CODES = frozenset({0, 1, 2, 3, 4})
LONGEST_S = 20.0
"""No single file may take longer, on a busy machine; what hangs takes far more."""


def profile(examples: int) -> settings:
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
    return settings(derandomize=True, deadline=None, max_examples=EXAMPLES or examples, suppress_health_check=checks)


class Ran:
    """One run of a command."""

    def __init__(self, code: int, out: io.BytesIO, err: io.BytesIO) -> None:
        self.code, self.stdout, self.stderr = code, out.getvalue(), err.getvalue().decode()

    def __repr__(self) -> str:
        return f"exit {self.code}: {self.stderr[-3000:]}"


def stream(raw: io.BytesIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(raw, "utf-8", "backslashreplace", write_through=True)


def run(*arguments: str) -> Ran:
    """The command, in this process, with its own streams."""
    out, err = io.BytesIO(), io.BytesIO()
    began = time.monotonic()
    try:
        with contextlib.redirect_stdout(stream(out)), contextlib.redirect_stderr(stream(err)):
            ran = Ran(cli.run(list(arguments)), out, err)
    finally:
        gc.enable()  # as a command of its own, import need not
    assert time.monotonic() - began < LONGEST_S, arguments
    return ran


def no_constant(name: str) -> None:
    raise AssertionError(f"{name} in JSON")


def judge(ran: Ran, *, json_out: bool = True) -> None:
    """What is promised of every end."""
    assert ran.code in CODES, ran
    assert "Traceback" not in ran.stderr, ran
    assert "internal error" not in ran.stderr, ran
    if ran.code == 2:
        assert ran.stdout == b""
        assert any(line.startswith(("kprof: error: ", "Error: ")) for line in ran.stderr.splitlines()), ran
    elif json_out:
        assert isinstance(json.loads(ran.stdout.decode(), parse_constant=no_constant), dict)


def needs(command: str) -> pytest.MarkDecorator:
    """Commands that this checkout does not have yet are left out."""
    return pytest.mark.skipif(command not in cli._COMMANDS, reason=f"needs kprof {command} (not among the commands)")


CAPTURE = encode_capture(captures.h200_tiny())
RECORDED = (DATA / "h200" / "cuda_naive_4x10x32.json").read_bytes()
REPORT = render(build_report(decode_capture(RECORDED, "recorded"))).encode()
SPEC = (REPO / "specs" / "h200-sxm-141gb.yaml").read_bytes()
RAW = b"".join((DATA / "ncu" / "probes.raw.csv").read_bytes().splitlines(keepends=True)[:5])
DETAILS = b"".join((DATA / "ncu" / "probes.details.csv").read_bytes().splitlines(keepends=True)[:150])
THRESHOLDS = b"""thresholds:
  - timing.speedup >= 1.2
  - precision.passed == true
  - kernels[logsumexp_kernel].duration_us <= 5
regressions:
  timing.kernel_us: 3%
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("fuzz")
    (made / "report.json").write_bytes(REPORT)
    (made / "capture.json").write_bytes(CAPTURE)
    (made / "thresholds.yaml").write_bytes(THRESHOLDS)
    with contextlib.chdir(made) if sys.version_info >= (3, 11) else contextlib.nullcontext():
        yield made


def put(folder: Path, name: str, data: bytes) -> str:
    (folder / name).write_bytes(data)
    return str(folder / name)


@profile(60)
@given(st.one_of(changed_json(json.loads(CAPTURE)), changed_json(json.loads(RECORDED)), changed_bytes(CAPTURE)))
def test_captures(folder: Path, data: bytes) -> None:
    judge(run("analyze", "--capture", put(folder, "c.json", data), "-q"))


@profile(40)
@given(st.one_of(changed_json(json.loads(REPORT)), changed_bytes(REPORT)), st.sampled_from(("json", "text")))
def test_reports(folder: Path, data: bytes, format_: str) -> None:
    judge(run("report", put(folder, "r.json", data), "--format", format_), json_out=format_ == "json")


@profile(60)
@given(changed_bytes(SPEC))
def test_specs(folder: Path, data: bytes) -> None:
    judge(run("analyze", "--capture", str(folder / "capture.json"), "--gpu", put(folder, "s.yaml", data), "-q"))


@profile(60)
@given(st.one_of(changed_bytes(RAW), changed_bytes(DETAILS)))
def test_tables_of_ncu(folder: Path, data: bytes) -> None:
    judge(run("import", put(folder, "r.csv", data), "-q"))


@needs("check")
@profile(60)
@given(changed_bytes(THRESHOLDS), changed_json(json.loads(REPORT)))
def test_thresholds_and_baselines(folder: Path, thresholds: bytes, baseline: bytes) -> None:
    report, asked = str(folder / "report.json"), str(folder / "thresholds.yaml")
    judge(run("check", report, "--thresholds", put(folder, "t.yaml", thresholds)), json_out=False)
    judge(run("check", report, "--thresholds", asked, "--baseline", put(folder, "b.json", baseline)), json_out=False)


@needs("compare")
@profile(30)
@given(changed_json(json.loads(REPORT)))
def test_comparisons(folder: Path, data: bytes) -> None:
    judge(run("compare", str(folder / "report.json"), put(folder, "r.json", data)), json_out=False)


TRACE = gzip.decompress((DATA / "h200" / "logsumexp-trace.json.gz").read_bytes())


def small_trace() -> dict[str, Any]:
    """Some events of each kind."""
    events: dict[str, list[Any]] = {}
    for event in json.loads(TRACE)["traceEvents"]:
        events.setdefault(str(event.get("cat")), []).append(event)
    return {"schemaVersion": 1, "traceEvents": [event for kind in events.values() for event in kind[:6]]}


@profile(150)
@given(st.one_of(changed_json(small_trace()), changed_bytes(json.dumps(small_trace()).encode())))
def test_traces(data: bytes) -> None:
    began = time.monotonic()
    try:
        events = read_trace(data)
    except CannotMeasureError:
        return
    for window in find_windows(events, "kprof."):
        launch_calls(window)
        queue_kept_full(window)
    assert time.monotonic() - began < LONGEST_S


SPOIL = """
import io, random, sys
from pathlib import Path
sys.path[:0] = sys.argv[3:5]
from fuzzing import PIECES
from kprof import cli
original, target = Path(sys.argv[1]).read_bytes(), sys.argv[2]
for seed in range(int(sys.argv[5])):
    draw = random.Random(seed)
    data = bytearray(original)
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(len(data))
        kind = draw.randrange(4)
        if kind == 0: data[at] ^= 1 << draw.randrange(8)
        elif kind == 1: del data[at:at + draw.choice((1, 9, 500))]
        elif kind == 2: data[at:at] = draw.choice(PIECES)
        else: data[at:] = data[at:at + draw.randrange(1 + len(data) - at)] if draw.random() < 0.3 else data[at:]
    Path(target).write_bytes(data)
    print(f"seed {seed}", file=sys.stderr, flush=True)
    sys.stdout = io.TextIOWrapper(io.BytesIO(), "utf-8")
    code = cli.run(["import", target, "-q"])
    assert code in (0, 2), (seed, code)
"""


def test_damaged_reports_of_ncu(tmp_path: Path) -> None:
    """In a process of its own: their reader is compiled code."""
    report = DATA / "ncu" / "logsumexp.ncu-rep"
    count = str(EXAMPLES or 40)
    done = subprocess.run(
        [sys.executable, "-c", SPOIL, str(report), str(tmp_path / "r.ncu-rep"), str(REPO), str(REPO / "tests"), count],
        capture_output=True,
        text=True,
        timeout=LONGEST_S + int(count),
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
