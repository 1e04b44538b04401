"""Clocks, power and throttling from NVML, for the very board that torch uses.

The board is found by UUID, never by index: ``CUDA_VISIBLE_DEVICES`` renumbers torch's devices and not NVML's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pynvml

from kprof.evidence import ClockReading, Reason

# Bits of nvmlDeviceGetCurrentClocksEventReasons (NVML API reference, "NvmlClocksEventReasons"). Idle is no limit.
_THROTTLE_BITS: Final = {
    0x002: "applications_clocks_setting",
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal_slowdown",
    0x040: "hw_thermal_slowdown",
    0x080: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}


class ClockMonitor:
    """Reads one board's clocks. Any part that the board or driver does not tell is None."""

    def __init__(self, uuid: str | None) -> None:
        self._handle: Any = None
        self.reason: Reason | None = None
        """Why nothing can be read."""
        self.driver: str | None = None
        if uuid is None:
            self.reason = Reason(code="no_uuid", message="torch does not tell the board's UUID", hint="Update torch.")
            return
        try:
            pynvml.nvmlInit()
            self.driver = nvml_text(pynvml.nvmlSystemGetDriverVersion())
            self._handle = pynvml.nvmlDeviceGetHandleByUUID(uuid.encode())
        except pynvml.NVMLError as error:
            self.reason = Reason(
                code="nvml_unavailable",
                message=f"NVML does not answer for {uuid}: {error}",
                hint="Check that nvidia-smi works here.",
            )

    def read(self) -> ClockReading | None:
        """Clocks, power, temperature and throttle reasons of now; None where NVML does not answer at all."""
        if self._handle is None:
            return None
        mask = self._ask(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons)
        power = self._ask(pynvml.nvmlDeviceGetPowerUsage)
        limit = self._ask(pynvml.nvmlDeviceGetEnforcedPowerLimit)
        return ClockReading(
            sm_mhz=self._ask(pynvml.nvmlDeviceGetClockInfo, pynvml.NVML_CLOCK_SM),
            memory_mhz=self._ask(pynvml.nvmlDeviceGetClockInfo, pynvml.NVML_CLOCK_MEM),
            power_w=None if power is None else power / 1e3,
            power_limit_w=None if limit is None else limit / 1e3,
            temperature_c=self._ask(pynvml.nvmlDeviceGetTemperature, pynvml.NVML_TEMPERATURE_GPU),
            throttle_reasons=None if mask is None else throttle_names(mask),
        )

    def _ask(self, question: Callable[..., int], *arguments: int) -> int | None:
        try:
            return int(question(self._handle, *arguments))
        except pynvml.NVMLError:
            return None


def throttle_names(mask: int) -> tuple[str, ...]:
    """Names of the bits set in NVML's mask of reasons, idle left out."""
    return tuple(name for bit, name in _THROTTLE_BITS.items() if mask & bit)


def nvml_text(value: str | bytes) -> str:
    """What NVML says in words: bytes in some of its releases."""
    return value.decode() if isinstance(value, bytes) else value
