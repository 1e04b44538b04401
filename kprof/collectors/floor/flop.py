"""FLOP of an operator by the formulas that torch's FlopCounterMode has, by the type of its operands.

The formulas count 2 FLOP for each multiply-add of matrix products, convolutions and attention, and nothing else. They
are taken from the counter's own table, not from the counter, because its sums do not tell types apart. A few forms
that it has under another name only are added: in-place ones, integer products, attention on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import torch

from kprof.collectors.floor.operators import OperatorCall
from kprof.collectors.floor.pieces import SPARSE
from kprof.collectors.tf32 import convolution_may_use_tf32, matmul_may_use_tf32

try:
    from torch.utils.flop_counter import flop_registry as _REGISTRY
except ImportError:  # A release without the table: nothing is counted, and all operators are said to be uncounted.
    _REGISTRY = {}

Formula = Callable[..., int]

_SAME_AS: Final = {
    "_int_mm": "mm",
    "_addmm_activation": "addmm",
    "_scaled_dot_product_flash_attention_for_cpu": "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_fused_attention_overrideable": "_scaled_dot_product_flash_attention",
}
"""Operators of the same product as another, whose formula holds for them."""

_FIRST_OPERAND: Final = {"addmm": 1, "_addmm_activation": 1, "baddbmm": 1, "addbmm": 1, "addmv": 1}
"""Which tensor argument is the first factor, where it is not the first."""

_TYPES: Final = {
    torch.float64: "fp64",
    torch.float32: "fp32",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.int8: "int8",
}

_FORMULA_ERRORS: Final = (AssertionError, AttributeError, IndexError, RuntimeError, TypeError, ValueError)
"""What formulas raise for arguments that they were not written for."""


@dataclass(frozen=True)
class FlopCount:
    """FLOP of one call."""

    flop: int
    type: str
    """Element type of the operands."""
    tf32: bool
    """FP32 operands that torch may round to TF32, as it is set now."""
    masked: bool
    """It is attention under a mask: what the mask hides need not be computed, and the formulas count it."""


def has_formula(operator: Any) -> bool:
    """The counter knows the operator itself; others may fall apart into those that it knows."""
    return getattr(operator, "_overloadpacket", operator) in _REGISTRY


def count_flop(call: OperatorCall, result: Any) -> FlopCount | None:
    """FLOP of a call that has been made; None: no formula knows it, or not for such arguments.

    Args:
        call: the operator and its arguments.
        result: what it returned.
    """
    formula = _formula(call)
    if formula is None or any(tensor.layout in SPARSE for tensor in call.tensors):
        return None
    operand = call.tensors[_FIRST_OPERAND.get(call.base, 0)]
    try:
        flop = int(formula(*call.args, **call.kwargs, out_val=result))
    except _FORMULA_ERRORS:
        return None
    return FlopCount(flop, _type_name(operand.dtype), _tf32(call, operand), _is_masked(call))


def _is_masked(call: OperatorCall) -> bool:
    masks = (call.argument("attn_mask"), call.argument("attn_bias"))
    return bool(call.argument("is_causal")) or any(mask is not None for mask in masks)


def _formula(call: OperatorCall) -> Formula | None:
    packet = getattr(call.operator, "_overloadpacket", call.operator)
    found: Formula | None = _REGISTRY.get(packet)
    if found is not None or not call.base:
        return found
    if call.base in _OWN:
        return _OWN[call.base]
    return _REGISTRY.get(getattr(torch.ops.aten, _SAME_AS.get(call.base, call.base), None))


def _matrix_by_vector(matrix: Any, *_: Any, **__: Any) -> int:
    return 2 * int(matrix.numel())


def _added_to(_: Any, matrix: Any, *__: Any, **___: Any) -> int:
    return 2 * int(matrix.numel())


def _sum_of_products(_: Any, first: Any, second: Any, *__: Any, **___: Any) -> int:
    return 2 * int(first.numel()) * int(second.shape[-1])


_OWN: Final[dict[str, Formula]] = {
    "mv": _matrix_by_vector,
    "dot": _matrix_by_vector,
    "vdot": _matrix_by_vector,
    "addmv": _added_to,
    "addbmm": _sum_of_products,
}
"""Products without a formula in torch's table, 2 FLOP a multiply-add like the others."""


def _type_name(dtype: torch.dtype) -> str:
    name = str(dtype).removeprefix("torch.")
    return "fp8" if name.startswith(("float8_e4m3", "float8_e5m2")) else _TYPES.get(dtype, name)


def _tf32(call: OperatorCall, operand: torch.Tensor) -> bool:
    if operand.dtype is not torch.float32:
        return False
    return convolution_may_use_tf32() if "conv" in call.base else matmul_may_use_tf32()
