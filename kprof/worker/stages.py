"""What a worker does: load the two files, then run the stages asked for, answering as it goes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import ninja
import torch

from kprof.collectors.build import BuildWatch
from kprof.collectors.build_key import choose_cuda_arch
from kprof.collectors.ceilings.here import ceilings_here
from kprof.collectors.environment import board_uuid, collect_environment, read_clocks, resolve_device
from kprof.collectors.integrity.collect import Subject, collect_integrity
from kprof.collectors.integrity.guard import Guard
from kprof.collectors.integrity.probes import copies_of_this_process
from kprof.collectors.integrity.proof import Proof
from kprof.collectors.launches.collect import collect_launches
from kprof.collectors.memory import collect_memory
from kprof.collectors.precision.collect import collect_precision
from kprof.collectors.profiled_call import profile_calls
from kprof.collectors.sanitizer.call import call_once
from kprof.collectors.timing.collect import collect_timing
from kprof.collectors.timing.sampling import SamplingPolicy
from kprof.evidence import BuildEvidence, Environment, Side, Stage
from kprof.inspection import describe_inputs
from kprof.integrity_evidence import Patch
from kprof.worker.answers import Answers
from kprof.worker.faults import as_fault, context_is_lost
from kprof.worker.loading import load_workload
from kprof.worker.own import run_own
from kprof.worker.protocol import GO_FILE, REQUEST_FILE, AnyRequest, OwnRequest, Request, Update
from kprof.worker.waiting import wait_for, wait_for_turn
from kprof.workload import LoadedWorkload


class Stop(Exception):
    """The process cannot go on: its device context is lost. The command replaces it for the next stage."""


class Session:
    """One worker's run."""

    def __init__(self, request: Request, answers: Answers, folder: Path) -> None:
        self.request, self.answers, self.folder = request, answers, folder
        self.device = torch.device("cpu")
        self.environment: Environment | None = None
        self.workload: LoadedWorkload | None = None
        self.watch = BuildWatch(Path(request.cache_dir), self.device, self._on_building)
        self.guard = Guard(watching="integrity" in request.stages)
        self._children = copies_of_this_process()
        self._import_patches: tuple[Patch, ...] = ()
        self._proof: Proof | None = None

    def run(self) -> None:
        """All stages, in order. What fails is answered as a fault and the next stage goes on."""
        self.answers.enter("load")
        with self._faults():
            self.device = self.watch.device = resolve_device(self.request.device)
            if self.request.takes_turn and self.device.type == "cuda":
                wait_for_turn(board_uuid(self.device) or str(self.device), self.answers, self.folder)
            self._prepare()
            if self.request.describe:
                self.environment = collect_environment(self.device)
                self.answers.send(Update(environment=self.environment))
            with self.watch.installed():
                self.workload = load_workload(self.request, self.device, self.watch, self.answers, self.guard)
                self._import_patches = self.guard.patches("import")
                self._stages()
            self.answers.send(Update(clocks_after=read_clocks(self.device)))
        self.answers.mark(None)

    def _prepare(self) -> None:
        """The environment that builds need: one architecture, and ninja where torch looks for it."""
        os.environ["PATH"] = os.pathsep.join((ninja.BIN_DIR, os.environ.get("PATH", "")))
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
            arch = choose_cuda_arch(self.device, os.environ.get("TORCH_CUDA_ARCH_LIST"))
            os.environ["TORCH_CUDA_ARCH_LIST"] = arch

    def _on_building(self, name: str) -> None:
        self.answers.send(Update(building=name))

    def _stages(self) -> None:
        assert self.workload is not None
        if self.request.describe:
            self._describe(self.workload)
        self.answers.send(Update(finished="load"))
        runs: dict[Stage, Callable[[LoadedWorkload], None]] = {
            "precision": self._precision,
            "timing": self._timing,
            "integrity": self._integrity,
            "memory": self._memory,
            "floor": self._floor,
            "launches": self._launches,
            "counters": self._counters,
            "sanitizer": self._sanitizer,
        }
        for stage in self.request.stages:
            if stage not in runs:
                continue
            self.answers.enter(stage)
            with self._faults():
                runs[stage](self.workload)
            if self.request.describe:
                self._send_build(self.workload)
            self.answers.send(Update(finished=stage))

    def _describe(self, workload: LoadedWorkload) -> None:
        self.answers.mark(workload.inputs_side)
        inputs = workload.inputs(self.request.workload.seed)
        self.answers.mark(None)
        seen = {"kind": workload.kind, "inputs": describe_inputs(inputs), "warnings": workload.warnings}
        self.answers.send(Update(workload=msgspec.structs.replace(self.request.workload, **seen)))
        self._send_build(workload)
        if self.request.ceilings and self.environment is not None:
            # Once both files are there, and before their code runs any further: a run that fails here measures nothing.
            ceilings = ceilings_here(self.device, self.environment, Path(self.request.cache_dir))
            self.answers.send(Update(ceilings=ceilings))

    def _send_build(self, workload: LoadedWorkload) -> None:
        ref = self.watch.side_build("ref") if workload.ref is not None else None
        self.answers.send(Update(build=BuildEvidence(kernel=self.watch.side_build("kernel"), ref=ref)))

    def _enter_side(self, side: Side | None) -> None:
        self.watch.side = side or self.watch.side
        self.answers.mark(side)

    def _precision(self, workload: LoadedWorkload) -> None:
        for evidence in collect_precision(
            workload,
            trials=self.request.trials,
            seed=self.request.workload.seed,
            enter=self._enter_side,
            allow_nonfinite=self.request.allow_nonfinite,
        ):
            self.answers.send(Update(precision=evidence))

    def _timing(self, workload: LoadedWorkload) -> None:
        policy = SamplingPolicy(budget_s=0.25) if self.request.headline_only else SamplingPolicy()
        seed = self.request.workload.seed
        if "integrity" in self.request.stages:
            self._make_comparable(workload)
            self._proof = Proof(workload, seed, self._enter_side)
        for evidence in collect_timing(
            self._timed(workload),
            seed=seed,
            enter=self._enter_side,
            policy=policy,
            headline_only=self.request.headline_only,
            witness=self._proof,
        ):
            self.answers.send(Update(timing=evidence))

    def _integrity(self, workload: LoadedWorkload) -> None:
        asked = self.request.workload
        subject = Subject(
            kernel_file=Path(asked.kernel_file).absolute(),
            ref_file=Path(asked.ref_file).absolute() if asked.ref_file else None,
            entry=asked.entry,
            extensions=self.watch.callable_extensions("kernel"),
            guard=self.guard,
            children=self._children,
            import_patches=self._import_patches,
        )
        proof, self._proof = self._proof, None
        if proof is None:
            self._make_comparable(workload)
        for evidence in collect_integrity(
            self._timed(workload),
            proof,
            subject,
            seed=asked.seed,
            enter=self._enter_side,
            allow_nonfinite=self.request.allow_nonfinite,
        ):
            self.answers.send(Update(integrity=evidence))

    def _make_comparable(self, workload: LoadedWorkload) -> None:
        """Where this worker runs no precision trials, one has the kernel's weights be the reference's."""
        if workload.ref is not None and "precision" not in self.request.stages:
            for _ in collect_precision(workload, trials=1, seed=self.request.workload.seed, enter=self._enter_side):
                pass

    def _memory(self, workload: LoadedWorkload) -> None:
        for evidence in collect_memory(self._timed(workload), seed=self.request.workload.seed, enter=self._enter_side):
            self.answers.send(Update(memory=evidence))

    def _floor(self, workload: LoadedWorkload) -> None:
        from kprof.collectors.floor.collect import collect_floor

        evidence = collect_floor(workload, seed=self.request.workload.seed, enter=self._enter_side)
        self.answers.send(Update(floor=evidence))

    def _launches(self, workload: LoadedWorkload) -> None:
        evidence = collect_launches(self._timed(workload), seed=self.request.workload.seed, enter=self._enter_side)
        self.answers.send(Update(launches=evidence))

    def _counters(self, workload: LoadedWorkload) -> None:
        """The calls that ncu, which started this process, profiles: it reports itself what it measured."""
        profile_calls(
            self._timed(workload),
            seed=self.request.workload.seed,
            enter=self._enter_side,
            sides=self.request.profiled_sides,
            sampled=self.request.sampled_sides,
        )

    def _sanitizer(self, workload: LoadedWorkload) -> None:
        """The call that compute-sanitizer, which started this process, watches: its log says what it found."""
        call_once(workload, seed=self.request.workload.seed, enter=self._enter_side)

    def _timed(self, workload: LoadedWorkload) -> LoadedWorkload:
        """The workload whose reference runs as asked: compiled once, before anything is measured."""
        if self.request.workload.ref_mode == "compile" and workload.ref is not None and not workload.ref_compiled:
            workload.compile_ref()
            self._on_building("torch.compile of the reference")
            self._enter_side("ref")
            with torch.no_grad():
                workload.ref(*workload.inputs(self.request.workload.seed))
            self._on_building("")
        return workload

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Answer whatever user code raises as a fault of the stage; stop where the device's context is lost."""
        try:
            yield
        except Stop:
            raise
        except BaseException as error:  # User code may raise anything, interrupts of its own too: reported as theirs.
            self.answers.fault(as_fault(error, self.answers, self.request, self.device))
            if context_is_lost(self.device):
                raise Stop from error


def run_request(folder: Path) -> int:
    """Read the request in ``folder``, do it, and say so in the end. Returns the status to leave with."""
    request = msgspec.json.decode((folder / REQUEST_FILE).read_bytes(), type=AnyRequest)
    if request.held:
        wait_for(folder / GO_FILE)
    answers = Answers(folder)
    # Bound before user code can replace them.
    send: Callable[[Update], Any] = answers.send
    if isinstance(request, OwnRequest):
        run_own(request, answers, folder)
        send(Update(finished="worker"))
        return 0
    try:
        Session(request, answers, folder).run()
    except Stop:
        return 3
    send(Update(finished="worker"))
    return 0
