"""The binary report ``.ncu-rep``, through `ncu_report`. Neither a GPU nor ncu is needed.

Damaged files do not harm the interpreter (hundreds of mutated reports were tried); they read as reports with fewer
results or none. So the file's frame is looked at first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from kprof.collectors.ncu.numbers import number_or_absence, parse_cell, text_or_absence
from kprof.collectors.ncu.report_blocks import ReportFrame, read_frame
from kprof.collectors.ncu.report_module import NO_READER_HINT, NoReportReaderError, find_module
from kprof.collectors.ncu.sides import for_samples, side_of_ranges
from kprof.collectors.ncu.troubles import Troubles
from kprof.collectors.ncu.units import unit_of
from kprof.counter_evidence import CountersEvidence, MetricAbsence, ProfiledLaunch
from kprof.counters.resolve import DEVICE_NAME, is_wanted
from kprof.errors import InputFileError
from kprof.evidence import Reason
from kprof.subprocesses.private import private_folder

ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
"""Beginning of a compressed report (``.ncu-repz``)."""
_AGAIN: Final = "Copy it again, or profile again: ncu completes the file when the program ends."
_SUFFIX: Final = ".ncu-rep"
_COMPRESSED_SUFFIX: Final = ".ncu-repz"
_DEFAULT_DOMAIN: Final = 0
"""NVTX's ID of the default domain."""

# `ncu_report` has no types: its contexts, actions and metrics are Any here.


def read_report_file(path: Path) -> CountersEvidence:
    """What a binary report holds; no launches where it holds no results.

    Raises:
        InputFileError: it is damaged or cut short.
        NoReportReaderError: `ncu_report` is not here, or finds no library for this machine.
        OSError: the file cannot be read.
    """
    with path.open("rb") as stream:
        compressed = stream.read(len(ZSTD_MAGIC)) == ZSTD_MAGIC
    frame = ReportFrame(known=False) if compressed else read_frame(path)
    if not frame.whole:
        raise InputFileError(
            f"{path} is damaged or cut short: its blocks do not end where the file does, as those of a report do",
            _AGAIN,
        )
    module = find_module()
    troubles = Troubles()
    with _under_its_suffix(path.resolve(), compressed) as named:
        try:
            context = module.load_report(str(named))
        except FileNotFoundError as error:
            raise NoReportReaderError(
                f"ncu_report cannot load its library here: {error}",
                NO_READER_HINT,
            ) from error
        launches = tuple(_launch(number, action, frame, troubles) for number, action in enumerate(_actions(context)))
    whole = tuple(launch for launch in launches if launch is not None)
    if len(whole) < len(launches) or (frame.results and not whole):
        unread = launches.index(None) if launches else 0
        raise InputFileError(f"{path} is damaged: its result {unread} cannot be read", _AGAIN)
    return CountersEvidence(
        format="ncu_report",
        launches=whole,
        ncu_version=frame.ncu_version,
        warnings=(*troubles.reasons(), *_doubts(frame, len(whole), compressed)),
    )


@contextlib.contextmanager
def _under_its_suffix(path: Path, compressed: bool) -> Iterator[Path]:
    """The file under a name that says what it is: `ncu_report` tells compressed reports by their suffix."""
    if compressed == (path.suffix == _COMPRESSED_SUFFIX):
        yield path
        return
    with private_folder() as folder:
        link = Path(folder, "report").with_suffix(_COMPRESSED_SUFFIX if compressed else _SUFFIX)
        link.symlink_to(path)
        yield link


def _actions(context: Any) -> Iterator[Any]:
    for place in range(context.num_ranges()):
        part = context.range_by_idx(place)
        for index in range(part.num_actions()):
            yield part.action_by_idx(index)


