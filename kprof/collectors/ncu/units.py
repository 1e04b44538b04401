"""ncu's units, and what turns a value into the base unit that evidence is kept in.

The base units are those of ``ncu --print-units base``: ns, byte, hz, and everything else a second. Prefixes are
decimal. Nsight Compute does not say so in words; a recorded report does: the details page has 32,768 bytes of shared
memory as ``32.77 Kbyte`` and 11,796,480 bytes of L2 as ``11.80 Mbyte``. Older releases spell times ``nsecond`` and
frequencies ``cycle/nsecond``.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple


class Unit(NamedTuple):
    """A unit that is understood."""

    factor: float
    """Times this, a value is in ``base``."""
    base: str


_PREFIXES: Final = {"K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_TIMES_NS: Final = {
    "ns": 1.0, "nsecond": 1.0, "us": 1e3, "usecond": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9,
}  # fmt: skip
_SINGULAR: Final = {"branches": "branch", "passes": "pass"}
_COUNTED: Final = frozenset(
    {
        "bit", "block", "branch", "byte", "cluster", "cycle", "inst", "instruction", "op", "packet", "pass", "register",
        "request", "sample", "sector", "tag", "thread", "warp", "wavefront", "GPC", "SM", "TPC",
    }
)  # fmt: skip
_PERCENT_ENDS: Final = ("_pct", ".pct")
_SAMPLED: Final = "smsp__pcsamp_"
_PERCENT_PARTS: Final = ".pct_of_peak_"


@cache
def parse_unit(text: str) -> Unit | None:
    """The unit of that spelling; None where it is not known, and no value in it can be trusted.

    >>> parse_unit("Gbyte/s")
    Unit(factor=1000000000.0, base='byte/s')
    """
    above, slash, below = text.strip().partition("/")
    if not slash:
        return _simple(above)
    counted = _counted(above)
    if counted is None:
        return None
    if below in _TIMES_NS:
        base = "hz" if counted.base == "cycle" else f"{counted.base}/s"
        return Unit(counted.factor * 1e9 / _TIMES_NS[below], base)
    under = _counted(below)
    if under is None or under.factor != 1:
        return None
    return Unit(counted.factor, f"{counted.base}/{under.base}")


def unit_of(name: str, text: str) -> Unit | None:
    """The unit of a metric; None where the spelling is not known, or is of what this metric cannot be."""
    unit = parse_unit(text)
    return unit if unit is not None and _fits(name, unit.base) else None


@cache
def _fits(name: str, base: str) -> bool:
    """A metric of that name can be in that unit: the name says what it counts."""
    if name.startswith(_SAMPLED):
        # Counts of samples, which ncu itself gives units at random: membar in bytes, branch_resolving in branches.
        return True
    if name.endswith(_PERCENT_ENDS) or _PERCENT_PARTS in name:
        return base in ("%", "")
    if ".per_second" in name:
        return base in ("hz", "") or base.endswith("/s")
    if "__time" in name:
        return base == "ns"
    if "bytes" in name or name.startswith("launch__shared_mem"):
        return base.startswith("byte") and not base.endswith("/s")
    if "sectors" in name and name.endswith(".sum"):
        return base in ("sector", "")
    return base not in ("ns", "%", "hz", "byte", "bit") and not base.endswith("/s")


def needs_no_unit(name: str) -> bool:
    """A metric of this name has the same unit in every report, so a table without units still tells its value.

    Percentages, sizes and limits of a launch other than bytes, and attributes of the device are never scaled.
    """
    if name.endswith(_PERCENT_ENDS) or _PERCENT_PARTS in name:
        return True
    return name.startswith("device__attribute_") or (name.startswith("launch__") and "mem" not in name)


def _simple(text: str) -> Unit | None:
    if text in _TIMES_NS:
        return Unit(_TIMES_NS[text], "ns")
    if text.lower().endswith("hz"):
        factor = 1.0 if len(text) == 2 else _PREFIXES.get(text[:-2])
        return None if factor is None else Unit(factor, "hz")
    return _counted(text)


def _counted(text: str) -> Unit | None:
    """Something counted, with or without a prefix; a blank counts without saying what."""
    if text in ("", "%"):
        return Unit(1.0, text)
    name = _name_of(text)
    if name is not None:
        return Unit(1.0, name)
    name = _name_of(text[1:])
    return Unit(_PREFIXES[text[0]], name) if name is not None and text[0] in _PREFIXES else None


def _name_of(text: str) -> str | None:
    singular = _SINGULAR.get(text, text)
    if singular in _COUNTED:
        return singular
    return text[:-1] if text[-1:] == "s" and text[:-1] in _COUNTED else None
