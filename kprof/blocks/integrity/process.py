"""What the kernel did to the process: whose memory it returns, what it replaced, what it left running."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kprof.blocks.integrity.check import Check, fail, named, unknown
from kprof.capture import Capture
from kprof.evidence import Reason
from kprof.integrity_evidence import IntegrityEvidence, Patch

_NOT_PROBED: Final = Reason(code="not_probed", message="the calls that ask for it were not made")


def process_checks(evidence: IntegrityEvidence) -> Iterator[Check]:
    """The checks of the process that the kernel ran in."""
    yield from _aliases(evidence)
    yield from _patched(evidence.patches)
    yield _forked(evidence)


def _aliases(evidence: IntegrityEvidence) -> Iterator[Check]:
    for name, paths, what in (
        ("output_aliases_input", evidence.aliased_inputs, "outputs lie in the memory of an input: {}"),
        (
            "output_aliases_earlier",
            evidence.aliased_outputs,
            "outputs lie in the memory of an earlier call's, which its caller may still hold: {}",
        ),
    ):
        if not evidence.probed:
            yield unknown(name, _NOT_PROBED)
        else:
            yield fail(name, what.format(named(paths)) if paths else None)


_KINDS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("reference_patched", ("reference.",)),
    ("kprof_patched", ("kprof.",)),
    (
        "clock_patched",
        ("time.", "torch.cuda.Event.", "torch.cuda.synchronize", "torch.cuda.streams.", "torch.cuda.Stream."),
    ),
    ("torch_patched", ("torch",)),
    ("python_patched", ("",)),
)
"""Checks by what the names of the patches that are theirs begin with; the first that fits."""


def _patched(patches: Sequence[Patch]) -> Iterator[Check]:
    by_kind: dict[str, list[Patch]] = {name: [] for name, _ in _KINDS}
    for patch in patches:
        kind = next(name for name, starts in _KINDS if patch.name.startswith(starts))
        by_kind[kind].append(patch)
    for name, found in by_kind.items():
        told = named([f"{patch.name} (at its {patch.when})" for patch in found])
        yield fail(name, f"the kernel's file replaces {told}" if found else None)


def _forked(evidence: IntegrityEvidence) -> Check:
    if not evidence.probed:
        return unknown("forked_child", _NOT_PROBED)
    count = evidence.forked_children
    return fail("forked_child", f"{count} copies of the process were left running" if count else None)


def fault_checks(capture: Capture) -> Iterator[Check]:
    """What the command saw from outside: the kernel ended the process, or something answered in kprof's name."""
    ended = next((fault for fault in capture.faults if fault.code == "exited" and fault.side == "kernel"), None)
    yield fail("ended_process", ended.message if ended else None)
    forged = next((fault for fault in capture.faults if fault.code in _FORGED), None)
    yield fail("fake_answers", forged.message if forged else None)


_FORGED: Final = ("answers_forged", "updates_corrupted")
