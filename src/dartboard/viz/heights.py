"""How high things of a drawing are in their layers: wires as level as can be, nothing on anything else."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

PASSES = 40
"""Over the layers, for heights."""
STIFF = {0: 1.0, 1: 2.0, 2: 8.0}
"""How much a piece of wire wants to be level, by the number of its ends that are bends or labels."""

Heights = NDArray[np.float64]


@dataclass
class Item:
    """A thing that has a place in a layer: a vertex, a label or a bend.

    Args:
        layer: Which.
        width: In inches.
        height: In inches.
        stiff: Whether it is on a wire, a bend or a label, and wants it level.
        before: Positions of the things that wires come from.
        after: Positions of those that they go to.
    """

    layer: int
    width: float
    height: float
    stiff: bool = False
    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)


def place_heights(items: Sequence[Item], rows: Sequence[Sequence[int]], gap: float) -> list[float]:
    """The y of each item: near its neighbours, in order, and without anything lying on another.

    Args:
        items: All things.
        rows: By layer, the positions of its things from top to bottom.
        gap: The space between things of a layer.
    """
    heights = [0.0] * len(items)
    offsets = [_offsets(items, row, gap) for row in rows]
    for row, least in zip(rows, offsets, strict=True):
        for item, offset in zip(row, least - least[-1] / 2, strict=True):
            heights[item] = -float(offset)
    for sweep in range(PASSES):
        for place in range(len(rows)) if sweep % 2 else reversed(range(len(rows))):
            wanted = [_wanted(items, item, heights) for item in rows[place]]
            for item, height in zip(rows[place], _apart(wanted, offsets[place]), strict=True):
                heights[item] = height
    return heights


def _apart(wanted: Sequence[tuple[float, float]], offsets: Heights) -> list[float]:
    """The heights nearest to those wanted, by weighted least squares, that keep their distances."""
    if len(wanted) == 1:
        return [wanted[0][0]]
    heights, weights = np.array(wanted).T
    return [-float(depth) for depth in isotonic_regression(-heights - offsets, weights=weights).x + offsets]


def _offsets(items: Sequence[Item], row: Sequence[int], gap: float) -> Heights:
    """How far below the first each item of a row is at least."""
    steps = [(items[a].height + items[b].height) / 2 + gap for a, b in pairwise(row)]
    return np.cumsum([0.0, *steps])


def _wanted(items: Sequence[Item], item: int, heights: Sequence[float]) -> tuple[float, float]:
    """The height at which the wires of an item are most level, and how much they want it."""
    near = [*items[item].before, *items[item].after]
    weights = [STIFF[items[item].stiff + items[other].stiff] for other in near]
    if not near:
        return heights[item], 1.0
    total = sum(weights)
    pull = sum(heights[other] * weight for other, weight in zip(near, weights, strict=True))
    return pull / total, total
