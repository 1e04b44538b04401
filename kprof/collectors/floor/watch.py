"""Sees every operator of torch's that a call runs, through torch's own hook for it."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kprof.collectors.floor.flop import count_flop, has_formula
from kprof.collectors.floor.ledger import Ledger
from kprof.collectors.floor.operators import OperatorCall

_COMPOSITE: Final = torch._C.DispatchKey.CompositeImplicitAutograd


class OperatorWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps the books of the operators that run while it is entered.

    Composite operators are taken apart first, as torch's FlopCounterMode does: under ``torch.inference_mode`` they
    arrive whole, and a matrix product within would not be seen. Wrapper subclasses are left to their own rules, whose
    operators on the tensors within are then seen.

    Args:
        ledger: the books.
    """

    supports_higher_order_operators = True

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ledger = ledger

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if any(hasattr(one, "__tensor_flatten__") for one in types):
            return NotImplemented
        if not has_formula(func) and _is_composite(func):
            with self:
                return func._op_dk(_COMPOSITE, *args, **kwargs)
        call = OperatorCall(func, tuple(args), kwargs)
        self.ledger.before(call)
        result = func(*args, **kwargs)
        self.ledger.after(call, result, count_flop(call, result))
        return result


def _is_composite(func: Any) -> bool:
    """It is made of other operators in torch's own library.

    Not asked are the decompositions in Python that torch keeps for its compiler (``OpOverload.decompose`` would):
    they say what an operator amounts to, not what runs.
    """
    name = getattr(getattr(func, "_schema", None), "name", None)
    if name is None:
        return False
    overload = func._schema.overload_name
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(f"{name}.{overload}" if overload else name, _COMPOSITE))
