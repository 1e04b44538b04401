"""The books of one call: which bytes of whose memory its operators read and wrote, and what became of their results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from torch import Tensor

from kprof.collectors.floor.distinct import Footprint, covered
from kprof.collectors.floor.flop import FlopCount
from kprof.collectors.floor.operators import OperatorCall
from kprof.collectors.floor.pieces import Piece, by_storage, pieces_of, tensors_in

Marks = dict[int, set[Footprint]]

_RUN_LIMIT: Final = 2**16
"""Runs listed to see whether a result was used in full: there may be many results."""


@dataclass
class _Result:
    """Memory that an operator of this call made."""

    operator: str
    """Empty where it only made room, or a constant: that need not be used in full."""
    produced: set[Footprint]
    only_one: bool
    """The operator made no other."""
    blank: bool
    """Nothing that was seen has written to it."""
    constant: bool
    """Made of no input and no weight (a mask of ones, say): it can be made ahead."""
    used: set[Footprint] = field(default_factory=set)


@dataclass
class Ledger:
    """What the operators of one call did. Memory is told apart by storage: that of inputs, made in the call, or held.

    Only addresses are kept, no tensors: the call takes no more memory than it would alone. Storages of inputs and
    of registered parameters must be kept alive by the caller; one of a result that was freed may come again, and
    starts anew then.
    """

    inputs: frozenset[int]
    """Storages of the inputs."""
    registered: frozenset[int]
    """Storages of the reference's parameters and buffers."""
    read: Marks = field(default_factory=dict)
    """Read from memory that was there before the call."""
    written: Marks = field(default_factory=dict)
    """Written to memory that was there before the call."""
    flop: dict[str, int] = field(default_factory=dict)
    tf32_flop: int = 0
    counted: dict[str, None] = field(default_factory=dict)
    uncounted: dict[str, None] = field(default_factory=dict)
    indexing: dict[str, None] = field(default_factory=dict)
    custom: dict[str, None] = field(default_factory=dict)
    masked: dict[str, None] = field(default_factory=dict)
    partly_used: dict[str, None] = field(default_factory=dict)
    seen: int = 0
    """Operators, views and factories included."""
    unseen_writer: bool = False
    """Memory was used that nothing seen had written."""
    _lifted: bool = False
    _overwritten: Marks = field(default_factory=dict)
    _results: dict[int, _Result] = field(default_factory=dict)

    def before(self, call: OperatorCall) -> None:
        """Note what an operator is about to read: while it runs, its arguments may change their shape."""
        self.seen += 1
        for tensor in call.read():
            for piece in pieces_of(tensor):
                self._use(piece)

    def after(self, call: OperatorCall, result: Any, count: FlopCount | None) -> None:
        """Note what an operator wrote, made and computed."""
        constant = self._is_constant(call)
        for tensor, unread in call.written():
            for piece in pieces_of(tensor):
                self._write(piece, unread, constant)
        self._add_results(call, result, constant)
        if not constant:
            self._classify(call, result, count)

    @property
    def saw_all(self) -> bool:
        """Nothing shows that code ran which is no operator of torch's.

        It shows where memory was used that nothing seen had written, where nothing was seen, and where values came from
        outside while no input was read.
        """
        from_outside = self._lifted and self.inputs.isdisjoint(self.read)
        return self.seen > 0 and not self.unseen_writer and not from_outside

    def take_outputs(self, outputs: Iterable[Tensor]) -> Marks:
        """End the books with what the call returned.

        Returns:
            The footprints of the outputs that the call made: neither an input nor a weight handed back.
        """
        made: Marks = {}
        for piece in (piece for tensor in outputs for piece in pieces_of(tensor)):
            result = self._results.get(piece.storage)
            known = piece.storage in self.inputs or piece.storage in self.registered
            if result is not None:
                result.used.add(piece.footprint)
                self.unseen_writer |= result.blank
            elif known and (piece.storage in self.inputs or piece.storage not in self.written):
                continue
            elif piece.storage not in self.written:
                self.unseen_writer = True
            made.setdefault(piece.storage, set()).add(piece.footprint)
        for result in self._results.values():
            self._close(result)
        self._results.clear()
        return made

    def _use(self, piece: Piece) -> None:
        result = self._results.get(piece.storage)
        if result is not None:
            result.used.add(piece.footprint)
            self.unseen_writer |= result.blank
        elif not self._was_overwritten(piece):
            self.read.setdefault(piece.storage, set()).add(piece.footprint)

    def _was_overwritten(self, piece: Piece) -> bool:
        """The call itself wrote all of it, in one go and without reading it first."""
        place = piece.footprint
        return any(
            place == one or (not one.dims and one.start <= place.start and place.end <= one.end)
            for one in self._overwritten.get(piece.storage, ())
        )

    def _is_constant(self, call: OperatorCall) -> bool:
        """It works on constants alone; what it is given may have been made of them by view."""
        if call.is_factory or call.base == "lift_fresh":
            return True
        places = (piece.storage for tensor in call.tensors for piece in pieces_of(tensor))
        return all(place in self._results and self._results[place].constant for place in places)

    def _write(self, piece: Piece, unread: bool, constant: bool) -> None:
        result = self._results.get(piece.storage)
        if result is not None:
            result.blank = False
            result.constant &= constant
            return
        self.written.setdefault(piece.storage, set()).add(piece.footprint)
        if unread:
            self._overwritten.setdefault(piece.storage, set()).add(piece.footprint)

    def _add_results(self, call: OperatorCall, result: Any, constant: bool) -> None:
        given = {piece.storage for tensor in call.tensors for piece in pieces_of(tensor)}
        if call.base == "lift_fresh":
            # Made outside of torch's operators: a constant of the program's text, or numpy's.
            given, self._lifted = set(), True
        pieces = by_storage(piece for tensor in tensors_in(result) for piece in pieces_of(tensor))
        known = (given, self.inputs, self.registered)
        made = {place: produced for place, produced in pieces.items() if not any(place in one for one in known)}
        operator = "" if constant or call.schema.is_view else call.name
        for place, produced in made.items():
            if place in self._results:
                self._close(self._results[place])
            self._results[place] = _Result(operator, produced, len(made) == 1, call.is_uninitialised, constant)

    def _close(self, result: _Result) -> None:
        """Judge whether a result was used in full, now that nothing more can use it.

        One that was not used at all does not tell where its operator made others (statistics, indices).
        """
        if not result.operator or (not result.used and not result.only_one) or result.produced <= result.used:
            return
        used = covered(result.used, _RUN_LIMIT)
        if not used.exact or used.bytes < covered(result.produced, _RUN_LIMIT).bytes:
            self.partly_used[result.operator] = None

    def _classify(self, call: OperatorCall, result: Any, count: FlopCount | None) -> None:
        if not call.base and not call.schema.is_view:
            self.custom[call.name] = None
        if call.may_read_a_part(result):
            self.indexing[call.name] = None
        if count is not None:
            self.counted[call.name] = None
            if count.flop:
                self.flop[count.type] = self.flop.get(count.type, 0) + count.flop
            self.tf32_flop += count.flop if count.tf32 else 0
            if count.masked:
                self.masked[call.name] = None
        elif call.computes:
            self.uncounted[call.name] = None
