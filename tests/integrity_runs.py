"""Runs the whole worker on small kernels, each in a process of its own.

On the CPU that process is forked from one with torch loaded, which saves seconds a kernel. On a GPU it is a fresh one:
CUDA does not outlive a fork, and whoever imports ``torch.utils.cpp_extension`` where there is a CUDA toolkit has asked
for the devices already. All else is the same.
"""

from __future__ import annotations

import ast
import multiprocessing
import os
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from kprof.capture import Capture
from kprof.evidence import Environment, Fault, Stage, Workload
from kprof.report import Report, build_report
from kprof.worker.endings import exit_fault, forgery_fault
from kprof.worker.outcome import Outcome, UpdateReader
from kprof.worker.protocol import REQUEST_FILE, UPDATES_FILE, Request, decode_side
from kprof.worker.protocol import SIDE_FILE as SIDE_FILE

KERNELS = Path(__file__).parent / "kernels"
_STAGES: tuple[tuple[Stage, ...], ...] = (("precision", "timing", "integrity"), ("launches",))
"""Those of each process, as in a real run."""
_FORKED = multiprocessing.get_context("forkserver")
_FORKED.set_forkserver_preload(["kprof.worker.stages"])
_FRESH = multiprocessing.get_context("spawn")
_LIMIT_S = {False: 120, True: 400}
"""For one process: forked, or fresh, which may compile CUDA."""


@dataclass(frozen=True)
class Kernel:
    """One test kernel, with what it says of itself."""

    path: Path
    ref: Path
    flags: frozenset[str]
    """Checks that are to be false."""
    wrong: bool
    gpu: bool
    compiles: bool

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def profiled(self) -> bool:
        """What it does shows in the profiler's process alone."""
        return "wrong_when_profiled" in self.flags


def kernels(folder: str, *, gpu: bool = False) -> list[Kernel]:
    """The kernels of ``cheats`` or ``honest``: for the CPU, or for a GPU."""
    found = [_read(path) for path in sorted((KERNELS / folder).glob("*.py"))]
    return [kernel for kernel in found if kernel.gpu == gpu]


def _read(path: Path) -> Kernel:
    told: dict[str, Any] = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
            told[node.targets[0].id] = ast.literal_eval(node.value)
    return Kernel(
        path=path,
        ref=KERNELS / "refs" / f"{told['REF']}.py",
        flags=frozenset(told.get("FLAGS", ())),
        wrong=told.get("WRONG", False),
        gpu=told.get("GPU", False),
        compiles=told.get("COMPILES", False),
    )


def run(
    kernel: Path, ref: Path, cache: Path, *, device: str = "cpu", profile: bool = False, fresh: bool | None = None
) -> Report:
    """The report of one kernel, from all that its processes answered.

    Args:
        kernel: its file.
        ref: the reference's.
        cache: of compiled extensions.
        device: where to run.
        profile: run the profiler's process too.
        fresh: never fork a process that has torch; None: as the device needs.
    """
    workload = Workload(
        kernel_file=str(kernel), kernel_sha256="0", ref_file=str(ref), ref_sha256="0", entry="ModelNew", seed=3
    )
    evidence: dict[str, Any] = {"workload": workload, "environment": Environment(device=device)}
    faults: list[Fault] = []
    stages = _STAGES if profile else _STAGES[:1]
    for some in stages:
        request = Request(workload=workload, device=device, trials=3, stages=some, cache_dir=str(cache))
        outcome = _answered(request, device != "cpu" if fresh is None else fresh)
        evidence |= outcome.evidence
        faults += outcome.all_faults
        if faults:
            break
    requested = tuple(stage for some in stages for stage in some)
    return build_report(
        Capture(
            kprof_version="0", created="2026-01-01T00:00:00Z", requested=requested, faults=tuple(faults), **evidence
        )
    )


def _answered(request: Request, fresh: bool) -> Outcome:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / REQUEST_FILE).write_bytes(msgspec.json.encode(request))
        (folder / UPDATES_FILE).touch()
        process = (_FRESH if fresh else _FORKED).Process(target=_worker, args=(folder,))
        process.start()
        process.join(_LIMIT_S[fresh])
        if process.is_alive():
            process.kill()
            process.join()
        return _outcome(folder, process.exitcode)


def _outcome(folder: Path, status: int | None) -> Outcome:
    outcome = Outcome()
    with UpdateReader(folder / UPDATES_FILE) as reader:
        for update in reader.step():
            outcome.add(update)
    stage = next((one for one in ("timing", "precision") if one in outcome.evidence), "load")
    if status != 0 or not outcome.finished:
        outcome.fault = _lost(status, stage, folder)
    elif outcome.last.sent != outcome.received or reader.unreadable:
        outcome.forgery = forgery_fault(outcome.received, outcome.last.sent, reader.unreadable)
    return outcome


def _lost(status: int | None, stage: Any, folder: Path) -> Fault:
    assert status is not None, "it hangs"
    return exit_fault(status, stage, decode_side(folder / SIDE_FILE), "")


def _worker(folder: Path) -> None:
    """The worker's own run with short series: only here, before it has looked at what stands where."""
    import torch

    from kprof.collectors.timing import collect
    from kprof.collectors.timing.sampling import SamplingPolicy
    from kprof.worker import stages

    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    # Threads that wait for each other on a busy machine would make a short call last as long as a long one.
    torch.set_num_threads(1)
    stages.SamplingPolicy = partial(SamplingPolicy, budget_s=0.03)  # type: ignore[assignment, misc]
    collect.warm_up = partial(collect.warm_up, seconds=0.02)  # type: ignore[assignment]
    os._exit(stages.run_request(folder))
