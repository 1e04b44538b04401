"""Looking at timed calls: through the timers' own lines, at no cost of samples, and its trouble is not the timing's."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch

from kprof.collectors.integrity.contents import Content
from kprof.collectors.integrity.judging import Judge
from kprof.collectors.integrity.proof import Proof
from kprof.collectors.timing.collect import collect_timing
from kprof.collectors.timing.sampling import SamplingPolicy
from kprof.evidence import Series
from kprof.workload import LoadedWorkload

CPU = torch.device("cpu")
QUICK = SamplingPolicy(budget_s=0.03)


def loaded(kernel: Any, ref: Any, make: Any = lambda: [torch.rand(20, 30)]) -> LoadedWorkload:
    return LoadedWorkload(CPU, kernel, ref, make, "ref")


def looked_at(kernel: Any, ref: Any = torch.exp, **options: Any) -> tuple[Proof, Series, LoadedWorkload]:
    workload = loaded(kernel, ref, **options)
    proof = Proof(workload, 0, lambda side: None)
    (evidence,) = collect_timing(workload, seed=0, enter=lambda side: None, policy=QUICK, witness=proof)
    return proof, evidence.series[0], workload


def test_calls_of_every_kind_are_looked_at_and_none_is_a_sample() -> None:
    ran = []
    proof, series, _ = looked_at(lambda x: ran.append(0) or torch.exp(x))
    assert {one.call.values for one in proof.looked} == {"repeated", "refilled", "moved", "swapped"}
    assert proof.timed_calls == series.kernel_count + len(proof.looked)
    assert series.kernel_count == series.ref_count
    assert not proof.owes
    assert proof.absent == {}


def test_a_kernel_sees_the_same_callers_and_lines_whether_it_is_looked_at_or_not() -> None:
    seen: dict[bool, set[tuple[tuple[str, int], ...]]] = {True: set(), False: set()}
    usual: list[torch.Tensor] = []

    def kernel(x: torch.Tensor) -> torch.Tensor:
        if not usual:
            usual.append(x.clone())
        frames = tuple((frame.function, frame.lineno) for frame in inspect.stack()[1:8])
        if frames[0][0] == "host_sample":
            seen[not torch.equal(x, usual[0])].add(frames)
        return torch.exp(x)

    looked_at(kernel)
    assert seen[True]
    assert seen[True] <= seen[False]


def test_the_usual_values_are_back_after_each_look() -> None:
    workload = loaded(torch.exp, torch.exp)
    usual = workload.inputs(0)[0]
    sums = []

    def kernel(x: torch.Tensor) -> torch.Tensor:
        sums.append(bool(torch.equal(x, usual)))
        return torch.exp(x)

    looked_at(kernel)
    assert sums[-1]
    assert 0.5 < sum(sums) / len(sums) < 1.0


def test_trouble_in_looking_ends_it_and_leaves_the_times() -> None:
    def no_further() -> Any:
        calls.append(0)
        if len(calls) > 1:
            raise RuntimeError("no more values")
        return [torch.rand(20, 30)]

    calls: list[int] = []
    proof, series, _ = looked_at(torch.exp, make=no_further)
    assert series.kernel_count > 0
    assert proof.absent["refilled"].code == "shapes_vary"

    class Broken(Proof):
        def _write(self, values: Any) -> None:
            raise MemoryError("no room")

    workload = loaded(torch.exp, torch.exp)
    broken = Broken(workload, 0, lambda side: None)
    (evidence,) = collect_timing(workload, seed=0, enter=lambda side: None, policy=QUICK, witness=broken)
    assert evidence.series[0].kernel_count > 0
    assert broken.absent["calls"].code == "out_of_memory"
    assert (broken.owes, broken.looked) == (False, [])


def test_what_the_kernel_itself_raises_is_not_swallowed() -> None:
    def kernel(x: torch.Tensor) -> torch.Tensor:
        if float(x.max()) > 0.9999 or len(ran) > 20:
            raise ValueError("no such values")
        ran.append(0)
        return torch.exp(x)

    ran: list[int] = []
    with pytest.raises(ValueError, match="no such values"):
        looked_at(kernel)


def test_inputs_that_a_call_changes_are_named() -> None:
    def kernel(x: torch.Tensor) -> torch.Tensor:
        result = torch.exp(x)
        x.view(-1)[3] += 1
        return result

    proof, _, _ = looked_at(kernel)
    assert {one.call.changed_inputs for one in proof.looked} == {("[0]",)}


def test_a_list_that_a_call_changes_is_an_input_changed_unless_the_reference_does_so_too() -> None:
    def appends(xs: list[torch.Tensor]) -> torch.Tensor:
        xs.append(torch.exp(xs[0]))
        return xs.pop(0) + 0

    proof, _, workload = looked_at(
        lambda xs: appends(list(xs)), lambda xs: appends(list(xs)), make=lambda: [[torch.rand(20, 30)]]
    )
    assert {one.call.changed_inputs for one in proof.looked} == {()}
    assert unlike_reference(proof, workload) == set()
    proof, _, workload = looked_at(
        lambda xs: torch.exp(xs[0] if len(xs) > 2 else xs.append(xs[0]) or xs[0]),
        lambda xs: torch.exp(xs[0]),
        make=lambda: [[torch.rand(20, 30)]],
    )
    assert unlike_reference(proof, workload) == {"[0]"}
    proof, _, workload = looked_at(
        lambda xs: torch.exp(xs[0] if len(xs) > 2 else xs.append(xs[0]) or xs[0]),
        lambda xs: torch.exp(xs.append(1) or xs[0]),
        make=lambda: [[torch.rand(20, 30)]],
    )
    assert unlike_reference(proof, workload) == set()


def unlike_reference(proof: Proof, workload: LoadedWorkload) -> set[str]:
    """Inputs that a looked-at call has changed and the reference does not."""
    judge = Judge(workload, 0, lambda side: None, allow_nonfinite=False)
    with torch.no_grad():
        calls = list(judge.judged(proof.looked))
    return {path for call in calls for path in call.changed_inputs} - set(judge.ref_changes)


def judged(proof: Proof, workload: LoadedWorkload) -> dict[str, set[bool | None]]:
    judge = Judge(workload, 0, lambda side: None, allow_nonfinite=False)
    found: dict[str, set[bool | None]] = {}
    with torch.no_grad():
        for call in judge.judged(proof.looked):
            found.setdefault(call.values, set()).add(not call.mismatches if call.judged else None)
    return found


def test_the_reference_answers_only_after_the_kernel_for_the_same_values() -> None:
    order: list[str] = []
    proof, _, workload = looked_at(
        lambda x: order.append("kernel") or torch.exp(x), lambda x: order.append("ref") or torch.exp(x)
    )
    order.clear()
    assert judged(proof, workload) == {name: {True} for name in ("repeated", "refilled", "moved", "swapped")}
    # The usual values once, every other set of values for itself.
    assert order.count("ref") == 1 + sum(one.call.values != "repeated" for one in proof.looked)
    assert "kernel" not in order


def test_an_answer_to_other_values_is_told_from_one_that_exchanged_elements_excuse() -> None:
    """Counting is the same whatever the order, and is no kept result: the kernel gives it for values never seen too."""

    def make() -> list[Any]:
        return [torch.rand(64), torch.rand(16).sort().values]

    proof, _, workload = looked_at(
        lambda x, borders: (borders.unsqueeze(0) < x.unsqueeze(1)).sum(1),
        lambda x, borders: torch.searchsorted(borders, x),
        make=make,
    )
    found = judged(proof, workload)
    assert False not in found["swapped"]
    assert found["refilled"] == {True}

    kept: dict[float, torch.Tensor] = {}

    def keeps_by_sum(x: torch.Tensor) -> torch.Tensor:
        return kept.setdefault(round(float(x.sum()), 2), torch.exp(x)).clone()

    proof, _, workload = looked_at(keeps_by_sum)
    assert False in judged(proof, workload)["swapped"]


def test_an_exchange_that_seldom_changes_the_reference_excuses_as_well() -> None:
    """To be right where it makes no difference shows nothing: few of four values lie between exchanged borders."""

    def make() -> list[Any]:
        return [torch.rand(4), torch.rand(16).sort().values]

    for _ in range(8):
        proof, _, workload = looked_at(
            lambda x, borders: (borders.unsqueeze(0) < x.unsqueeze(1)).sum(1),
            lambda x, borders: torch.searchsorted(borders, x),
            make=make,
        )
        assert False not in judged(proof, workload)["swapped"]


def test_long_calls_are_looked_at_a_few_times_only() -> None:
    workload = loaded(torch.exp, torch.exp)
    proof = Proof(workload, 0, lambda side: None)
    inputs = workload.inputs(0)
    calls: Any = {"kernel": lambda: None, "ref": lambda: None}
    proof.attend(calls, inputs, Content("repeated", inputs).fresh(), {"kernel": 2.0, "ref": 3.0})
    assert len(proof._todo) == 6
    proof.attend(calls, inputs, Content("repeated", inputs).fresh(), {"kernel": 1e-5, "ref": 1e-5})
    assert len(proof._todo) == 24