def _launch(number: int, action: Any, frame: ReportFrame, troubles: Troubles) -> ProfiledLaunch | None:
    """One result as a launch; None where it cannot be read: then it has neither a name nor metrics."""
    name = action.name(action.NameBase_DEMANGLED) or action.name() or ""
    names = action.metric_names()
    if not name and not names:
        return None
    metrics: dict[str, float | str] = {}
    absent: dict[str, MetricAbsence] = {}
    for wanted in filter(is_wanted, names):
        _read(wanted, action.metric_by_name(wanted), metrics, absent, troubles)
    # Releases before graphs and ranges were results do not tell.
    if hasattr(action, "workload_type") and action.workload_type() != action.WorkloadType_KERNEL:
        troubles.no_kernel(_clean(name))
    ranges = _ranges(action)
    return ProfiledLaunch(
        launch_id=number,
        process_id=frame.process_id,
        device=_integer(action, "launch__device_id"),
        side=side_of_ranges(ranges),
        samples_only=for_samples(ranges),
        name=_clean(name),
        grid=_size(action, "launch__grid_dim"),
        block=_size(action, "launch__block_dim"),
        compute_capability=_compute_capability(action),
        metrics=metrics,
        absent=absent,
    )


def _read(
    name: str,
    metric: Any,
    metrics: dict[str, float | str],
    absent: dict[str, MetricAbsence],
    troubles: Troubles,
) -> None:
    value = metric.value() if metric is not None and metric.has_value() else None
    if name == DEVICE_NAME and isinstance(value, str):
        text, absence = text_or_absence(_clean(value))
        if text is not None:
            metrics[name] = text
        elif absence is not None:
            absent[name] = absence
        return
    number = _number(value)
    if isinstance(number, str):
        absent[name] = number
        if number == "unparsable":
            troubles.unparsable(name, str(value))
        return
    unit = unit_of(name, metric.unit())
    if unit is None:
        absent[name] = "unknown_unit"
        troubles.unknown_unit(name, metric.unit())
    else:
        metrics[name] = number * unit.factor


def _number(value: object) -> float | MetricAbsence:
    if isinstance(value, (int, float)):
        return number_or_absence(float(value))
    return parse_cell(value) if isinstance(value, str) else "not_available"


def _integer(action: Any, name: str) -> int | None:
    metric = action.metric_by_name(name)
    value = metric.value() if metric is not None and metric.has_value() else None
    return int(value) if isinstance(value, (int, float)) and value == int(value) else None


def _size(action: Any, stem: str) -> tuple[int, int, int] | None:
    x, y, z = (_integer(action, f"{stem}_{axis}") for axis in "xyz")
    return None if x is None or y is None or z is None else (x, y, z)


def _compute_capability(action: Any) -> str | None:
    major, minor = (_integer(action, f"device__attribute_compute_capability_{part}") for part in ("major", "minor"))
    return None if major is None or minor is None else f"{major}.{minor}"


def _ranges(action: Any) -> tuple[str, ...]:
    """Names of the ranges in the default domain that were open when the kernel was launched."""
    state = action.nvtx_state()
    domain = state.domain_by_id(_DEFAULT_DOMAIN) if state is not None and _DEFAULT_DOMAIN in state.domains() else None
    return tuple(open_ranges(domain)) if domain is not None else ()


def open_ranges(domain: Any) -> Iterable[str]:
    """Names of the ranges of a domain that were open when the kernel was launched."""
    return (*domain.start_end_ranges(), *domain.push_pop_ranges())


def _clean(text: str) -> str:
    """Names as the file has them; bytes that are no UTF-8 are written out, so that JSON can hold them."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _doubts(frame: ReportFrame, launches: int, compressed: bool) -> Iterator[Reason]:
    if compressed:
        yield Reason(
            code="completeness_unchecked",
            message="a compressed report: whether it is whole was not checked",
        )
    elif frame.known and frame.results != launches:
        yield Reason(
            code="report_incomplete",
            message=f"the report announces {frame.results} results, and {launches} could be read",
            hint=_AGAIN,
        )
