"""The one place that turns numbers into text with a unit. Reports carry base units; prefixes exist only here
and, for what messages of gates need as well, in `kprof.figures`.

Numbers keep three or four significant digits whatever their size, so that nothing small becomes 0.00.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from kprof.figures import duration as duration
from kprof.figures import factor as factor
from kprof.figures import scaled
from kprof.figures import significant as significant

_SIZES: Final = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_FLOPS: Final = ((1e12, "TFLOP"), (1e9, "GFLOP"), (1e6, "MFLOP"), (1e3, "kFLOP"))
_BYTES_PER_MB: Final = 1e6
_LEAST_PERCENT: Final = 0.01


def size(count: float) -> str:
    """A size given in bytes, decimal prefixes: ``1.280 kB``, ``536.9 MB``; under 1 kB in whole bytes."""
    return f"{count:.0f} B" if abs(count) < 999.5 else scaled(count, _SIZES, 4)


def size_from_mb(mb: float) -> str:
    """A size given in MB of 1e6 bytes."""
    return size(mb * _BYTES_PER_MB)


def percent(share: float) -> str:
    """A share given in percent: ``0.45 %``."""
    return f"{significant(share, 3)} %"


def share(of_peak: float) -> str:
    """A share of a peak in percent; what is next to nothing is said to be that: ``< 0.01 %``."""
    return f"< {_LEAST_PERCENT} %" if 0 < of_peak < _LEAST_PERCENT else percent(of_peak)


def bandwidth(gbs: float) -> str:
    """A bandwidth given in GB/s."""
    return f"{significant(gbs, 4)} GB/s"


def rate(tflops: float) -> str:
    """A rate given in TFLOP/s."""
    return f"{significant(tflops, 3)} TFLOP/s"


def count(number: float) -> str:
    """A count: ``1,024``."""
    return f"{number:,.0f}"


def flop(number: float) -> str:
    """A count of FLOP: ``2.449 GFLOP``."""
    return f"{number:.0f} FLOP" if abs(number) < 999.5 else scaled(number, _FLOPS, 4)


def megahertz(clock: float) -> str:
    """A clock given in MHz, whole."""
    return f"{clock:.0f} MHz"


def in_unit(number: float | str | bool, unit: str) -> str:
    """A value of any field, by the unit that the registry gives it."""
    if isinstance(number, bool):
        return "yes" if number else "no"
    if isinstance(number, str):
        return number.replace("_", " ")
    return _OF_UNIT[unit](number) if unit in _OF_UNIT else significant(number, 3)


def seconds(time: float) -> str:
    """A time given in seconds."""
    return duration(time * 1e6)


def error(value: float) -> str:
    """An error or a tolerance, where the exponent is what matters: ``4.77e-07``, ``0``."""
    return f"{value:.3g}"


def value(number: float) -> str:
    """A value among the results of the kernel, near enough to be found again."""
    return f"{number:.6g}"


def extent(xyz: Sequence[int]) -> str:
    """A grid or a block: ``2 x 1 x 1`` as ``2``, ``16 x 4 x 1`` as ``16x4``."""
    kept = list(xyz)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return "x".join(map(str, kept))


def shape(dimensions: Sequence[int]) -> str:
    """The shape of a tensor: ``(4, 10, 32)``."""
    return "(" + ", ".join(map(str, dimensions)) + ("," if len(dimensions) == 1 else "") + ")"


_OF_UNIT: Final[dict[str, Callable[[float], str]]] = {
    "us": duration,
    "s": seconds,
    "bytes": size,
    "MB": size_from_mb,
    "%": share,
    "GB/s": bandwidth,
    "TFLOP/s": rate,
    "FLOP": flop,
    "MHz": megahertz,
    "count": count,
    "index": count,
    "output": error,
}
"""Units whose numbers have a way of their own to be written."""
