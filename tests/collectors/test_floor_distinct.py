"""Distinct bytes of strided tensors, against the plain listing of every byte."""

from __future__ import annotations

import itertools
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kprof.collectors.floor.distinct import Coverage, Footprint, covered, footprint

Strided = tuple[int, tuple[int, ...], tuple[int, ...], int]


def bytes_listed(tensor: Strided) -> set[int]:
    offset, sizes, strides, itemsize = tensor
    places = itertools.product(*(range(size) for size in sizes))
    firsts = {offset + sum(i * s for i, s in zip(place, strides, strict=True)) for place in places}
    return {first * itemsize + byte for first in firsts for byte in range(itemsize)}


@st.composite
def strided(draw: st.DrawFn) -> Strided:
    rank = draw(st.integers(0, 4))
    sizes = tuple(draw(st.integers(0, 5)) for _ in range(rank))
    strides = tuple(draw(st.integers(0, 13)) for _ in range(rank))
    return draw(st.integers(0, 9)), sizes, strides, draw(st.sampled_from([1, 2, 4, 8]))


def prints(tensors: list[Strided]) -> list[Footprint]:
    found = [footprint(*tensor) for tensor in tensors]
    return [one for one in found if one is not None]


@settings(max_examples=400, deadline=None)
@given(st.lists(strided(), max_size=4))
def test_any_tensors_together_cover_what_listing_their_bytes_gives(tensors: list[Strided]) -> None:
    listed = set().union(*map(bytes_listed, tensors)) if tensors else set()
    assert covered(prints(tensors)) == Coverage(len(listed))


@settings(max_examples=200, deadline=None)
@given(st.lists(strided(), max_size=4))
def test_with_too_many_runs_the_answer_is_exact_or_a_bound_that_says_so(tensors: list[Strided]) -> None:
    listed = set().union(*map(bytes_listed, tensors)) if tensors else set()
    found = covered(prints(tensors), run_limit=0)
    assert found.bytes == len(listed) if found.exact else found.bytes >= len(listed)


@pytest.mark.parametrize(
    ("sizes", "strides", "expected"),
    [
        ((4, 8192, 4096), (8192 * 4096, 4096, 1), Footprint(0, 4 * 8192 * 4096 * 4)),
        ((4096, 8192), (1, 4096), Footprint(0, 8192 * 4096 * 4)),
        ((1000, 1000), (0, 1), Footprint(0, 4000)),
        ((998, 3), (1, 1), Footprint(0, 4000)),
        ((49, 4), (4, 2), Footprint(0, 4, ((100, 8),))),
        ((), (), Footprint(0, 4)),
        ((3, 0), (1, 1), None),
    ],
)
def test_equal_sets_of_bytes_have_one_form(
    sizes: tuple[int, ...], strides: tuple[int, ...], expected: Footprint | None
) -> None:
    assert footprint(0, sizes, strides, 4) == expected


def test_large_tensors_are_counted_by_arithmetic() -> None:
    """Columns, steps of time and interleaved halves of a tensor of 4 GB: 400 million runs, none of them listed."""
    rows, columns = 2**20, 1024
    began = perf_counter()
    halves = [(start, (rows * columns // 2,), (2,), 4) for start in (0, 1)]
    assert covered(prints(halves)) == Coverage(rows * columns * 4)
    slices = [(64 * index, (rows, 64), (columns, 1), 4) for index in range(10)]
    assert covered(prints(slices)) == Coverage(rows * 640 * 4)
    steps = [(columns * step, (rows // 512, columns), (512 * columns, 1), 4) for step in range(512)]
    assert covered(prints(steps)) == Coverage(rows * columns * 4)
    assert perf_counter() - began < 1


def test_a_view_within_the_whole_adds_nothing() -> None:
    whole: Strided = (0, (2**30,), (1,), 4)
    assert covered(prints([whole, (1, (2**29,), (2,), 4), (7, (5,), (9,), 4)])) == Coverage(2**32)
