"""Understanding figure 1: widths and depths of popular cells, and whether they are wide and shallow.

The paper calls it a common pattern that cells "tend to be the widest and shallowest" of their search space,
and has no measure of that. Here a cell has the pattern if it is wider than most cells of its kind and
shallower than most, ties counted half; its kind are all connections of its nodes. It is a tendency of the
five if more than half have it. Were the five random connections of their nodes, that would have a probability
which is counted.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dartboard.analysis.topology import ShapeDistribution, ShapeRank, connection_shapes, rank_shapes, shape_of
from dartboard.space import PUBLISHED, Cell, get_published
from dartboard.space.graph import depth, width
from dartboard.viz.plots import draw_bubbles, draw_stars
from dartboard_papers._popular_cells import (
    NAMES,
    NORMAL,
    caption,
    normal_cell,
    popular,
    topologies,
)
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, Scale, reproduction

PAPER = {"NASNet": (5.0, 2), "AmoebaNet": (4.0, 4), "ENAS": (5.0, 2), "DARTS": (3.5, 3), "SNAS": (4.0, 2)}
"""Width, in units of a node's, and depth."""
EQUAL, PATTERN = "widths and depths", "popular cells are wide and shallow"


@reproduction(
    "understanding-figure-1",
    about="widths and depths of popular cells, and where these are among all connections of the same nodes",
    claim="popular cells share a pattern: they tend to be the widest and shallowest of all in their space",
    rules={
        EQUAL: "those of all 5 cells are the paper's",
        PATTERN: "more than half of the cells are wider than most connections of their nodes, and shallower "
        "than most",
    },
    minutes=0.2,
    laptop=Scale(),
)
def reproduce(options: RunOptions, scale: Scale) -> ReproductionResult:  # noqa: ARG001
    """Both measures of the five cells beside the paper's, and their standing, counted exactly."""
    cells = {name: normal_cell(popular(name)) for name in NAMES}
    standing = {name: rank_shapes(popular(name))[NORMAL] for name in NAMES}
    shapes = {name: shape_of(cell) for name, cell in cells.items()}
    same = [name for name, shape in shapes.items() if (shape.width, shape.depth) == PAPER[name]]
    common = [name for name in NAMES if standing[name].common]
    others = later()
    without = [name for name, has in others.items() if not has]
    kinds = {name: connection_shapes(cell) for name, cell in cells.items()}
    chance = chance_of_most([pattern_share(kind) for kind in kinds.values()])
    counts = [f"{len(group)} of {len(NAMES)} cells" for group in (same, common)]
    return ReproductionResult(
        rows=[
            *rows(cells, standing),
            Row("published cells of other searches with the pattern", None, spread(others)),
        ],
        parts={
            EQUAL: PartResult(len(same) == len(NAMES), counts[0], None),
            PATTERN: PartResult(2 * len(common) > len(NAMES), counts[1], chance),
        },
        sentence=f"Widths and depths of {len(same)} of {len(NAMES)} cells are the paper's; {len(common)} of "
        f"{len(NAMES)} are wider and shallower than most connections of their nodes{lacking(standing)}.",
        size=f"{len(NAMES)} cells among all connections of their nodes, "
        f"{' or '.join(sorted({f'{item.total:,}' for item in standing.values()}))}",
        seeds=0,
        figures={"cells": draw(cells)},
        numbers=numbers(cells, standing) | {"others": others},
        remarks=[LATE, *([f"The pattern is no rule: {', '.join(without)} lack it."] if without else [])],
    )


LATE = "That more than half make a tendency was settled when it was known which cells have the pattern."


def pattern_share(kind: ShapeDistribution) -> float:
    """Fraction of connections that are wider than most and shallower than most, ties counted half."""

    def rank(value: float, index: int) -> float:
        """Fraction of connections with less, and half of those with as much."""
        signs = [(np.sign(round(value - shape[index], 9)), ways) for shape, ways in kind.ways.items()]
        return float(sum((1 + sign) / 2 * ways for sign, ways in signs) / kind.total)

    common = [ways for (wide, deep), ways in kind.ways.items() if rank(wide, 0) > 0.5 > rank(deep, 1)]
    return sum(common) / kind.total


def chance_of_most(shares: Sequence[float]) -> float:
    """Probability that more than half of independent events happen, each with a probability of its own."""
    outcomes = product((False, True), repeat=len(shares))
    return sum(
        prod(share if happens else 1 - share for share, happens in zip(shares, outcome, strict=True))
        for outcome in outcomes
        if 2 * sum(outcome) > len(shares)
    )


def later() -> dict[str, bool]:
    """The published normal cells that the figure does not have: whether each has the pattern."""
    names = [name for name in PUBLISHED if name not in NAMES.values()]
    return {name: rank_shapes(get_published(name))[NORMAL].common for name in names}


def spread(others: Mapping[str, bool]) -> str:
    """How many of them have it, in words."""
    return f"{sum(others.values())} of {len(others)}"


def lacking(standing: Mapping[str, ShapeRank]) -> str:
    """Which cells are not, and why, in words that go on with a sentence."""
    words = [
        f"; {name} is wider than {item.width.below:.0%}, but {item.depth.below:.0%} are shallower "
        f"and {item.depth.equal:.0%} as deep"
        for name, item in standing.items()
        if not item.common
    ]
    return "".join(words)


def rows(cells: Mapping[str, Cell], standing: Mapping[str, ShapeRank]) -> list[Row]:
    """Both measures, and the shares of connections that go further."""
    lines = []
    for name, (wide, deep) in PAPER.items():
        item = standing[name]
        lines += [
            Row(f"{name}: width, depth", f"{wide:g}c, {deep}", caption(cells[name])),
            Row(f"{name}: connections that are wider, %", None, 100 * item.width.above),
            Row(f"{name}: connections that are shallower, %", None, 100 * item.depth.below),
        ]
    return lines


def numbers(cells: Mapping[str, Cell], standing: Mapping[str, ShapeRank]) -> dict[str, Any]:
    """What is drawn."""
    return {
        name: {
            "width": shape_of(cell).width,
            "depth": shape_of(cell).depth,
            "wider": standing[name].width.above,
            "shallower": standing[name].depth.below,
            "pattern": standing[name].common,
        }
        for name, cell in cells.items()
    }


def draw(cells: Mapping[str, Cell]) -> Figure:
    """The topologies, and below where the cells are among all connections of four and of five nodes."""
    figure = Figure((11, 6), layout="constrained")
    above, below = list(figure.subfigures(2, 1, squeeze=False, height_ratios=[1, 1.5]).flat)
    titled = [(f"{name}, {caption(cell)}", cell) for name, cell in cells.items()]
    topologies(list(above.subplots(1, len(cells))), titled)
    kinds: dict[int, dict[str, Cell]] = {}
    for name, cell in cells.items():
        kinds.setdefault(len(cell.inner), {})[name] = cell
    for axes, (nodes, group) in zip(below.subplots(1, len(kinds)), sorted(kinds.items()), strict=True):
        kind: ShapeDistribution = connection_shapes(next(iter(group.values())))
        draw_bubbles(axes, kind.ways)
        draw_stars(axes, {name: (width(cell), depth(cell)) for name, cell in group.items()})
        axes.set_title(f"{nodes} inner nodes: all {kind.total:,} connections, area by number", fontsize=9)
    return figure
