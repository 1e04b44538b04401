"""What can be told before ncu is started: whether the driver lets this user read counters, and on what board."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from kprof.evidence import Reason

DRIVER_PARAMETERS: Final = Path("/proc/driver/nvidia/params")
OWN_STATUS: Final = Path("/proc/self/status")
_ADMIN_ONLY: Final = re.compile(r"^RmProfilingAdminOnly:\s*(\d+)", re.MULTILINE)
_CAPABILITIES: Final = re.compile(r"^CapEff:\s*([0-9a-fA-F]+)", re.MULTILINE)
_CAP_SYS_ADMIN: Final = 21
_CAP_PERFMON: Final = 38
"""Bits of <linux/capability.h>. Either one lets a process read counters that are kept for administrators (NVIDIA
Developer, "ERR_NVGPUCTRPERM: Permission issue with Performance Counters")."""

PERMISSION_HINT: Final = (
    "On the host: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, then load the driver again; "
    "or run as root; in a container also --cap-add SYS_ADMIN. On a rented GPU only the provider can."
)


def permission_reason(
    parameters: Path = DRIVER_PARAMETERS, status: Path = OWN_STATUS, user: int | None = None
) -> Reason | None:
    """Why counters cannot be read by this user, as the driver's parameters have it; None: nothing is known against it.

    Args:
        parameters: the driver's file of parameters.
        status: the process's own status, which lists its capabilities.
        user: the effective user; None: this process's.
    """
    found = _ADMIN_ONLY.search(_text(parameters))
    if found is None or found[1] == "0" or (os.geteuid() if user is None else user) == 0:
        return None
    capabilities = _CAPABILITIES.search(_text(status))
    held = int(capabilities[1], 16) if capabilities else 0
    if held & (1 << _CAP_SYS_ADMIN | 1 << _CAP_PERFMON):
        return None
    return Reason(
        code="counters_permission",
        message=f"the driver keeps performance counters for administrators (RmProfilingAdminOnly: {found[1]})",
        hint=PERMISSION_HINT,
    )


def mig_warning(gpu_uuid: str | None, visible_devices: str | None) -> Reason | None:
    """What to know of counters on a slice of a board.

    Args:
        gpu_uuid: of the device that is measured.
        visible_devices: ``CUDA_VISIBLE_DEVICES``.
    """
    if not any((text or "").startswith("MIG-") for text in (gpu_uuid, visible_devices)):
        return None
    return Reason(
        code="mig_shared_units",
        message="the device is a MIG slice: units that slices share (L2, DRAM) may count the neighbours' work too",
        hint="Measure on a whole board, or on the only compute instance of its GPU instance.",
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
