"""Peaks of matrix products through the board's own libraries, one type of operands after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import torch

from kprof.ceilings_evidence import MeasuredCeiling, Name
from kprof.collectors.ceilings.device_rates import DeviceRates
from kprof.errors import first_line
from kprof.evidence import Reason

Capability = tuple[int, int]
_ORDERS: Final = (8192, 4096)
_PROBE_ORDER: Final = 2048
_LONGEST_CALL_US: Final = 30_000.0
FP64_TENSOR: Final = frozenset({(8, 0), (9, 0), (10, 0)})
"""Compute capabilities whose tensor cores take FP64 at a rate of its own (CUDA C++ Programming Guide)."""


@dataclass(frozen=True)
class _Product:
    """One type: how operands are made, how they are multiplied, since which compute capability."""

    name: Name
    operand: Callable[[int, torch.device], Any]
    multiply: Callable[[Any, Any], Any]
    method: str
    since: Capability = (0, 0)
    tf32: bool = False


def product_ceilings(rates: DeviceRates, capability: Capability) -> Iterator[MeasuredCeiling | tuple[Name, Reason]]:
    """One ceiling a type, or why there is none."""
    fp64: Name = "fp64_tensor" if capability in FP64_TENSOR else "fp64"
    for product in (_of_floats("fp32", torch.float32), _of_floats(fp64, torch.float64), *_TENSOR):
        if capability < product.since:
            least = ".".join(map(str, product.since))
            yield product.name, Reason(code="no_such_unit", message=f"needs compute capability {least}")
            continue
        try:
            yield _measured(product, rates)
        except (RuntimeError, ValueError, NotImplementedError) as error:  # What a library does not take, it says so.
            message = f"{product.method}: {first_line(error)}"
            yield product.name, Reason(code="library_refused", message=message)


def _measured(product: _Product, rates: DeviceRates) -> MeasuredCeiling:
    torch.backends.cuda.matmul.allow_tf32 = product.tf32
    order = _order(product, rates)
    left, right = (product.operand(order, rates.device) for _ in range(2))
    return rates.rate(
        product.name,
        "FLOP/s",
        2.0 * order**3,
        lambda: product.multiply(left, right),
        f"{product.method} of order {order}, random values",
    )


def _order(product: _Product, rates: DeviceRates) -> int:
    """The largest order whose call is still short."""
    left, right = (product.operand(_PROBE_ORDER, rates.device) for _ in range(2))
    once = rates.once_us(lambda: product.multiply(left, right))
    fits = (order for order in _ORDERS if once * (order / _PROBE_ORDER) ** 3 <= _LONGEST_CALL_US)
    return next(fits, _PROBE_ORDER)


def _normal(dtype: torch.dtype) -> Callable[[int, torch.device], Any]:
    return lambda order, device: torch.randn(order, order, device=device).to(dtype)


def _integers(order: int, device: torch.device) -> Any:
    return torch.randint(-128, 128, (order, order), device=device, dtype=torch.int8)


def _of_floats(name: Name, dtype: torch.dtype, since: Capability = (0, 0), tf32: bool = False) -> _Product:
    return _Product(name, _normal(dtype), lambda a, b: torch.mm(a, b), f"torch.mm in {name}", since, tf32)


def _scaled(left: Any, right: Any) -> Any:
    one = torch.ones((), device=left.device)
    return torch._scaled_mm(left, right.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True)


_TENSOR: Final = (
    _of_floats("tf32", torch.float32, (8, 0), tf32=True),
    _of_floats("bf16", torch.bfloat16, (8, 0)),
    _of_floats("fp16", torch.float16, (7, 0)),
    _Product("fp8", _normal(torch.float8_e4m3fn), _scaled, "torch._scaled_mm in fp8 (e4m3)", (8, 9)),
    _Product("int8", _integers, lambda a, b: torch._int_mm(a, b.t()), "torch._int_mm", (7, 5)),
)
