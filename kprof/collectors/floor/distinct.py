"""How many bytes strided tensors occupy together, each byte once: arithmetic on sizes and strides alone.

A footprint is a run of contiguous bytes, repeated along dimensions: the sum of an interval and of arithmetic
progressions. Progressions that continue one another are one (``x.unfold``), those that stay within the run lengthen it
(a contiguous tensor is one run), and a stride of 0 repeats nothing. What remains is counted by its sizes where its
dimensions nest; where several footprints share dimensions that nest around all of them, those are taken out first. The
rest is counted by listing its runs, up to `RUN_LIMIT`; beyond, an upper bound stands in, and is said to be one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

RUN_LIMIT: Final = 2**22
"""Runs listed for one storage: 4 million take half a second and 150 MB (measured on one core of a server CPU)."""


@dataclass(frozen=True)
class Footprint:
    """The bytes of one strided tensor's elements within its storage; equal footprints are equal sets."""

    start: int
    """Offset of the first byte."""
    run: int
    """Contiguous bytes at each place."""
    dims: tuple[tuple[int, int], ...] = ()
    """Repetitions (at least 2) and stride in bytes, by stride upwards; each stride exceeds the run."""

    @property
    def end(self) -> int:
        """Offset behind the last byte."""
        return self.start + self.run + sum((count - 1) * stride for count, stride in self.dims)

    @property
    def runs(self) -> int:
        """Runs, counted as often as the dimensions repeat them."""
        return math.prod(count for count, _ in self.dims)

    @property
    def nests(self) -> bool:
        """No two runs overlap, because each dimension steps over all that lies within it."""
        extent = self.run
        for count, stride in self.dims:
            if stride < extent:
                return False
            extent += (count - 1) * stride
        return True


@dataclass(frozen=True)
class Coverage:
    """Distinct bytes of several footprints."""

    bytes: int
    exact: bool = True
    """False: an upper bound, because there were too many runs to list."""


def footprint(offset: int, sizes: Sequence[int], strides: Sequence[int], itemsize: int) -> Footprint | None:
    """The footprint of a tensor; None: it has no elements.

    Args:
        offset: of the first element, in elements.
        sizes: of the dimensions.
        strides: of the dimensions, in elements.
        itemsize: bytes of an element.
    """
    if 0 in sizes:
        return None
    dims = [(size, stride * itemsize) for size, stride in zip(sizes, strides, strict=True) if size > 1 and stride]
    run, rest = itemsize, []
    for count, stride in sorted(dims, key=lambda dim: dim[1]):
        if stride <= run:
            run += (count - 1) * stride
        else:
            rest.append((count, stride))
    return Footprint(offset * itemsize, run, _joined(rest))


def _joined(dims: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Progressions of which one continues the other, as one: (n, s) and (m, k s) with k <= n reach n + k (m - 1)."""
    joined: list[tuple[int, int]] = []
    for count, stride in dims:
        for index, (inner, step) in enumerate(joined):
            if stride % step == 0 and stride <= inner * step:
                joined[index] = (inner + (count - 1) * (stride // step), step)
                break
        else:
            joined.append((count, stride))
    return tuple(joined) if len(joined) == len(dims) else _joined(joined)


def covered(footprints: Iterable[Footprint], run_limit: int = RUN_LIMIT) -> Coverage:
    """Distinct bytes of footprints within one storage.

    Args:
        footprints: of the tensors.
        run_limit: runs listed at most.
    """
    total, exact = 0, True
    for cluster in _clusters(set(footprints)):
        part = _cluster_coverage(cluster, run_limit)
        total, exact = total + part.bytes, exact and part.exact
    return Coverage(total, exact)


def _clusters(footprints: set[Footprint]) -> list[list[Footprint]]:
    """Groups whose spans overlap, without the footprints that lie within a solid one."""
    clusters: list[list[Footprint]] = []
    solid_end = end = -1
    # Solid ones first, the longest before the others, so that what they hold is left out.
    for one in sorted(footprints, key=lambda each: (each.start, bool(each.dims), -each.run)):
        if one.end <= solid_end:
            continue
        if one.start < end:
            clusters[-1].append(one)
        else:
            clusters.append([one])
        end = max(end, one.end)
        if not one.dims:
            solid_end = max(solid_end, one.end)
    return clusters


def _cluster_coverage(cluster: list[Footprint], run_limit: int) -> Coverage:
    if len(cluster) == 1 and cluster[0].nests:
        return Coverage(cluster[0].run * cluster[0].runs)
    if not any(one.dims for one in cluster):
        return Coverage(max(one.end for one in cluster) - cluster[0].start)
    shared = _shared_outer_dim(cluster)
    if shared is not None:
        inner = covered((replace(one, dims=one.dims[:-1]) for one in cluster), run_limit)
        return Coverage(shared * inner.bytes, inner.exact)
    if sum(one.runs for one in cluster) <= run_limit:
        return Coverage(_listed(cluster))
    span = max(one.end for one in cluster) - min(one.start for one in cluster)
    return Coverage(min(span, sum(one.run * one.runs for one in cluster)), exact=False)


def _shared_outer_dim(cluster: list[Footprint]) -> int | None:
    """Repetitions of an outermost dimension that all share and that steps over all that lies within it."""
    outer = {one.dims[-1:] for one in cluster}
    if len(outer) > 1 or outer == {()}:
        return None
    ((count, stride),) = outer.pop()
    inner = [replace(one, dims=one.dims[:-1]) for one in cluster]
    span = max(one.end for one in inner) - min(one.start for one in inner)
    return count if span <= stride else None


def _listed(cluster: list[Footprint]) -> int:
    """Length of the union of all runs, listed."""
    starts = np.concatenate([_run_starts(one) for one in cluster])
    ends = starts + np.concatenate([np.full(one.runs, one.run, dtype=np.int64) for one in cluster])
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], ends[order]
    reached = np.maximum.accumulate(ends)
    reached[1:] = reached[:-1]
    reached[0] = starts[0]
    return int(np.maximum(ends - np.maximum(starts, reached), 0).sum())


def _run_starts(one: Footprint) -> Any:
    starts = np.array([one.start], dtype=np.int64)
    for count, stride in one.dims:
        starts = np.add.outer(np.arange(count, dtype=np.int64) * stride, starts).reshape(-1)
    return starts
