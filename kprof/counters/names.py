"""Patterns of ncu's names that many quantities share."""

from __future__ import annotations

from typing import Any, Final

from kprof.counters.formulas import PCT_ACTIVE, PCT_ELAPSED, Formula, product, quantity, share_of_active

DURATION: Final = "gpu__time_duration.sum"
_SASS: Final = "smsp__sass_thread_inst_executed_op"


def operation(name: str) -> Any:
    """Thread instructions of one kind, predicated on; a report of the roofline sections has them a cycle."""
    return quantity(
        "count",
        "sum",
        f"{_SASS}_{name}_pred_on.sum",
        product(f"{_SASS}_{name}_pred_on.sum.per_cycle_elapsed", "smsp__cycles_elapsed.avg"),
        f"sm__sass_thread_inst_executed_op_{name}_pred_on.sum",
    )


def pipe(*names: str, asked: bool = True) -> Any:
    """How busy a pipe is over elapsed time, %: cycles first, instructions second, shares of active time last."""
    stems = [f"sm__pipe_{name}_cycles_active" for name in names]
    stems += [f"sm__inst_executed_pipe_{name}" for name in names]
    whole = [f"{stem}.{rollup}.{PCT_ELAPSED}" for stem in stems for rollup in ("avg", "sum")]
    active = [share_of_active(f"{stem}.avg.{PCT_ACTIVE}") for stem in stems]
    return quantity("%", "time", *whole, *active, asked=asked)


def busy(*stems: str, asked: bool = True, otherwise: tuple[Formula, ...] = ()) -> Any:
    """How busy a unit is over elapsed time, %; ``otherwise``: what it can be made from where no such name is."""
    names = [f"{stem}.{rollup}.{PCT_ELAPSED}" for stem in stems for rollup in ("avg", "sum")]
    return quantity("%", "time", *names, *otherwise, asked=asked)


def per_second(stem: str) -> Formula:
    """A total that some reports have only a second: the rate times the duration (ns)."""
    return product(f"{stem}.sum.per_second", DURATION, factor=1e-9)


def attribute(*names: str, unit: str = "count", least: float = 0.0, whole: bool = True) -> Any:
    """What is a property of the launch or the device."""
    return quantity(unit, "most", *names, least=least, whole=whole)


def global_access(what: str, operation_: str) -> str:
    """``sectors`` or ``requests`` of global loads (``ld``) or stores (``st``) that L1 looked up."""
    return f"l1tex__t_{what}_pipe_lsu_mem_global_op_{operation_}.sum"
