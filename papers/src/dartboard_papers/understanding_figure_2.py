"""Understanding figure 2: DARTS' cell and randomly connected variants, from wide and shallow to deep.

The paper shows some variants without saying how many were drawn; here as many as asked for are drawn and all
are shown. What no draw can settle is counted: the share of all connections beyond DARTS'.
"""

import math
from collections.abc import Sequence

from matplotlib.figure import Figure
from pydantic import Field

from dartboard.analysis.topology import ShapeDistribution, connection_shapes, shape_of
from dartboard.analysis.variants import random_connections
from dartboard.config.schema import Count, Seed
from dartboard.space import Cell
from dartboard_papers._popular_cells import NORMAL, caption, normal_cell, popular, topologies
from dartboard_papers.base import ReproductionResult, Row, RunOptions, Scale, Verdict, reproduction


class Draw(Scale):
    """The variants."""

    variants: Count = Field(default=4, description="how many are drawn")
    draw: Seed = Field(default=0, description="which are drawn")


@reproduction(
    "understanding-figure-2",
    about="DARTS' cell and randomly connected variants, ordered by width and depth",
    claim="DARTS' cell is the widest and shallowest among its randomly connected variants, and narrower ones "
    "are deeper",
    minutes=0.1,
    laptop=Draw(),
)
def reproduce(options: RunOptions, scale: Draw) -> ReproductionResult:  # noqa: ARG001
    """The cell and its variants in order, and what all connections say of it."""
    base = popular("DARTS")
    original = normal_cell(base)
    drawn = random_connections(base, scale.variants, seed=scale.draw, groups=[NORMAL])
    variants = [
        normal_cell(genotype) for genotype in drawn
    ]  # from wide to narrow, of equal width shallow first
    ordered = sorted(variants, key=lambda cell: (-shape_of(cell).width, shape_of(cell).depth))
    kind = connection_shapes(original)
    place, trend = kind.rank(original), correlation(kind)
    wider, shallower = beyond(original, ordered)
    held = wider == shallower == 0 and trend < 0
    return ReproductionResult(
        rows=[
            Row("DARTS: width, depth", "3.5c, 3", caption(original)),
            *(
                Row(f"variant {index}: width, depth", None, caption(variant))
                for index, variant in enumerate(ordered, 1)
            ),
            Row("drawn variants that are wider", 0, wider),
            Row("drawn variants that are shallower", 0, shallower),
            Row("all connections that are wider, %", None, 100 * place.width.above),
            Row("all connections that are shallower, %", None, 100 * place.depth.below),
            Row("correlation of width and depth over all connections", "negative", trend),
        ],
        verdict=Verdict.HELD if held else Verdict.NOT_HELD,
        sentence=f"Of {len(ordered)} variants {wider} were wider and {shallower} shallower than DARTS' cell; "
        f"of all {kind.total:,} connections {place.width.above:.1%} are wider and {place.depth.below:.1%} "
        f"shallower, and over all of them width and depth correlate with {trend:.2f}.",
        size=f"{len(ordered)} variants, and all {kind.total:,} connections counted",
        seeds=1,
        figures={"variants": draw(original, ordered)},
        numbers={
            "ways": [[*key, ways] for key, ways in sorted(kind.ways.items())],
            "shapes": [[shape_of(cell).width, shape_of(cell).depth] for cell in ordered],
        },
    )


def beyond(original: Cell, cells: Sequence[Cell]) -> tuple[int, int]:
    """How many are wider, and how many are shallower, than the original."""
    reference = shape_of(original)
    others = [shape_of(cell) for cell in cells]
    return sum(shape.width > reference.width for shape in others), sum(
        shape.depth < reference.depth for shape in others
    )


def correlation(kind: ShapeDistribution) -> float:
    """Of width and depth over all cells of a kind."""
    wide, deep = kind.mean()
    moments = [
        (ways * (w - wide) ** 2, ways * (d - deep) ** 2, ways * (w - wide) * (d - deep))
        for (w, d), ways in kind.ways.items()
    ]
    first, second, both = (sum(moment) for moment in zip(*moments, strict=True))
    return float(both / math.sqrt(first * second))


def draw(original: Cell, cells: Sequence[Cell]) -> Figure:
    """All topologies in a row, or in rows of five."""
    named = [("DARTS", original), *((f"variant {index}", variant) for index, variant in enumerate(cells, 1))]
    columns = min(len(named), 5)
    rows = math.ceil(len(named) / columns)
    figure = Figure((2.4 * columns, 1.9 * rows), layout="constrained")
    titled = [(f"{name}: {caption(cell)}", cell) for name, cell in named]
    topologies(list(figure.subplots(rows, columns, squeeze=False).flat), titled)
    return figure
