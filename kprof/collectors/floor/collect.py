"""The floor of a task: what one call of the reference has to read, write and compute.

**Read**: for each operator that is no view and no factory, the elements that its tensor arguments span, where they
lie in memory that was there before the call: inputs, parameters, buffers, other tensors held. Slices, expanded and
overlapping views count the elements that they reach, each once however often it is read; what the call overwrote
itself before reading it does not count. This is exact where operators read all of their arguments. Those that may
not are ``indexing_operators``: by values (gather, embedding), by masks (where, triu), by a stride wider than the
window (convolutions, pools, downsampling), or through sparse arguments. Results that were computed and then used
in part only (a product, then its last row) are in ``over_estimates``.

**Written**: elements of the outputs that are not inputs or weights handed back, and elements of inputs that an
operator wrote in place. Buffers written and not returned do not count.

Operators on constants alone (a mask made of ones) are left out: that can be done ahead.

**FLOP**: see `kprof.collectors.floor.flop`. Of composite layers torch's fused inference path is turned off for the
counted call, and torch.compile is taken off: both hide the products.

Code that is no operator of torch's (Triton, raw CUDA, numpy) is not seen. Where it shows, by memory that is used
and that nothing seen has written, all inputs and all weights count as read, and ``over_estimates`` says so.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from kprof.collectors.floor.ledger import Ledger, Marks
from kprof.collectors.floor.pieces import by_storage, pieces_of, total
from kprof.collectors.floor.watch import OperatorWatch
from kprof.collectors.precision.weights import uncompiled
from kprof.collectors.synchronise import synchronise
from kprof.collectors.tf32 import matmul_may_use_tf32
from kprof.errors import first_line
from kprof.evidence import Reason, Side
from kprof.floor_evidence import FloorEvidence
from kprof.trees import tensor_leaves
from kprof.workload import seed_everything

if TYPE_CHECKING:
    from kprof.workload import LoadedWorkload


def collect_floor(workload: LoadedWorkload, *, seed: int, enter: Callable[[Side | None], None]) -> FloorEvidence:
    """Count bytes and FLOP of one call of the reference, after a warm one, from the operators that it runs.

    Args:
        workload: both sides, loaded. Without a reference the kernel's call gives inputs and outputs, and no more.
        seed: of the inputs.
        enter: told whose code runs next; None: kprof's own.

    Returns:
        The evidence. Where the reference runs, but not while its operators are watched, ``reason`` says so.

    Whatever user code raises when it is called as it is, is passed on.
    """
    enter(workload.inputs_side)
    inputs = workload.inputs(seed)
    if workload.ref is None:
        enter("kernel")
        return _unwatched(workload.kernel, inputs, workload.device, enter, source="kernel")
    ref, marks = uncompiled(workload.ref), _marks(inputs)
    enter("ref")
    with torch.no_grad():
        ref(*inputs)
        synchronise(workload.device)
    if marks is None or marks != _marks(inputs):
        # The warm call wrote to them. The old ones go first: the two are never held at once.
        del inputs
        enter(workload.inputs_side)
        inputs = workload.inputs(seed)
        enter("ref")
    seed_everything(seed)
    try:
        return _watched(ref, inputs, workload.device, enter)
    except Exception as error:  # User code may raise anything, and has just run without: the watching is to blame.
        reason = _not_watched(error)
    del inputs
    enter(workload.inputs_side)
    inputs = workload.inputs(seed)
    enter("ref")
    return _unwatched(ref, inputs, workload.device, enter, source="ref", reason=reason)


def _watched(
    ref: Callable[..., Any], inputs: list[Any], device: torch.device, enter: Callable[[Side | None], None]
) -> FloorEvidence:
    given = [tensor for _, tensor in tensor_leaves(inputs)]
    held = _registered(ref)
    # Before the call, which may resize them or put others in their place; their storages live as long as these do.
    kept = [tensor.detach() for tensor in (*given, *held)]
    given_places, held_places = _places(given), _places(held)
    ledger = Ledger(frozenset(given_places), frozenset(held_places))
    with torch.no_grad(), _taken_apart(), OperatorWatch(ledger):
        outputs = ref(*inputs)
    synchronise(device)
    enter(None)
    made = ledger.take_outputs(tensor for _, tensor in tensor_leaves(outputs))
    del outputs, kept
    saw_all = ledger.saw_all
    if not saw_all:
        _read_in_full(ledger, {**given_places, **held_places})
    return _evidence(ledger, made, saw_all)


def _evidence(ledger: Ledger, made: Marks, saw_all: bool) -> FloorEvidence:
    inputs = total(places for storage, places in ledger.read.items() if storage in ledger.inputs)
    held = total(places for storage, places in ledger.read.items() if storage not in ledger.inputs)
    rewritten = [places for storage, places in ledger.written.items() if storage in ledger.inputs]
    outputs = total([*made.values(), *rewritten])
    exact = inputs.exact and held.exact and outputs.exact
    return FloorEvidence(
        input_bytes=inputs.bytes,
        parameter_bytes=held.bytes,
        output_bytes=outputs.bytes,
        flop=dict(ledger.flop),
        tf32_flop=ledger.tf32_flop,
        counted_operators=tuple(ledger.counted),
        uncounted_operators=tuple(ledger.uncounted),
        indexing_operators=tuple(ledger.indexing),
        tf32_allowed=ledger.tf32_flop > 0 if "fp32" in ledger.flop else matmul_may_use_tf32(),
        over_estimates=(*_over_estimates(ledger, saw_all), *_unresolved(exact)),
    )


def _over_estimates(ledger: Ledger, saw_all: bool) -> tuple[Reason, ...]:
    found = {
        "unseen_code": (
            "code ran that is no operator of torch's: all inputs and weights count as read",
            not saw_all,
        ),
        "custom_operators": (
            f"operators that are not torch's own may read a part of their arguments: {', '.join(ledger.custom)}",
            bool(ledger.custom),
        ),
        "results_partly_used": (
            f"results were used in part only, so a part of the work was not needed: {', '.join(ledger.partly_used)}",
            bool(ledger.partly_used),
        ),
        "masked_counted_in_full": (
            f"FLOP include what a mask hides: {', '.join(ledger.masked)}",
            bool(ledger.masked),
        ),
    }
    return tuple(Reason(code=code, message=message) for code, (message, holds) in found.items() if holds)


def _unresolved(exact: bool) -> tuple[Reason, ...]:
    message = "views overlap in too many pieces to be listed; their elements may count more than once"
    return () if exact else (Reason(code="overlap_not_resolved", message=message),)


def _unwatched(
    call: Callable[..., Any],
    inputs: list[Any],
    device: torch.device,
    enter: Callable[[Side | None], None],
    *,
    source: Side,
    reason: Reason | None = None,
) -> FloorEvidence:
    """All elements of the inputs, and of the outputs that are not inputs handed back, of one call."""
    places = _places([tensor for _, tensor in tensor_leaves(inputs)])
    with torch.no_grad():
        outputs = call(*inputs)
        synchronise(device)
    enter(None)
    results = _places([tensor for _, tensor in tensor_leaves(outputs)])
    read, made = total(places.values()), total(spans for storage, spans in results.items() if storage not in places)
    return FloorEvidence(
        source=source,
        input_bytes=read.bytes,
        output_bytes=made.bytes,
        tf32_allowed=matmul_may_use_tf32() if source == "ref" else None,
        over_estimates=_unresolved(read.exact and made.exact),
        reason=reason or _NO_REFERENCE,
    )


_NO_REFERENCE = Reason(
    code="no_reference",
    message="there is no reference: bytes are those of the kernel's own inputs and outputs, and FLOP are not known",
    hint="Give the reference with --ref.",
)


def _not_watched(error: Exception) -> Reason:
    return Reason(
        code="operators_not_seen",
        message=f"the reference does not run while its operators are watched ({type(error).__name__}: "
        f"{first_line(error)}): bytes are those of all its inputs and outputs, and FLOP are not known",
        hint="Write the reference with plain operators of torch's.",
    )


def _places(tensors: list[Tensor]) -> Marks:
    return by_storage(piece for tensor in tensors for piece in pieces_of(tensor))


def _read_in_full(ledger: Ledger, places: Marks) -> None:
    for storage, footprints in places.items():
        ledger.read.setdefault(storage, set()).update(footprints)


def _marks(inputs: list[Any]) -> tuple[Any, ...] | None:
    """What changes when an operator writes to an input or turns it in place; None where torch does not keep count."""
    tensors = [tensor for _, tensor in tensor_leaves(inputs)]
    if any(tensor.is_inference() for tensor in tensors):
        return None
    return tuple((id(tensor), tensor._version) for tensor in tensors)


def _registered(ref: Callable[..., Any]) -> list[Tensor]:
    """Parameters and buffers, where it is a module."""
    return [*ref.parameters(), *ref.buffers()] if isinstance(ref, torch.nn.Module) else []


@contextlib.contextmanager
def _taken_apart() -> Iterator[None]:
    """Layers run operator by operator: no fused inference path of torch.nn, nothing that torch.compile made."""
    fast = torch.backends.mha.get_fastpath_enabled()
    dynamo = sys.modules.get("torch._dynamo")
    # From torch 2.6 on; earlier ones run what they compiled, and what it launches beside torch's operators is not seen.
    eager = getattr(torch.compiler, "set_stance", None) if dynamo is not None else None
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with eager("force_eager") if eager is not None else contextlib.nullcontext():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
