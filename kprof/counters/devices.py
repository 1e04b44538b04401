"""Which device a report is about, where it has launches on several."""

from __future__ import annotations

from collections.abc import Iterable


def busiest_device(launches: Iterable[tuple[int | None, float | None]]) -> int | None:
    """The device with most time; of several without any the first.

    Args:
        launches: device and duration of each, at least one.
    """
    times: dict[int | None, float] = {}
    for device, duration in launches:
        times[device] = times.get(device, 0.0) + (duration or 0.0)
    return max(times, key=lambda device: times[device])
