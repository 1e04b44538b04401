"""Reports of recorded runs, and of runs made from them, for tests of what draws and lays out reports."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec

from kprof.capture import Capture, load_capture
from kprof.importing import import_capture
from kprof.report import Report, build_report

DATA = Path(__file__).parent / "data"
CREATED = "2026-12-01T15:00:00Z"
HOSTILE = (
    "<script>alert(1)</script>",
    "a|b",
    r"$\frac{1}{0}$",
    "</title></svg></script><!--",
    "'\"&amp;\x00\x1b[31m\u2028\u202e",
    "日本語🙂",
    "x" * 20_000,
)
"""Names that mean something to a browser, to a table, to matplotlib, to a terminal."""


@cache
def recorded(name: str) -> Report:
    """A capture of an H200, read again."""
    return build_report(load_capture(DATA / "h200" / f"{name}.json"), source="replayed")


@cache
def library() -> Capture:
    """An import of 18 launches of cuBLAS and others."""
    command = ("kprof", "import", "library-kernels.raw.csv")
    made = import_capture(DATA / "ncu" / "library-kernels.raw.csv", None, command)
    return msgspec.structs.replace(made, created=CREATED)


def imported(count: int = 18, named: Callable[[int], str] | None = None) -> Report:
    """An import of as many launches, made of those of `library` in turn.

    Args:
        count: of launches.
        named: the name of each by its position; None: their own.
    """
    capture = library()
    assert capture.counters is not None
    own = capture.counters.launches
    launches = tuple(
        msgspec.structs.replace(
            own[index % len(own)], launch_id=index, name=named(index) if named else own[index % len(own)].name
        )
        for index in range(count)
    )
    counters = msgspec.structs.replace(capture.counters, launches=launches)
    return build_report(msgspec.structs.replace(capture, counters=counters), source="imported")


def hostile(report: Report) -> Report:
    """The report with every name on its plot and in its kernels, its file names and its logs replaced by `HOSTILE`."""
    name = HOSTILE.__getitem__
    points = tuple(
        msgspec.structs.replace(point, name=name(point.number % len(HOSTILE)))
        for point in report.blocks.roofline.points or ()
    )
    kernels = tuple(
        msgspec.structs.replace(one, name=name(one.id % len(HOSTILE)), full_name=name(one.id % len(HOSTILE)))
        for one in report.kernels
    )
    blocks = msgspec.structs.replace(
        report.blocks,
        roofline=msgspec.structs.replace(report.blocks.roofline, points=points),
        build=msgspec.structs.replace(report.blocks.build, log_tail="\n".join(HOSTILE)),
        bottleneck=msgspec.structs.replace(report.blocks.bottleneck, kernel=HOSTILE[0]),
    )
    return msgspec.structs.replace(
        report,
        blocks=blocks,
        kernels=kernels,
        workload=msgspec.structs.replace(report.workload, kernel_file=HOSTILE[3], entry=HOSTILE[0]),
        environment=msgspec.structs.replace(report.environment, command=("kprof", *HOSTILE)),
    )
