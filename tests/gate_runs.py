"""What ``kprof check`` is given, and what a run of it comes to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from kprof.renderers.json import render_json

PASSING = "thresholds:\n  - timing.speedup >= 1.2\nregressions:\n  timing.kernel_us: 3%\n"
FAILING = "thresholds:\n  - timing.speedup >= 1000\n"
INCONCLUSIVE = "thresholds:\n  - sol.score >= 0.1\n"
NOT_GATED = "regressions:\n  timing.kernel_us: 3% and 500 us\n"


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def gates(self) -> list[dict[str, Any]]:
        return json.loads(self.out)["gates"]  # type: ignore[no-any-return]


def put(name: str, report: Any) -> None:
    Path(name).write_text(render_json(report))
