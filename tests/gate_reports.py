"""Reports to judge: those of recorded runs on an H200, as plain values, changed by hand."""

from __future__ import annotations

import copy
import math
import random
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from kprof.capture import load_capture
from kprof.gates.judge import judge
from kprof.gates.plan import GatePlan, read_plan
from kprof.gates.regressions import Policy
from kprof.report import build_report
from kprof.verdicts import Verdict
from kprof.yamlfile import YamlDocument

H200 = Path(__file__).resolve().parent / "data" / "h200"
SIZES = {"tiny": "cuda_naive_4x10x32", "medium": "cuda_naive_4x1024x1024", "large": "cuda_naive_4x8192x4096"}
FILES = {**SIZES, "matmul": "matmul_bf16"}
KERNEL = "timing.kernel_us"


@cache
def _recorded(name: str) -> Any:
    report = build_report(load_capture(H200 / f"{FILES[name]}.json"))
    return msgspec.json.decode(msgspec.json.encode(report))


def recorded(name: str = "medium") -> dict[str, Any]:
    """A copy of its own."""
    return copy.deepcopy(_recorded(name))  # type: ignore[no-any-return]


def slowed(report: dict[str, Any], factor: float) -> dict[str, Any]:
    """The report of a kernel that takes ``factor`` times as long, sample by sample."""
    made = copy.deepcopy(report)
    timing = made["blocks"]["timing"]
    samples = timing["samples_us"][timing["headline_view"]]
    samples["kernel"] = [factor * one for one in samples["kernel"]]
    timing["kernel_us"] *= factor
    timing["speedup"] /= factor
    view = timing[timing["headline_view"]][timing["headline_cache"]]
    view["kernel_median_us"] *= factor
    return made


def at(report: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The report with this value in place of its own."""
    made = copy.deepcopy(report)
    *above, last = path.split(".")
    holder = made
    for name in above:
        holder = holder[name]
    holder[last] = value
    return made


def slowed_value(report: dict[str, Any], factor: float) -> dict[str, Any]:
    return at(report, "blocks.timing.kernel_us", factor * report["blocks"]["timing"]["kernel_us"])


def another_process(report: dict[str, Any], between: float, draw: random.Random, factor: float = 1.0) -> dict[str, Any]:
    """What another process might have measured: samples drawn from the recorded ones, all shifted by one factor.

    Args:
        report: what to draw from.
        between: standard deviation of the logarithm of that factor.
        draw: the source of chance.
        factor: how much slower the kernel is.
    """
    timing = report["blocks"]["timing"]
    view, step = timing["headline_view"], timing["kernel_step_us"]
    shift = factor * math.exp(draw.gauss(0.0, between))
    old = timing["samples_us"][view]["kernel"]
    # Recorded samples stand on the timer's steps: blur them by one before they are moved, and step again after.
    moved = [shift * (one + step * (draw.random() - 0.5)) for one in draw.choices(old, k=len(old))]
    new = sorted(step * round(one / step) for one in moved)
    middle = len(new) // 2
    median = new[middle] if len(new) % 2 else (new[middle - 1] + new[middle]) / 2
    sampled = {view: {**timing["samples_us"][view], "kernel": new}}
    changed = {**timing, "samples_us": sampled, "kernel_us": median, "speedup": timing["ref_us"] / median}
    return {**report, "blocks": {**report["blocks"], "timing": changed}}


def plan(text: str) -> GatePlan:
    return read_plan(YamlDocument("t.yaml", text))


def verdict(
    text: str, report: dict[str, Any], baseline: dict[str, Any] | None = None, policy: Policy | None = None
) -> Verdict:
    """The verdict of one gate: a threshold, or a regression where the text has a colon."""
    part = (
        f"regressions:\n  {text}\n"
        if baseline is not None or ": " in text
        else f"thresholds:\n  - {text}\nregressions: {{}}\n"
    )
    found = [one for one in judge(plan(part), report, baseline, policy) if one.kind != "result"]
    assert len(found) == 1
    return found[0]
