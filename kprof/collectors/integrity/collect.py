"""The integrity stage: judges the timed calls that were looked at, and looks at what they left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch

from kprof.collectors.integrity.contents import Content
from kprof.collectors.integrity.guard import Guard
from kprof.collectors.integrity.judging import Judge
from kprof.collectors.integrity.probes import Aliases, Probes, copies_of_this_process
from kprof.collectors.integrity.proof import Proof
from kprof.collectors.integrity.static_notes import static_notes
from kprof.collectors.timing.collect import collect_timing
from kprof.collectors.timing.sampling import SamplingPolicy
from kprof.evidence import Reason, Side
from kprof.integrity_evidence import IntegrityEvidence, Patch
from kprof.workload import LoadedWorkload

_NO_REFERENCE = Reason(
    code="no_reference", message="there is no reference to compare with", hint="Give one with --ref."
)
_OWN_POLICY = SamplingPolicy(budget_s=0.1)
"""Where timing was not asked for: timed calls all the same, for there is nothing else to look into."""


@dataclass(frozen=True)
class Subject:
    """What the checks need to know beside the loaded workload."""

    kernel_file: Path
    ref_file: Path | None
    entry: str
    extensions: frozenset[str]
    """Names of those that the kernel's file built; empty where calls into one of them cannot be seen."""
    guard: Guard
    children: frozenset[int]
    """Copies of this process that were there before the kernel's file was loaded."""
    import_patches: tuple[Patch, ...]
    """What was replaced when the kernel had been loaded."""


def collect_integrity(
    workload: LoadedWorkload,
    proof: Proof | None,
    subject: Subject,
    *,
    seed: int,
    enter: Callable[[Side | None], None],
    allow_nonfinite: bool = False,
) -> Iterator[IntegrityEvidence]:
    """Collect what the checks are made from.

    Args:
        workload: both sides, loaded.
        proof: what looked at the timed calls; None: nothing was timed, so that some calls are now.
        subject: the files and what was there before.
        seed: of the inputs.
        enter: told whose code runs next; None: kprof's own.
        allow_nonfinite: NaN and infinity at equal places are no mismatch.

    Yields:
        The evidence so far, which replaces what was yielded before.

    Raises:
        SideError: a side raised.
    """
    evidence = IntegrityEvidence(
        notes=static_notes(subject.kernel_file, subject.ref_file, subject.entry), patches=_patches(subject)
    )
    yield evidence
    if proof is None:
        proof = Proof(workload, seed, enter)
        for timing in collect_timing(
            workload, seed=seed, enter=enter, policy=_OWN_POLICY, headline_only=True, witness=proof
        ):
            evidence = msgspec.structs.replace(evidence, series=timing.series)
    with torch.no_grad():
        evidence = _judge(evidence, workload, proof, seed, enter, allow_nonfinite)
        yield evidence
        if proof.maker is not None:
            yield _probe(evidence, workload, proof.maker.base, subject, enter)


def _judge(
    evidence: IntegrityEvidence,
    workload: LoadedWorkload,
    proof: Proof,
    seed: int,
    enter: Callable[[Side | None], None],
    allow_nonfinite: bool,
) -> IntegrityEvidence:
    calls = tuple(one.call for one in proof.looked)
    changes: tuple[str, ...] = ()
    absent = dict(proof.absent)
    if workload.ref is None:
        absent["judged"] = _NO_REFERENCE
    else:
        judge = Judge(workload, seed, enter, allow_nonfinite)
        calls, changes = tuple(judge.judged(proof.looked)), tuple(judge.ref_changes)
        absent = {**judge.absent, **absent}
    proof.looked.clear()
    return msgspec.structs.replace(
        evidence, calls=calls, timed_calls=proof.timed_calls, ref_changed_inputs=changes, absent=absent
    )


def _probe(
    evidence: IntegrityEvidence,
    workload: LoadedWorkload,
    base: list[Any],
    subject: Subject,
    enter: Callable[[Side | None], None],
) -> IntegrityEvidence:
    probes = Probes(workload, enter)
    usual = Content("repeated", base)
    ours = probes.aliases("kernel", usual)
    theirs = Aliases(frozenset(), frozenset())
    if workload.ref is not None:
        with subject.guard.reference_running():
            theirs = probes.aliases("ref", usual)
    callees = probes.callees(usual.fresh(), subject.kernel_file, subject.ref_file, subject.extensions, subject.guard)
    given: dict[Side, list[Any]] = {"kernel": usual.fresh()}
    if workload.ref is not None:
        given["ref"] = usual.fresh()
    return msgspec.structs.replace(
        evidence,
        probed=True,
        aliased_inputs=tuple(sorted(ours.inputs - theirs.inputs)),
        aliased_outputs=tuple(sorted(ours.outputs - theirs.outputs)),
        reference_calls=tuple(callees.reference),
        extension_calls=callees.extensions if subject.extensions else None,
        tail=probes.tail(given),
        prints=callees.prints,
        forked_children=len(copies_of_this_process() - subject.children),
        patches=_patches(subject, tuple(callees.replaced)),
        settings=_settings(subject.guard),
    )


def _settings(guard: Guard) -> tuple[str, ...]:
    changed = guard.settings.changed() if guard.settings is not None else {}
    return tuple(f"{name}: {found}" for name, found in changed.items())


def _patches(subject: Subject, meanwhile: tuple[str, ...] = ()) -> tuple[Patch, ...]:
    """What was replaced by the import, and what calls have replaced since, each once."""
    later = (*subject.guard.patches("call"), *(Patch(name=name, when="call") for name in meanwhile))
    known = {patch.name for patch in subject.import_patches}
    once = {patch.name: patch for patch in later if patch.name not in known}
    return (*subject.import_patches, *once.values())
