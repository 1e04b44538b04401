"""Measures a device's roofs in a worker of their own and keeps them in the cache."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec

from kprof.ceilings_cache import keep_ceilings
from kprof.ceilings_check import believable
from kprof.ceilings_evidence import CeilingsEvidence
from kprof.errors import CannotMeasureError
from kprof.evidence import Reason
from kprof.gpuspec import GpuSpec, load_all_specs, match_spec
from kprof.own_worker import OwnAnswer, run_own_worker
from kprof.turns import DEFAULT_TIMEOUT_S, turn_on
from kprof.worker.protocol import Update

LONGEST_S: Final = 300.0
"""A board takes some 20 s, a processor 5."""


def measure_ceilings(
    device: str,
    cache_root: Path,
    on_update: Callable[[Update], None],
    on_wait: Callable[[str], None] = lambda board: None,
    lock_timeout_s: float = DEFAULT_TIMEOUT_S,
) -> CeilingsEvidence:
    """Measure every roof of a device; what was measured on a quiet machine is kept in the cache.

    A GPU is held against other runs of kprof's meanwhile.

    Args:
        device: ``auto``, ``cpu`` or ``cuda:N``.
        cache_root: kprof's cache.
        on_update: told of each answer as it arrives.
        on_wait: told where another run holds the device, which is waited for.
        lock_timeout_s: how long.

    Raises:
        CannotMeasureError: there is no such device, others held it for too long, or nothing at all was measured.
    """
    answer = _answer_in_turn(device, cache_root, on_update, on_wait, lock_timeout_s)
    ceilings, failed = answer.ceilings, answer.failed
    if ceilings is None:
        reason = failed or Reason(code="not_collected", message="the worker answered nothing")
        raise CannotMeasureError(reason.code, f"no ceiling was measured: {reason.message}", reason.hint)
    spec = match_spec(ceilings.device_name, ceilings.memory_bytes, None, load_all_specs())
    ceilings = believable(ceilings, spec if isinstance(spec, GpuSpec) else None)
    if failed is not None:
        cut = Reason(code=failed.code, message=f"the measuring ended early: {failed.message}", hint=failed.hint)
        return msgspec.structs.replace(ceilings, warnings=(*ceilings.warnings, cut))
    if not ceilings.warnings:
        keep_ceilings(ceilings, cache_root)
    return ceilings


def _answer_in_turn(
    device: str,
    cache_root: Path,
    on_update: Callable[[Update], None],
    on_wait: Callable[[str], None],
    lock_timeout_s: float,
) -> OwnAnswer:
    """What the worker answers, let on its device when that is free and not before."""
    with ExitStack() as turn:

        def told(update: Update) -> None:
            on_update(update)
            if update.waits_for is not None:
                turn.enter_context(turn_on(update.waits_for, lock_timeout_s, on_wait))

        return run_own_worker("ceilings", device, cache_root, LONGEST_S, told)
