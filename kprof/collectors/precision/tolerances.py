"""What counts as equal, by element type: a frozen table and the reasons for each row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import torch

from kprof.precision_evidence import Tolerance


@dataclass(frozen=True)
class DtypeTolerance:
    """``|kernel - ref| <= atol + factor * |ref|`` with ``atol = max(factor * rms(ref), floor)``."""

    factor: float
    """Dimensionless: the relative tolerance, and the share of the reference's root mean square."""
    floor: float
    """Least atol, in the output's unit: what the type itself cannot resolve."""


_FP64 = DtypeTolerance(factor=1e-9, floor=torch.finfo(torch.float64).tiny)
_FP32 = DtypeTolerance(factor=1e-4, floor=torch.finfo(torch.float32).tiny)
_FP16 = DtypeTolerance(factor=5e-3, floor=2.0**-24)

TOLERANCES: Final[Mapping[torch.dtype, DtypeTolerance]] = MappingProxyType(
    {
        torch.float64: _FP64,
        torch.complex128: _FP64,
        torch.float32: _FP32,
        torch.complex64: _FP32,
        torch.float16: _FP16,
        torch.complex32: _FP16,
        torch.bfloat16: DtypeTolerance(factor=2e-2, floor=torch.finfo(torch.bfloat16).tiny),
        torch.float8_e4m3fn: DtypeTolerance(factor=0.15, floor=2.0**-9),
        torch.float8_e4m3fnuz: DtypeTolerance(factor=0.15, floor=2.0**-10),
        torch.float8_e5m2: DtypeTolerance(factor=0.3, floor=2.0**-16),
        torch.float8_e5m2fnuz: DtypeTolerance(factor=0.3, floor=2.0**-17),
    }
)
"""Factors and floors.

- The factor has to lie above what another order of summation does and above one unit in the last place, or a right
  kernel fails now and then; and below the error of the next cheaper type, or that type passes for this one.
- fp32, 1e-4: TF32 keeps 10 mantissa bits, each operand is off by up to 2^-11, and a matrix product is off by about
  3e-4 of its root mean square, over 1e-3 at the worst element. fp32 sums of 10^6 terms stay under 5e-5 of it
  (0.2 * 2^-23 * sqrt(n) for a random walk of roundings).
- fp64, 1e-9: the same distance from fp32 (6e-8) as from fp64's own sums.
- fp16, 5e-3 and bf16, 2e-2: about five units in the last place (2^-10, 2^-7 at most relative to the value).
- fp8, 0.15 and 0.3: one unit in the last place is up to 2^-3 (e4m3) or 2^-2 (e5m2) of the value.
- Floors: the smallest normal of fp64, fp32 and bf16, because compilers flush smaller values to zero on request; the
  spacing of subnormals for fp16 and fp8, because real results lie there (a softmax over 65 536 columns is 1.5e-5).
- A reference that is zero everywhere has no scale of its own: atol is then the floor.

Floating types that are not listed hold scales or packed values and are compared bit for bit, as integers are exactly.
"""


def tolerance_for(where: str, dtype: torch.dtype, contract: torch.dtype, scale: float, widened: float) -> Tolerance:
    """The tolerance of one output.

    Args:
        where: path of the output.
        dtype: its element type, as recorded.
        contract: the type whose row of `TOLERANCES` applies.
        scale: root mean square of the reference's finite values, outliers left out.
        widened: least atol because the reference itself is off by half of this; 0: it is not.
    """
    name = str(dtype).removeprefix("torch.")
    row = TOLERANCES.get(contract)
    if row is None:
        return Tolerance(where=where, dtype=name, atol=0.0, rtol=0.0, scale=scale)
    atol = max(row.factor * scale, row.floor, widened)
    return Tolerance(where=where, dtype=name, atol=atol, rtol=row.factor, scale=scale)
