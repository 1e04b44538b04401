"""Roofs of a CUDA device: kernels that do one thing, torch's own operators beside them, and the library's products.

Where kernels and an operator measure the same, the fastest one is the roof. Buffers hold random values: a board draws
less power, and so runs faster, on zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import torch
from torch import Tensor
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from kprof.ceilings_evidence import MeasuredCeiling, Name
from kprof.collectors.ceilings.device_rates import DeviceRates
from kprof.collectors.ceilings.kernels import CeilingKernels, Grid, build_kernels
from kprof.collectors.ceilings.products import product_ceilings
from kprof.collectors.ceilings.rates import time_of
from kprof.collectors.clocks import ClockMonitor
from kprof.collectors.environment import board_uuid
from kprof.errors import CannotMeasureError
from kprof.evidence import Reason

Found = MeasuredCeiling | tuple[Name, Reason]
_DRAM_BYTES: Final = 2**30
_FREE_SHARE: Final = 8
_OVER_L2: Final = 8
_L2_PARTS: Final = (16, 8, 4)
_USUAL_L2_BYTES: Final = 2**25
# As the source has them: loads of 16 bytes a turn and thread past L1, and on chip; threads there; FMAs a turn.
_LOADS: Final = 8
_SLOTS: Final = 4
_ON_CHIP_THREADS: Final = 256
_FMAS: Final = 8 * 16
_ON_CHIP_TURNS: Final = 8000
_FMA_TURNS: Final = 2000
_TURING: Final = (7, 5)
_LAUNCHES: Final = 200


def cuda_ceilings(device: torch.device, cache_root: Path) -> Iterator[Found]:
    """Every roof of the device, and why some are not there."""
    rates = DeviceRates(device, ClockMonitor(board_uuid(device)))
    try:
        kernels: CeilingKernels | None = CeilingKernels(build_kernels(device, cache_root), device)
    except CannotMeasureError as error:
        kernels = None
        reason = Reason(code=error.code, message=error.message, hint=error.hint)
        on_chip: tuple[Name, ...] = ("l2", "l1", "shared", "fp16_vector", "empty_kernel")
        yield from ((name, reason) for name in on_chip)
    with torch.no_grad():
        yield from _dram(rates, kernels)
        yield from _on_chip(rates, kernels) if kernels is not None else ()
        yield from product_ceilings(rates, torch.cuda.get_device_capability(device))
        yield from _times(device, kernels)


def _dram(rates: DeviceRates, kernels: CeilingKernels | None) -> Iterator[MeasuredCeiling]:
    """The fastest of some kernels and an operator of torch's, for each mix."""
    size = _dram_bytes(rates.device)
    whole = torch.rand(3 * size // 4, device=rates.device)
    a, b, c = whole.chunk(3)
    yield _dram_read(rates, kernels, whole)
    operators: tuple[tuple[Name, int, str, Callable[[], Any]], ...] = (
        ("dram_copy", 2, "torch.Tensor.copy_", lambda: b.copy_(a)),
        ("dram_triad", 3, "torch.add(a, b, alpha=3, out=c)", lambda: torch.add(a, b, alpha=3, out=c)),
    )
    for name, buffers, method, call in operators:
        moved, footprint = float(buffers * size), buffers * size
        found = [rates.rate(name, "byte/s", moved, call, method, footprint)]
        if kernels is not None:
            launch = _launcher(kernels, name, _filling(rates.device), a, b, c, size // 16)
            found.append(rates.rate(name, "byte/s", moved, launch, f"kernel {name}, 16 bytes a load", footprint))
        yield max(found, key=lambda one: one.median)


def _dram_read(rates: DeviceRates, kernels: CeilingKernels | None, whole: Tensor) -> MeasuredCeiling:
    """Which order of addresses suits a board's memory is found by trying."""
    size = whole.nbytes
    out = torch.empty(_filling(rates.device).all_threads, device=rates.device)
    found = [rates.rate("dram_read", "byte/s", float(size), lambda: torch.sum(whole), "torch.sum", size)]
    if kernels is None:
        return found[0]
    one_pass = Grid(math.ceil(size / 16 / _LOADS / 256), 256)
    tried = (
        ("dram_read", _filling(rates.device)),
        ("dram_read_tiles", _filling(rates.device)),
        ("dram_read_tiles", one_pass),
    )
    for launcher, grid in tried:
        launch = _launcher(kernels, launcher, grid, whole, out, out, size // 16)
        told = f"kernel {launcher}, 16 bytes a load{', one pass' if grid is one_pass else ''}"
        found.append(rates.rate("dram_read", "byte/s", float(size), launch, told, size))
    return max(found, key=lambda one: one.median)


def _filling(device: torch.device) -> Grid:
    """As many threads as a board of today runs at once."""
    return Grid(8 * _sms(device), 256)


def _launcher(kernels: CeilingKernels, name: str, grid: Grid, *buffers: Tensor | int) -> Callable[[], None]:
    a, b, c, n16 = buffers
    return lambda: kernels.launch(name, grid, a, b, c, n16)  # type: ignore[arg-type]


def _dram_bytes(device: torch.device) -> int:
    """Of one buffer: several times L2, a part of what is free."""
    free, _ = torch.cuda.mem_get_info(device)
    wanted = max(_DRAM_BYTES, _OVER_L2 * _l2_bytes(device))
    return min(wanted, free // _FREE_SHARE) // 4096 * 4096


def _on_chip(rates: DeviceRates, kernels: CeilingKernels) -> Iterator[MeasuredCeiling]:
    """L2, L1, shared memory and the pipes outside the tensor cores."""
    sms, device = _sms(rates.device), rates.device
    out = torch.empty(2 * sms * 1024 * 2, device=device)  # 8 bytes a thread
    yield _best_l2(rates, kernels, out)
    yield from _on_each_sm(rates, kernels, out)
    whole = Grid(2 * sms, 1024, _FMA_TURNS)
    pipes: tuple[tuple[Name, int], ...] = (("fp32", 2), ("fp64", 2), ("fp16_vector", 4))
    for name, flop in pipes:
        launch = _launcher(kernels, name, whole, out, out, out, 0)
        yield rates.rate(
            name, "FLOP/s", float(flop * _FMAS * whole.turns * whole.all_threads), launch, f"kernel {name}"
        )


def _on_each_sm(rates: DeviceRates, kernels: CeilingKernels, out: Tensor) -> Iterator[MeasuredCeiling]:
    """L1 and shared memory, which are one and the same on every architecture from Volta on."""
    # A block keeps 16 KiB; L1 of Turing has room for no more than two.
    blocks = 2 if torch.cuda.get_device_capability(rates.device) == _TURING else 4
    grid = Grid(blocks * _sms(rates.device), _ON_CHIP_THREADS, _ON_CHIP_TURNS)
    footprint = 16 * _SLOTS * grid.all_threads
    own = torch.rand(footprint // 4, device=rates.device)
    levels: tuple[Name, ...] = ("l1", "shared")
    for name in levels:
        launch = _launcher(kernels, name, grid, own, out, out, 0)
        read = 16.0 * _SLOTS * grid.turns * grid.all_threads
        yield rates.rate(name, "byte/s", read, launch, f"kernel {name}, 16 KiB a block, 16 bytes a load", footprint)


def _best_l2(rates: DeviceRates, kernels: CeilingKernels, out: Tensor) -> MeasuredCeiling:
    """The best of several footprints that L2 has room for."""
    grid = Grid(2 * _sms(rates.device), 1024, 64)
    found = []
    for part in _L2_PARTS:
        size = 1 << ((_l2_bytes(rates.device) // part).bit_length() - 1)
        buffer = torch.rand(size // 4, device=rates.device)
        launch = _launcher(kernels, "l2", grid, buffer, out, out, size // 16)
        read = 16.0 * _LOADS * grid.turns * grid.all_threads
        found.append(rates.rate("l2", "byte/s", read, launch, "kernel l2, 16 bytes a load past L1", size))
    return max(found, key=lambda one: one.median)


def _times(device: torch.device, kernels: CeilingKernels | None) -> Iterator[Found]:
    one = torch.ones(1, device=device)
    method = "torch.Tensor.neg_ of one element"
    # Before the profiler is used: from then on it makes every launch dearer.
    _queued_us(one.neg_, device)
    yield time_of("launch", [_queued_us(one.neg_, device) for _ in range(21)], f"{method}, {_LAUNCHES} queued")
    yield time_of("launch_and_wait", [_waited_us(one.neg_, device) for _ in range(101)], f"{method} and a synchronise")
    if kernels is not None:
        seen = _kernel_us(_launcher_of_nothing(kernels), device)
        unseen = Reason(code="profiler_saw_nothing", message="torch.profiler saw none of the launches")
        yield time_of("empty_kernel", seen, "CUPTI, a kernel that does nothing") if seen else ("empty_kernel", unseen)


def _launcher_of_nothing(kernels: CeilingKernels) -> Callable[[], None]:
    grid = Grid(1, 32)
    return lambda: kernels.launch("empty_kernel", grid)


def _kernel_us(launch: Callable[[], None], device: torch.device) -> list[float]:
    launch()
    torch.cuda.synchronize(device)
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as session:
        for _ in range(_LAUNCHES):
            launch()
        torch.cuda.synchronize(device)
    events = session.events() or ()
    return [event.time_range.elapsed_us() for event in events if event.device_type == DeviceType.CUDA]


def _queued_us(call: Callable[[], Any], device: torch.device) -> float:
    torch.cuda.synchronize(device)
    began = perf_counter()
    for _ in range(_LAUNCHES):
        call()
    ended = perf_counter()
    torch.cuda.synchronize(device)
    return (ended - began) * 1e6 / _LAUNCHES


def _waited_us(call: Callable[[], Any], device: torch.device) -> float:
    torch.cuda.synchronize(device)
    began = perf_counter()
    call()
    torch.cuda.synchronize(device)
    return (perf_counter() - began) * 1e6


def _sms(device: torch.device) -> int:
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


def _l2_bytes(device: torch.device) -> int:
    return int(getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0)) or _USUAL_L2_BYTES
