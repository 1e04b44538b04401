"""All checks in the order in which to mend them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from kprof.doctor.counters import ncu_check, permission_check, profile_check
from kprof.doctor.facts import Facts, gather
from kprof.doctor.gpu import (
    clocks_check,
    cuda_check,
    cupti_check,
    driver_check,
    nvcc_check,
    nvml_check,
    others_check,
    spec_check,
)
from kprof.doctor.records import Check, Diagnosis
from kprof.doctor.software import (
    cache_check,
    compiler_check,
    ninja_check,
    python_check,
    temporary_check,
    torch_check,
)

CHECKS: Final[tuple[Callable[[Facts], Check], ...]] = (
    python_check,
    torch_check,
    driver_check,
    cuda_check,
    compiler_check,
    nvcc_check,
    ninja_check,
    ncu_check,
    permission_check,
    profile_check,
    cupti_check,
    nvml_check,
    spec_check,
    clocks_check,
    others_check,
    cache_check,
    temporary_check,
)


def diagnose(asked: str, ncu: str | None, cache_root: Path) -> Diagnosis:
    """Look at this machine.

    Args:
        asked: ``auto``, ``cpu`` or ``cuda:N``.
        ncu: the ncu that the user named; None: the one on PATH.
        cache_root: kprof's cache.
    """
    return judge(gather(asked, ncu, cache_root))


def judge(facts: Facts) -> Diagnosis:
    """What to say of what was found: pure."""
    checks = tuple(check(facts) for check in CHECKS)
    return Diagnosis(
        device=f"cuda:{facts.index}" if facts.on_gpu else "cpu",
        ready=all(check.state != "fail" for check in checks),
        checks=checks,
    )
