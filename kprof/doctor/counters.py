"""Checks of the hardware counters: ncu, whether it knows the chip, and whether it may and does read them."""

from __future__ import annotations

from typing import Final

from kprof.collectors.ncu_run.tool import chip_of
from kprof.doctor.facts import Facts
from kprof.doctor.gpu import skipped
from kprof.doctor.records import Check
from kprof.errors import CannotMeasureError

_COUNTERS: Final = "roofline, occupancy, caches, stalls and the label of a kernel come from its counters"


def ncu_check(facts: Facts) -> Check:
    """Found on any machine, needed where there is a GPU."""
    profiling = facts.profiling
    tool = profiling.tool
    if tool is None:
        absent = profiling.absent
        assert absent is not None
        if not facts.on_gpu:
            return skipped("ncu", _COUNTERS, facts)
        return Check(name="ncu", state="fail", found=absent.message, why=_COUNTERS, hint=absent.hint)
    if not facts.on_gpu:
        found = f"{tool.path}, {tool.version or 'of unknown version'}; nothing here to profile"
        return Check(name="ncu", state="skipped", found=found, why=_COUNTERS)
    if not tool.banner:
        hint = "Install Nsight Compute again, or give another with --ncu PATH."
        return Check(name="ncu", state="fail", found=f"{tool.path} does not say its version", why=_COUNTERS, hint=hint)
    capability = facts.device.compute_capability if facts.device is not None else None
    if capability is None and facts.board is not None:
        capability = facts.board.compute_capability
    try:
        chip = chip_of(tool, capability)
    except CannotMeasureError as error:
        found = f"{tool.path}, {tool.version}: {error.message}"
        return Check(name="ncu", state="fail", found=found, why=_COUNTERS, hint=error.hint)
    knows = f", knows this chip ({chip})" if chip is not None else ", and whether it knows this chip is not known"
    state = "ok" if chip is not None else "warn"
    return Check(name="ncu", state=state, found=f"{tool.path}, {tool.version}{knows}", why=_COUNTERS)  # type: ignore[arg-type]


def permission_check(facts: Facts) -> Check:
    """What the driver's own parameters say."""
    why = "the driver may keep counters for administrators"
    if not facts.on_gpu:
        return skipped("counter_permission", why, facts)
    against = facts.profiling.permission
    if against is not None:
        return Check(name="counter_permission", state="fail", found=against.message, why=why, hint=against.hint)
    found = "nothing in the driver's parameters is against it"
    return Check(name="counter_permission", state="ok", found=found, why=why)


def profile_check(facts: Facts) -> Check:
    """A kernel that does nothing was profiled, or was not."""
    profiling, name = facts.profiling, "counter_profile"
    if not facts.on_gpu:
        return skipped(name, _COUNTERS, facts)
    if profiling.duration_us is not None:
        found = f"ncu profiled a kernel that does nothing: {profiling.duration_us:.2f} us"
        return Check(name=name, state="ok", found=found, why=_COUNTERS)
    if profiling.refused is not None:
        refused = profiling.refused
        found = f"{refused.message} ({refused.code})"
        return Check(name=name, state="fail", found=found, why=_COUNTERS, hint=refused.hint)
    found = "there is no ncu to try" if profiling.tool is None else "NVML has no board to try it on"
    return Check(name=name, state="skipped", found=found, why=_COUNTERS, hint="See the checks above.")
