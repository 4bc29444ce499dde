"""Understanding figure 2: DARTS' cell and randomly connected variants, from wide and shallow to deep.

The paper shows four variants; here are all ten that the authors drew. What no draw can settle is counted: the
share of all connections beyond DARTS', and how width and depth go together over all of them.
"""

import math
from collections.abc import Sequence

from matplotlib.figure import Figure

from dartboard.analysis.topology import ShapeDistribution, connection_shapes, shape_of
from dartboard.space import Cell
from dartboard_papers._popular_cells import caption, chance_of_standing, normal_cell, popular, topologies
from dartboard_papers._understanding_variants import COUNT, connection_variant
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, Scale, reproduction

EXTREME, TREND = "DARTS' cell is the widest and shallowest", "narrower cells are deeper"


@reproduction(
    "understanding-figure-2",
    about="DARTS' cell and randomly connected variants, ordered by width and depth",
    claim="DARTS' cell is the widest and shallowest among its randomly connected variants, and narrower ones "
    "are deeper",
    rules={
        EXTREME: "none of the variants that the authors drew is wider or shallower",
        TREND: "the correlation of width and depth over all connections of its nodes is negative",
    },
    minutes=0.1,
    laptop=Scale(),
)
def reproduce(options: RunOptions, scale: Scale) -> ReproductionResult:  # noqa: ARG001
    """The cell and its variants in order, and what all connections say of it."""
    original = normal_cell(popular("DARTS"))
    variants = [normal_cell(connection_variant("DARTS", number)) for number in range(1, COUNT + 1)]
    # from wide to narrow, of equal width shallow first
    ordered = sorted(variants, key=lambda cell: (-shape_of(cell).width, shape_of(cell).depth))
    kind = connection_shapes(original)
    place, trend = kind.rank(original), correlation(kind)
    wider, shallower = beyond(original, ordered)
    words = f"of {len(ordered)} variants {wider} are wider and {shallower} shallower"
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
        parts={
            EXTREME: PartResult(wider == shallower == 0, words, chance_of_standing(kind, len(ordered))),
            TREND: PartResult(trend < 0, f"correlation {trend:.2f}", None),
        },
        sentence=f"{words} than DARTS' cell; of all {kind.total:,} connections {place.width.above:.1%} are "
        f"wider and {place.depth.below:.1%} shallower, and over all of them width and depth correlate with "
        f"{trend:.2f}.",
        size=f"{len(ordered)} variants, and all {kind.total:,} connections counted",
        seeds=0,
        figures={"variants": draw(original, ordered)},
        numbers={
            "ways": [[*key, ways] for key, ways in sorted(kind.ways.items())],
            "shapes": [[shape_of(cell).width, shape_of(cell).depth] for cell in ordered],
        },
        remarks=[
            "The chance is that of a random connection among ten others. With 4 variants of our own it held."
        ],
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
