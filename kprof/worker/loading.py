"""Loads both sides in the worker: the reference first, before the kernel's file can change anything it relies on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

from kprof.collectors.build import BuildWatch, needs_cuda
from kprof.collectors.integrity.guard import Guard
from kprof.collectors.settings import Settings
from kprof.evidence import Side
from kprof.inspection import imports_triton, source_kind
from kprof.worker.answers import Answers
from kprof.worker.protocol import Request
from kprof.workload import (
    LoadedWorkload,
    construct,
    initial_inputs,
    inputs_maker,
    load_module,
    override_constants,
)


def load_workload(
    request: Request, device: torch.device, watch: BuildWatch, answers: Answers, guard: Guard
) -> LoadedWorkload:
    """Import both files, apply overrides and construct both models.

    Raises:
        WorkloadError: either file cannot be used; its side says whose.
    """

    def enter(side: Side) -> None:
        watch.side = side
        answers.mark(side)

    asked = request.workload
    # Absolute, so that a file which changes the folder can still be read back by inspect and Triton.
    kernel_path = Path(asked.kernel_file).absolute()
    ref_path = Path(asked.ref_file).absolute() if asked.ref_file else None
    _add_folders(kernel_path, ref_path)
    if device.type != "cuda" and imports_triton(kernel_path):
        raise needs_cuda("kernel", f"{kernel_path.name} is written in Triton")
    modules: dict[Side, Any] = {}
    if ref_path is not None:
        enter("ref")
        modules["ref"] = load_module(ref_path, "ref")
    source: Side = "ref" if ref_path is not None else "kernel"
    if source == "kernel":
        guard.take(None, None)
        enter("kernel")
        modules["kernel"] = load_module(kernel_path, "kernel")
    enter(source)
    override_constants(modules[source], asked.overrides, source)
    make_inputs = inputs_maker(modules[source], source)
    ref = None
    if ref_path is not None:
        init = initial_inputs(modules["ref"], "ref", asked.seed)
        ref = construct(modules["ref"], "Model", "ref", init, asked.seed, device)
    # What the reference sets is part of the task. What the kernel's file sets would be the reference's handicap.
    settings = guard.settings = Settings()
    enter("kernel")
    if ref_path is not None:
        guard.take(modules["ref"], ref)
        modules["kernel"] = load_module(kernel_path, "kernel")
        guard.imported()
    init = initial_inputs(modules[source], source, asked.seed)
    kernel = construct(modules["kernel"], asked.entry, "kernel", init, asked.seed, device)
    warnings = settings.restore("kernel") if ref is not None else ()
    answers.mark(None)
    kind = source_kind(modules["kernel"], watch.extensions("kernel"))
    return LoadedWorkload(device, kernel, ref, make_inputs, source, kind, warnings)


def _add_folders(kernel_path: Path, ref_path: Path | None) -> None:
    """The files' own folders, last: what lies beside them can be imported and shadows nothing."""
    for path in filter(None, (kernel_path, ref_path)):
        folder = str(path.resolve().parent)
        if folder not in sys.path:
            sys.path.append(folder)
