"""What a reference writes, and the ways in which its floor cannot be counted."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from floor_runs import Files, Layers, codes, floor, randn
from torch import Tensor, nn

from kprof.collectors.floor.collect import collect_floor
from kprof.evidence import Side


def test_outputs_lie_in_any_nesting_and_count_once() -> None:
    def ref(x: Tensor) -> dict[str, Any]:
        y = x * 2
        return {"whole": y, "again": (y, y[0]), "number": 3, "other": [x.sum()]}

    assert floor(ref, randn(4, 4)).output_bytes == 64 + 4


def test_an_output_that_is_an_input_costs_nothing_and_one_that_is_a_view_its_own_elements() -> None:
    assert floor(lambda x: (x, x[1], x + 1), randn(4, 4)).output_bytes == 64
    assert floor(lambda x: (x * 2).sum(0).expand(100, 4), randn(4, 4)).output_bytes == 16


def test_a_weight_handed_back_costs_nothing() -> None:
    layer = nn.Linear(4, 4)

    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return self.layer(x), self.layer.weight

    assert floor(Tied(), randn(2, 4)).output_bytes == 2 * 4 * 4


def test_an_input_written_in_place_counts_both_ways_and_the_counted_call_gets_a_fresh_one() -> None:
    files = Files(lambda: [torch.ones(4, 4)], lambda x: x[:2].mul_(3))
    evidence = collect_floor(files, seed=1, enter=lambda side: None)  # type: ignore[arg-type]
    assert (evidence.input_bytes, evidence.output_bytes) == (32, 32)
    assert files.made == 2


def test_inputs_are_made_once_where_the_call_leaves_them_alone() -> None:
    files = Files(lambda: [torch.ones(4, 4)], torch.exp)
    collect_floor(files, seed=1, enter=lambda side: None)  # type: ignore[arg-type]
    assert files.made == 1


def test_an_output_buffer_given_as_input_is_written_and_not_read() -> None:
    def ref(x: Tensor, out: Tensor) -> Tensor:
        out.copy_(x * 2)
        return out.relu_()

    evidence = floor(ref, randn(4, 4), torch.empty(4, 4))
    assert (evidence.input_bytes, evidence.output_bytes) == (64, 64)
    evidence = floor(lambda x, out: torch.exp(x, out=out), randn(4, 4), torch.empty(4, 4))
    assert (evidence.input_bytes, evidence.output_bytes) == (64, 64)


def test_an_output_that_is_given_its_size_by_the_operator() -> None:
    evidence = floor(lambda x: torch.mm(x, x, out=torch.empty(0)), randn(4, 4))
    assert (evidence.input_bytes, evidence.output_bytes, evidence.flop) == (64, 64, {"fp32": 128})
    assert codes(evidence) == []


def test_a_cache_that_the_call_fills_and_reads_is_not_read_before_it_is_written() -> None:
    cache = torch.zeros(4, 4)

    def ref(x: Tensor) -> Tensor:
        cache.copy_(x)
        return cache + 1

    evidence = floor(ref, randn(4, 4))
    assert (evidence.parameter_bytes, evidence.output_bytes) == (0, 64)


def test_the_addend_of_a_product_counts_unless_it_is_scaled_by_nothing() -> None:
    c, a = randn(8, 8), randn(8, 8)
    assert floor(lambda c, a: torch.addmm(c, a, a), c, a).input_bytes == 512
    blank = floor(lambda a: torch.addmm(torch.empty(8, 8), a, a, beta=0), a)
    assert (blank.input_bytes, codes(blank)) == (256, [])


def test_a_reference_that_does_not_run_watched_gives_inputs_and_outputs() -> None:
    from torch.utils._python_dispatch import _get_current_dispatch_mode

    def ref(x: Tensor) -> Tensor:
        if _get_current_dispatch_mode() is not None:
            raise RuntimeError("not here")
        return x[0].exp()

    evidence = floor(ref, randn(4, 8))
    assert evidence.reason is not None
    assert evidence.reason.code == "operators_not_seen"
    assert "RuntimeError: not here" in evidence.reason.message
    assert (evidence.input_bytes, evidence.parameter_bytes, evidence.output_bytes) == (128, None, 32)
    assert (evidence.flop, evidence.counted_operators) == ({}, ())


def test_what_the_reference_raises_is_passed_on() -> None:
    def ref(x: Tensor) -> Tensor:
        raise KeyError("theirs")

    with pytest.raises(KeyError, match="theirs"):
        floor(ref, randn(2))


def test_without_a_reference_the_kernels_call_gives_inputs_and_outputs() -> None:
    entered: list[Side | None] = []
    files = Files(lambda: [randn(4, 4)], None, kernel=lambda x: (x, x @ x), inputs_side="kernel")
    evidence = collect_floor(files, seed=1, enter=entered.append)  # type: ignore[arg-type]
    assert (evidence.source, evidence.input_bytes, evidence.output_bytes) == ("kernel", 64, 64)
    assert (evidence.flop, evidence.parameter_bytes, evidence.tf32_allowed) == ({}, None, None)
    assert evidence.reason is not None
    assert evidence.reason.code == "no_reference"
    assert entered == ["kernel", "kernel", None]


def test_the_reference_is_said_to_run_while_it_does() -> None:
    entered: list[Side | None] = []
    seen: list[Side | None] = []

    def ref(x: Tensor) -> Tensor:
        seen.append(entered[-1])
        return x.exp()

    files = Files(lambda: [randn(4, 4)], ref, inputs_side="kernel")
    collect_floor(files, seed=1, enter=entered.append)  # type: ignore[arg-type]
    assert seen == ["ref", "ref"]
    assert entered == ["kernel", "ref", None]


def test_no_tensor_is_held_longer_than_the_call_holds_it() -> None:
    """Ten results, each dropped before the next: watched, they take the memory of one or two."""
    from torch.profiler import ProfilerActivity, profile

    from kprof.collectors.launches.profiled_session import read_profile
    from kprof.collectors.launches.trace import TraceEvents

    def ref(x: Tensor) -> Tensor:
        for _ in range(10):
            x = x + 1
        return x.sum()

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        floor(ref, torch.zeros(2**18))
    events: TraceEvents = read_profile(profiler)
    level = peak = 0
    for change in sorted(events.memory, key=lambda item: item.at_ns):
        level += change.change_bytes
        peak = max(peak, level)
    assert peak < 4 * 2**20


def test_what_torch_compile_made_is_counted_as_it_was_before() -> None:
    module = Layers().eval()
    compiled = torch.compile(module, backend="eager")
    evidence = floor(compiled, randn(2, 8))  # type: ignore[arg-type]
    assert (evidence.flop, evidence.parameter_bytes) == ({"fp32": 128}, 160)

    inner = torch.compile(lambda x: x @ x, backend="aot_eager")
    assert floor(lambda x: inner(x).relu(), randn(4, 4)).flop == {"fp32": 128}
