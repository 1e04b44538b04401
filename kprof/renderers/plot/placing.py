"""Where labels go, so that none lies on another or on a point."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in points."""


def centred(x: float, y: float, width: float, height: float) -> Box:
    """The box of that size round a place."""
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


@dataclass
class Placer:
    """What is taken so far, within a frame."""

    frame: Box
    taken: list[Box] = field(default_factory=list)

    def cost(self, box: Box) -> float:
        """Area that the box shares with what is taken; outside the frame it is as good as impossible."""
        left, bottom, right, top = self.frame
        if box[0] < left or box[1] < bottom or box[2] > right or box[3] > top:
            return float("inf")
        return sum(_shared(box, other) for other in self.taken)

    def best(self, candidates: Iterable[Box]) -> int | None:
        """The position of the first candidate that is free, else of the one with least overlap; taken from then on.

        None: none of them is inside the frame.
        """
        chosen, least, box = None, float("inf"), None
        for index, candidate in enumerate(candidates):
            cost = self.cost(candidate)
            if cost < least:
                chosen, least, box = index, cost, candidate
            if cost == 0:
                break
        if box is not None:
            self.taken.append(box)
        return chosen


def _shared(one: Box, other: Box) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return width * height if width > 0 and height > 0 else 0.0
