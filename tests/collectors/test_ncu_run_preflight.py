"""What the driver's parameters and the process's capabilities say before ncu is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from kprof.collectors.ncu_run.preflight import mig_warning, permission_reason

# Lines of /proc/driver/nvidia/params of a machine with driver 580.
PARAMETERS = 'ResmanDebugLevel: 4294967295\nNvLinkDisable: 1\nRmProfilingAdminOnly: {}\nRegistryDwords: ""\n'
SYS_ADMIN, PERFMON, NET_RAW = 1 << 21, 1 << 38, 1 << 13


def reason(tmp_path: Path, admin_only: object, user: int, capabilities: int = 0) -> str | None:
    (tmp_path / "params").write_text(PARAMETERS.format(admin_only))
    (tmp_path / "status").write_text(f"Name:\tpython\nCapInh:\t0000000000000000\nCapEff:\t{capabilities:016x}\n")
    found = permission_reason(tmp_path / "params", tmp_path / "status", user)
    return found.code if found else None


def test_counters_for_administrators_alone_are_refused_to_others(tmp_path: Path) -> None:
    assert reason(tmp_path, 1, 1000) == "counters_permission"
    assert reason(tmp_path, 1, 1000, NET_RAW) == "counters_permission"


@pytest.mark.parametrize(
    ("admin_only", "user", "capabilities"),
    [(0, 1000, 0), (1, 0, 0), (1, 1000, SYS_ADMIN), (1, 1000, PERFMON | NET_RAW), ("", 1000, 0)],
)
def test_nothing_is_held_against_those_who_may(
    tmp_path: Path, admin_only: object, user: int, capabilities: int
) -> None:
    assert reason(tmp_path, admin_only, user, capabilities) is None


def test_without_the_drivers_file_nothing_is_known(tmp_path: Path) -> None:
    assert permission_reason(tmp_path / "none", tmp_path / "none", 1000) is None
    (tmp_path / "params").write_text(PARAMETERS.format(1))
    assert permission_reason(tmp_path / "params", tmp_path / "none", 1000) is not None


def test_a_slice_of_a_board_is_warned_of() -> None:
    assert mig_warning("GPU-1", "0,1") is None
    assert mig_warning(None, None) is None
    found = mig_warning("GPU-1", "MIG-5fd7"), mig_warning("MIG-5fd7", None)
    assert [warning.code for warning in found if warning] == ["mig_shared_units"] * 2
