"""``python -m kprof.doctor.boards``: what NVML says of every board, as one line of JSON.

In a process of its own: a driver that hangs takes whoever asks it along.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import msgspec
import pynvml

from kprof.collectors.clocks import ClockMonitor, nvml_text
from kprof.errors import first_line
from kprof.evidence import ClockReading, Record
from kprof.subprocesses.asking import ask_program

_ANSWER_S: Final = 8.0


class Board(Record, frozen=True, kw_only=True):
    """One board of the machine."""

    name: str
    uuid: str
    compute_capability: str | None = None
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None
    busy_pct: int | None = None
    """Share of the last moments in which some kernel ran."""
    max_sm_mhz: int | None = None
    mig: bool = False
    clocks: ClockReading | None = None
    processes: tuple[int, ...] | None = None
    """Process ids with a context on the board, as far as they can be seen from here."""


class Boards(Record, frozen=True, kw_only=True):
    """What NVML says; ``error`` where it does not answer."""

    driver: str | None = None
    driver_cuda: str | None = None
    """The newest CUDA that the driver runs."""
    boards: tuple[Board, ...] = ()
    error: str | None = None


def ask_boards() -> Boards:
    """The boards of this machine, asked in a process of its own."""
    answer = ask_program((sys.executable, "-m", "kprof.doctor.boards"), _ANSWER_S)
    if answer is None or answer.status is None:
        return Boards(error=f"NVML did not answer within {_ANSWER_S:g} s: the driver hangs")
    try:
        return msgspec.json.decode(answer.output.strip().splitlines()[-1], type=Boards)
    except (msgspec.DecodeError, IndexError):
        return Boards(error=f"the process that asked NVML ended with status {answer.status}")


def read_boards() -> Boards:
    """The boards, from NVML in this process."""
    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
        driver, newest = nvml_text(pynvml.nvmlSystemGetDriverVersion()), pynvml.nvmlSystemGetCudaDriverVersion()
        boards = tuple(_board(pynvml.nvmlDeviceGetHandleByIndex(index)) for index in range(count))
    except pynvml.NVMLError as error:
        return Boards(error=first_line(error))
    return Boards(driver=driver, driver_cuda=f"{newest // 1000}.{newest % 1000 // 10}", boards=boards)


def _board(handle: Any) -> Board:
    uuid = nvml_text(pynvml.nvmlDeviceGetUUID(handle))
    memory = _ask(pynvml.nvmlDeviceGetMemoryInfo, handle)
    capability = _ask(pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    busy = _ask(pynvml.nvmlDeviceGetUtilizationRates, handle)
    processes = _ask(pynvml.nvmlDeviceGetComputeRunningProcesses, handle)
    mig = _ask(pynvml.nvmlDeviceGetMigMode, handle)
    return Board(
        name=nvml_text(pynvml.nvmlDeviceGetName(handle)),
        uuid=uuid,
        compute_capability=f"{capability[0]}.{capability[1]}" if capability else None,
        memory_bytes=int(memory.total) if memory else None,
        memory_used_bytes=int(memory.used) if memory else None,
        busy_pct=int(busy.gpu) if busy else None,
        max_sm_mhz=_ask(pynvml.nvmlDeviceGetMaxClockInfo, handle, pynvml.NVML_CLOCK_SM),
        mig=bool(mig and mig[0]),
        clocks=ClockMonitor(uuid).read(),
        processes=None if processes is None else tuple(int(one.pid) for one in processes),
    )


def _ask(question: Callable[..., Any], *arguments: Any) -> Any:
    """The answer; None where this board or driver does not give it."""
    try:
        return question(*arguments)
    except pynvml.NVMLError:
        return None


if __name__ == "__main__":
    sys.stdout.write(msgspec.json.encode(read_boards()).decode() + "\n")
