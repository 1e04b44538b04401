"""Reports whose every text from outside is hostile."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from kprof.evidence import Fault
from kprof.report import Report

FROM_OUTSIDE: Final = frozenset(
    {
        "name", "full_name", "kernel", "kernel_file", "ref_file", "entry", "message", "hint", "detail", "log_tail",
        "device_name", "path", "where", "report_file", "arch", "torch", "driver", "worst_output", "limiter",
        "next_step", "text", "metric", "unit", "method", "score_unit", "dominant_pipe", "reason", "level",
    }
)  # fmt: skip
NAMES: Final = (
    "<script>alert(1)</script>",
    "a|b",
    "x" * 20_000,
    "k\x1b[31mred\x1b[0m",
    "`tick` ``two``",
    "@octocat #123 GH-7 org/repo#5 https://x.example/?a=1&b www.x.example",
    "\\| \\` \\<b>",
    "\u202eevil\u2066",
    "one\ntwo\r\nthree",
    "</code></summary></details><img src=x onerror=alert(1)>",
    "![i](http://x) [l](javascript:alert(1)) *b* __c__ ~~d~~",
    "=cmd|'/C calc'!A0",
    "",
    "  ",
    "nan",
    "{{ 7*7 }} ${x} %s {0}",
)
T = TypeVar("T")


def hostile(report: Report, text: str) -> Report:
    """The report with ``text`` wherever something from outside may stand, and a stage that failed."""
    fault = Fault(stage="memory", side="kernel", code="raised", message=text, hint=text, detail=f"{text}\n{text}")
    return msgspec.structs.replace(_replaced(report, text), faults=(fault,))


def _replaced(value: Any, text: str) -> Any:
    if isinstance(value, msgspec.Struct):
        changed = {
            name: text if name in FROM_OUTSIDE and isinstance(item, str) else _replaced(item, text)
            for name, item in zip(value.__struct_fields__, msgspec.structs.astuple(value), strict=True)
        }
        return msgspec.structs.replace(value, **changed)
    return tuple(_replaced(item, text) for item in value) if isinstance(value, tuple) else value


def many(report: Report, count: int) -> Report:
    """The report with as many launches, each of its own name."""
    own = report.kernels
    kernels = tuple(
        msgspec.structs.replace(own[index % len(own)], id=index, name=f"kernel_number_{index}_of_many")
        for index in range(count)
    )
    return msgspec.structs.replace(report, kernels=kernels)
