"""Runs a worker that loads no user code: what torch is here, what a device reaches."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from kprof.ceilings_evidence import CeilingsEvidence
from kprof.evidence import Reason
from kprof.installation import Installation
from kprof.worker.protocol import OwnRequest, Update
from kprof.worker.supervisor import Limits, Worker

_HINT: Final = "Run it again with --debug; python -c 'import torch' shows whether torch itself starts."
_TAIL_CHARS: Final = 300


@dataclass(frozen=True)
class OwnAnswer:
    """What such a worker answered, and what ended it before it was done, where something did."""

    installation: Installation | None = None
    ceilings: CeilingsEvidence | None = None
    failed: Reason | None = None


def run_own_worker(
    task: Literal["installation", "ceilings"],
    device: str,
    cache_root: Path,
    timeout_s: float,
    on_update: Callable[[Update], None] = lambda _: None,
) -> OwnAnswer:
    """Run one task to its end, or to the end of its time; what was answered before stays.

    Args:
        task: what it does.
        device: ``auto``, ``cpu`` or ``cuda:N``.
        cache_root: kprof's cache.
        timeout_s: the longest that it may take.
        on_update: told of each update as it arrives.

    Raises:
        CannotMeasureError: no temporary folder can be written.
    """
    request = OwnRequest(task=task, device=device, cache_dir=str(cache_root))
    with Worker(request, program=(sys.executable, "-m", "kprof.worker")) as worker:
        outcome = worker.follow(Limits(stage_s=timeout_s), on_update)
    answered: dict[str, Any] = {
        name: outcome.evidence[name] for name in ("installation", "ceilings") if name in outcome.evidence
    }
    faults = outcome.all_faults
    if not faults:
        return OwnAnswer(**answered)
    first = faults[0]
    message = _last_line(outcome.output_tail) if first.code == "exited" else first.message
    if first.code == "timeout":
        message = f"it took more than {timeout_s:g} s and was ended"
    hint = _HINT if first.code in ("exited", "crashed", "timeout") else first.hint or _HINT
    return OwnAnswer(**answered, failed=Reason(code=first.code, message=message or first.message, hint=hint))


def _last_line(output: str) -> str:
    """Of a traceback the line that says what was raised."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:_TAIL_CHARS] if lines else ""
