"""Which kernels of two reports are the same one."""

from __future__ import annotations

import time

import msgspec
from compared_reports import by_hand, fused, naive

from kprof.blocks.kernels import KernelLaunch
from kprof.comparison.matching import kernel_groups, match_kernels
from kprof.evidence import Side

LAUNCH = by_hand().kernels[0]
Extent = tuple[int, int, int]


def launch(
    name: str,
    us: float | None = 1.0,
    grid: Extent = (2, 1, 1),
    side: Side | None = "kernel",
    block: Extent = (256, 1, 1),
    device: int | None = None,
) -> KernelLaunch:
    return msgspec.structs.replace(LAUNCH, name=name, duration_us=us, grid=grid, side=side, block=block, device=device)


def matched(a: list[KernelLaunch], b: list[KernelLaunch]) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    matches, added, removed = match_kernels(kernel_groups(a), kernel_groups(b))
    pairs = [(one.b.name, one.matched_by) for one in matches]
    return pairs, [one.name for one in added], [one.name for one in removed]


def test_by_configuration_first_then_by_name() -> None:
    a = [launch("k", grid=(1, 1, 1)), launch("k", grid=(2, 1, 1)), launch("gone")]
    b = [launch("k", grid=(2, 1, 1)), launch("k", grid=(9, 1, 1)), launch("new")]
    pairs, added, removed = matched(a, b)
    assert sorted(pairs) == [("k", "configuration"), ("k", "name")]
    assert (added, removed) == (["new"], ["gone"])


def test_another_block_or_side_is_not_the_same_configuration() -> None:
    assert matched([launch("k")], [launch("k", block=(128, 1, 1))])[0] == [("k", "name")]
    assert matched([launch("k")], [launch("k", side="ref")]) == ([], ["k"], ["k"])


def test_launches_of_one_configuration_are_one_row() -> None:
    (match,), added, removed = match_kernels(
        kernel_groups([launch("k", 1.0)] * 3), kernel_groups([launch("k", 1.0), launch("k", 4.0)])
    )
    assert (match.a.launches, match.a.total_us) == (3, 3.0)
    assert (match.b.launches, match.b.total_us) == (2, 5.0)
    assert (added, removed) == ([], [])
    outcomes = {one.path: one.outcome for one in match.changes}
    assert (outcomes["launches"], outcomes["total_us"]) == ("better", "worse")


def test_a_sum_over_a_time_that_is_not_known_is_not_known() -> None:
    (group,) = kernel_groups([launch("k", 1.0), launch("k", None)])
    assert group.total_us is None


def test_two_implementations_share_the_reference_alone() -> None:
    matches, added, removed = match_kernels(kernel_groups(naive().kernels), kernel_groups(fused().kernels))
    assert {one.a.side for one in matches} == {"ref"}
    assert [one.name for one in added] == ["logsumexp_fused_kernel"]
    assert [one.name for one in removed] == ["logsumexp_kernel"]


def test_nothing_is_lost_and_many_launches_take_no_time() -> None:
    a = [launch(f"k{index % 977}", grid=(index % 31 + 1, 1, 1)) for index in range(10_000)]
    b = [launch(f"k{index % 991}", grid=(index % 29 + 1, 1, 1)) for index in range(10_000)]
    began = time.perf_counter()
    matches, added, removed = match_kernels(kernel_groups(a), kernel_groups(b))
    assert time.perf_counter() - began < 10
    assert sum(one.a.launches for one in matches) + sum(one.launches for one in removed) == 10_000
    assert sum(one.b.launches for one in matches) + sum(one.launches for one in added) == 10_000


def test_launches_of_two_devices_are_two_kernels() -> None:
    both = kernel_groups([launch("k", 3.0, device=0), launch("k", 5.0, device=1), launch("k", 2.0, device=0)])
    assert sorted((one.device, one.launches, one.total_us) for one in both) == [(0, 2, 5.0), (1, 1, 5.0)]
    matches, added, removed = match_kernels(both, kernel_groups([launch("k", 7.0, device=1)]))
    assert [(one.a.device, one.b.device) for one in matches] == [(1, 1)]
    assert (added, [one.device for one in removed]) == ([], [0])


def test_the_only_device_of_a_report_is_the_same_whatever_its_index() -> None:
    pairs, added, removed = matched([launch("k", device=0)], [launch("k", device=3)])
    assert (pairs, added, removed) == ([("k", "configuration")], [], [])
    pairs, _, _ = matched([launch("k", device=None)], [launch("k", device=0)])
    assert pairs == [("k", "configuration")]
