"""Keep docs/accuracy.md true: python scripts/accuracy_doc.py [--check] [RESULT.json]

Its tables are the result of a self-test on a board, as ``kprof doctor --selftest --json`` wrote it; what stands
outside the two marks is written by hand. Without ``--check`` the file is rewritten; with it the exit status is 1 when
that would change anything.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
from tabulate import tabulate

from kprof.renderers import quantities
from kprof.renderers.selftest import difference
from kprof.selftest.records import Check, CheckName, ProbeResult, SelftestResult

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "accuracy.md"
RESULT = ROOT / "tests" / "data" / "selftest" / "h200.json"
BEGIN, END = "<!-- tables: begin -->\n", "<!-- tables: end -->\n"
TYPES = {"fp32_flop": "FP32", "fp64_flop": "FP64", "fp16_flop": "FP16", "tensor_flop": "FP16 tensor"}


def tables(result: SelftestResult) -> str:
    """Everything that was measured, one table a question."""
    probes = [probe for probe in result.probes if probe.checks]
    return "\n".join(
        (
            *_head(result),
            "",
            "### Bytes of DRAM",
            "",
            *_table(("probe", "read by construction", "measured", "off", "written by construction", "measured", "off"),
                    (_bytes_row(probe, "dram_read", "dram_write") for probe in probes)),
            "",
            "### Bytes of the sectors that global loads and stores ask for",
            "",
            *_table(
                ("probe", "loaded by construction", "measured", "off", "stored by construction", "measured", "off"),
                (_bytes_row(probe, "loaded", "stored") for probe in probes),
            ),
            "",
            "### FLOP and launches",
            "",
            *_table(("probe", "type", "by construction", "measured", "off", "launches"), _flop_rows(probes)),
            "",
            "### Durations",
            "",
            *_table(("probe", "event pairs less an empty one", "ncu", "off", "agrees"),
                    (_duration_row(probe) for probe in probes)),
            "",
            "### Labels",
            "",
            *_table(("probe", "right", "kprof says", "to the nearest border", "agrees"),
                    (_label_row(probe) for probe in probes)),
            "",
            *_not_tried(result),
        )
    )  # fmt: skip


def _head(result: SelftestResult) -> Iterator[str]:
    board = result.board
    checks = [check for probe in result.probes for check in probe.checks]
    tried = [probe for probe in result.probes if probe.status != "unsupported"]
    agree = sum(probe.status == "ok" for probe in tried)
    steps = ", ".join(f"{name} {time:.1f} s" for name, time in result.seconds.items())
    passed = sum(check.passed for check in checks)
    yield f"**{agree} of {len(tried)} probes and {passed} of {len(checks)} checks agree.**"
    l2 = quantities.size(board.l2_bytes)
    yield f"{result.created[:10]}, {board.name} (`{result.spec}`), {board.sms} SMs, L2 {l2};"
    yield f"driver {result.driver}, Nsight Compute {result.ncu}, {result.nvcc}, kprof {result.kprof_version}."
    yield f"{result.ncu_passes} passes a kernel; {sum(result.seconds.values()):.0f} s in all ({steps})."
    yield f"An event pair round nothing took {result.empty_pair_us or 0.0:.2f} us."


def _table(headers: tuple[str, ...], rows: Iterator[list[str]]) -> list[str]:
    align = ["left" if header in ("probe", "type", "right", "kprof says", "agrees") else "right" for header in headers]
    made = tabulate(list(rows), headers, tablefmt="pipe", colalign=align, disable_numparse=True)
    return made.splitlines()


def _named(probe: ProbeResult, name: CheckName) -> Check | None:
    return next((check for check in probe.checks if check.name == name), None)


def _bytes_row(probe: ProbeResult, *names: CheckName) -> list[str]:
    cells = [probe.name]
    for name in names:
        check = _named(probe, name)
        cells += ["not stated", "", ""] if check is None else [*(_size(v) for v in _values(check)), _off(check)]
    return cells


def _flop_rows(probes: list[ProbeResult]) -> Iterator[list[str]]:
    for probe in probes:
        launches = _named(probe, "launches")
        counted = "" if launches is None else f"{launches.measured:g} of {launches.expected:g}"
        flop = [check for check in probe.checks if check.name in TYPES]
        if not flop:
            yield [probe.name, "none", "0", "0", "", counted]
        for check in flop:
            expected, measured = (f"{value:.7g}" if isinstance(value, float) else "null" for value in _values(check))
            yield [probe.name, TYPES[check.name], expected, measured, _off(check), counted]


def _duration_row(probe: ProbeResult) -> list[str]:
    check = _named(probe, "duration")
    if check is None:
        return [probe.name, "", "", "", ""]
    told = [quantities.duration(v) if isinstance(v, float) else "null" for v in _values(check)]
    return [probe.name, *told, _off(check), _agrees(check)]


def _label_row(probe: ProbeResult) -> list[str]:
    label, advice = _named(probe, "label"), _named(probe, "advice")
    if label is None:
        return [probe.name, "", "", "", ""]
    margin = "" if probe.margin_pct is None else quantities.percent(probe.margin_pct)
    near = f" ({label.note})" if label.note else ""
    told = f"; advice: {advice.measured}" if advice is not None else ""
    agrees = "yes" if label.passed and (advice is None or advice.passed) else "**no**"
    return [probe.name, str(label.expected), f"{label.measured}{near}{told}", margin, agrees]


def _values(check: Check) -> tuple[float | str | None, float | str | None]:
    return check.expected, check.measured


def _size(value: float | str | None) -> str:
    return quantities.size(value) if isinstance(value, float) else "null"


def _off(check: Check) -> str:
    text = difference(check, digits=3)
    return text if check.passed else f"**{text}**"


def _agrees(check: Check) -> str:
    return "yes" if check.passed else "**no**"


def _not_tried(result: SelftestResult) -> Iterator[str]:
    for probe in result.probes:
        if probe.reason is not None:
            yield f"- `{probe.name}` {probe.status}: {probe.reason.code}: {probe.reason.message}"


def rewritten(text: str, result: SelftestResult) -> str:
    """The document with its tables made anew."""
    before, _, rest = text.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise SystemExit(f"{DOCUMENT} has no {BEGIN.strip()} and {END.strip()}")
    return f"{before}{BEGIN}{tables(result).rstrip()}\n{END}{after}"


def main() -> int:
    """Rewrite or check."""
    given = [argument for argument in sys.argv[1:] if argument != "--check"]
    result = msgspec.json.decode((Path(given[0]) if given else RESULT).read_bytes(), type=SelftestResult)
    old = DOCUMENT.read_text()
    new = rewritten(old, result)
    if "--check" in sys.argv:
        return int(new != old)
    DOCUMENT.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
