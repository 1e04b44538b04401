"""What could not be read of a report: counted while reading, said once a kind."""

from __future__ import annotations

from typing import Final

from kprof.evidence import Reason

_EXPORT: Final = "Export again with `ncu --import run.ncu-rep --csv --page raw --print-units base`."
_LONGEST: Final = 80


class Troubles:
    """A tally of what was skipped or left out, with the first example of each."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[int, str]] = {}

    def noise(self, line: str) -> None:
        """A line that is no row of a table."""
        self._count("noise_lines", "", shortened(line))

    def broken_row(self, launch_id: str, cells: int, expected: int) -> None:
        """A row that has not the cells that the header announces."""
        self._count("broken_rows", "", f"launch {launch_id} has {cells} cells of {expected}")

    def unknown_unit(self, metric: str, unit: str) -> None:
        """A value in a unit that nobody knows."""
        self._count("unknown_unit", unit, metric)

    def no_unit(self, metric: str) -> None:
        """A value whose unit the table does not give."""
        self._count("units_missing", "", metric)

    def unparsable(self, metric: str, text: str) -> None:
        """A cell that holds neither a number nor a word of ncu's for none."""
        self._count("unparsable_values", "", f"{metric} = {shortened(text)!r}")

    def further_table(self, line: int) -> None:
        """A second header: files put together."""
        self._count("several_tables", "", f"line {line}")

    def repeated(self, launch_id: int) -> None:
        """A launch that stands in the file again, with nothing that differs."""
        self._count("repeated_launches", "", f"launch {launch_id}")

    def number_again(self, launch_id: int) -> None:
        """A launch with the number of another one, and other values."""
        self._count("numbers_again", "", f"launch {launch_id}")

    def no_kernel(self, name: str) -> None:
        """A result over more than one kernel: a range or a graph."""
        self._count("not_one_kernel", "", shortened(name))

    def reasons(self) -> tuple[Reason, ...]:
        """One warning a kind; of units one each."""
        return tuple(_reason(code, subject, *found) for (code, subject), found in self._found.items())

    def _count(self, code: str, subject: str, example: str) -> None:
        count, first = self._found.get((code, subject), (0, example))
        self._found[code, subject] = (count + 1, first)


def shortened(text: str) -> str:
    """The text, or its beginning where it is long."""
    text = text.strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _reason(code: str, subject: str, count: int, first: str) -> Reason:
    messages = {
        "noise_lines": (f"{_lines(count)} outside the table skipped; the first: {first}", ""),
        "broken_rows": (f"{count} rows do not fit the header ({first}): their values are left out", _EXPORT),
        "unknown_unit": (f"unit {subject!r} of {first} is not known: {count} values are left out", _EXPORT),
        "units_missing": (f"the table has no units: {count} values are left out, the first of {first}", _EXPORT),
        "unparsable_values": (f"{count} cells hold no number ({first}): left out", "Run ncu with LC_ALL=C."),
        "not_one_kernel": (f"{count} results are of ranges or graphs, not of one kernel; the first: {first}", ""),
        "repeated_launches": (f"{_times(count)} a launch stands there again ({first}): each counts once", _EXPORT),
        "numbers_again": (
            f"{_times(count)} a launch has the number of another one and other values ({first}): taken for one of a "
            "further run, both count",
            "",
        ),
        "several_tables": (
            f"{count + 1} tables in one file (the second from {first}): launch IDs start again, launches are added up",
            "",
        ),
    }
    message, hint = messages[code]
    return Reason(code=code, message=message, hint=hint)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"
