"""Whether a baseline is of the same task, and was measured under the same conditions."""

from __future__ import annotations

import re
from typing import Any, Final

from kprof.counter_evidence import COUNTER_BLOCKS
from kprof.evidence import Record
from kprof.gates.paths import MetricPath, part

_CLOCK_POLICIES: Final = ("applications_clocks_setting", "sync_boost", "display_clock_setting")
"""Throttle reasons of NVML that say how the clock was set, not how warm the board was."""
_NO_COUNTERS: Final = frozenset({"task_score", "floor_us", "floor_bytes", "floor_flop", "floor_kind", "headroom"})
"""Fields of the block ``sol`` that need no counters."""

_RELEASE: Final = re.compile(r"\d+(?:\.\d+){1,2}")
UNKNOWN: Final = "not known"
"""What a difference says of a null."""


class Difference(Record, frozen=True, kw_only=True):
    """Something that report and baseline do not share."""

    name: str
    report: str
    baseline: str

    def __str__(self) -> str:
        return f"{self.name} is {self.report}, in the baseline {self.baseline}"


IDENTITY: Final = ("ref_sha256", "entry", "overrides", "seed", "ref_mode", "shapes", "dtypes")
FINGERPRINT: Final = (
    "board", "compute_capability", "sm_count", "memory_bytes", "clock_policy", "driver", "cuda", "torch", "triton",
    "tf32_matmul", "tf32_cudnn", "cpu_threads", "schema_version",
)  # fmt: skip
NCU: Final = ("ncu", "ncu_clock_control", "ncu_cache_control", "ncu_replay_mode")
TOLERABLE: Final = (*FINGERPRINT, *NCU)
"""What a user may declare to be no matter; another task never is."""


def other_task(report: dict[str, Any], baseline: dict[str, Any]) -> tuple[Difference, ...]:
    """In what the two measured different tasks. The kernel's own file may differ: that is the point."""
    return _differences(IDENTITY, _identity(report), _identity(baseline))


def other_conditions(path: MetricPath, report: dict[str, Any], baseline: dict[str, Any]) -> tuple[Difference, ...]:
    """In what the conditions differ that bear on the metric at ``path``. Not known on both sides is no difference.

    Triton's version bears only on a comparison of two of its kernels: of others it compiled nothing.
    """
    both_triton = all(part(one, "workload", "kind") == "triton" for one in (report, baseline))
    names = FINGERPRINT if both_triton else tuple(name for name in FINGERPRINT if name != "triton")
    found = _differences(names, _conditions(report), _conditions(baseline))
    if from_counters(path):
        found += _differences(NCU, _ncu(report), _ncu(baseline))
    return found + _timer_differences(path, report, baseline)


def from_counters(path: MetricPath) -> bool:
    """ncu measured it."""
    return path.block in COUNTER_BLOCKS and path.steps[-1] not in _NO_COUNTERS


def _differences(names: tuple[str, ...], one: dict[str, Any], other: dict[str, Any]) -> tuple[Difference, ...]:
    return tuple(
        Difference(name=name, report=_shown(one[name]), baseline=_shown(other[name]))
        for name in names
        if one[name] != other[name]
    )


def _shown(value: Any) -> str:
    text = UNKNOWN if value is None else _plain(value) or "none"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _plain(value: Any) -> str:
    """As people write it: ``R=4 B=8192``, ``(4, 10, 32), (8,)``, ``float32``, ``true``."""
    if isinstance(value, dict):
        return " ".join(f"{name}={_plain(one)}" for name, one in value.items())
    if isinstance(value, list):
        return ", ".join(_shape(one) if isinstance(one, list) else _plain(one) for one in value)
    return UNKNOWN if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _shape(extents: list[Any]) -> str:
    return f"({', '.join(map(str, extents))}{',' if len(extents) == 1 else ''})"


def _identity(report: dict[str, Any]) -> dict[str, Any]:
    workload = report.get("workload")
    inputs = part(workload, "inputs")
    tensors = inputs if isinstance(inputs, list) else []
    return {
        **{name: part(workload, name) for name in ("ref_sha256", "entry", "seed", "ref_mode")},
        "overrides": part(workload, "overrides") or {},
        "shapes": [part(one, "shape") for one in tensors],
        "dtypes": [part(one, "dtype") for one in tensors],
    }


def _conditions(report: dict[str, Any]) -> dict[str, Any]:
    environment = report.get("environment")
    names = (
        "compute_capability", "sm_count", "memory_bytes", "driver", "cuda", "torch", "tf32_matmul", "tf32_cudnn",
    )  # fmt: skip
    on_cpu = part(environment, "device") == "cpu"
    return {
        **{name: part(environment, name) for name in names},
        "board": part(environment, "device_name"),
        "clock_policy": _clock_policy(report),
        "triton": part(environment, "triton"),
        "cpu_threads": part(environment, "cpu_threads") if on_cpu else None,
        "schema_version": report.get("schema_version"),
    }


def _clock_policy(report: dict[str, Any]) -> list[str] | None:
    """How the clock was set, as far as the driver tells; None: it did not say."""
    places = (("blocks", "timing", "throttle_reasons"), ("environment", "clocks_before", "throttle_reasons"))
    told = [reasons for place in places if isinstance(reasons := part(report, *place), list)]
    return sorted({one for reasons in told for one in reasons if one in _CLOCK_POLICIES}) if told else None


def _ncu(report: dict[str, Any]) -> dict[str, Any]:
    counters = report.get("counters")
    return {
        "ncu": _release(part(report, "environment", "ncu") or part(counters, "ncu_version")),
        **{f"ncu_{name}": part(counters, name) for name in ("clock_control", "cache_control", "replay_mode")},
    }


def _release(version: Any) -> Any:
    """``2025.3.1`` of ``2025.3.1.0 (build 36398880)``: reports and the program itself say it at different lengths."""
    matched = _RELEASE.match(version) if isinstance(version, str) else None
    return matched[0] if matched else version


def _timer_differences(path: MetricPath, report: dict[str, Any], baseline: dict[str, Any]) -> tuple[Difference, ...]:
    """The headline is of another view: host time is no device time."""
    if path.block not in ("timing", "sol") or from_counters(path):
        return ()
    names = ("headline_view", "headline_cache")
    one, other = (
        {name: part(each, "blocks", "timing", name) for name in names} for each in (report, baseline)
    )  # fmt: skip
    return _differences(names, one, other)
