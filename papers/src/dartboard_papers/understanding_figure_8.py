"""Understanding figure 8: surfaces of the gradient variance around DARTS' cell and its variants.

The paper takes CIFAR-100 where figure 7 has CIFAR-10; here it is the digits without clutter. "The height of
the gradient variance surface is gradually increasing" as cells become narrower, and the original's is "the
smoothest and lowest". The height is the mean logarithm of the variance over the grid, which no single point
can dominate. How rough a surface is, is reported beside it: the largest ratio of neighboring values, as a
logarithm.
"""

import numpy as np
from pydantic import Field

from dartboard.analysis.landscape import Landscape, surfaces
from dartboard.viz.plots import plot_surfaces
from dartboard_papers._understanding_landscape import LATE, SETUP, SMALL, Variances, measure_landscapes
from dartboard_papers._understanding_training import (
    FIRST_LATE,
    FIRST_RULE,
    FULL,
    ORDER_RULE,
    ORIGINAL,
    OWN_VARIANTS,
    falling,
    judge_first,
    judge_order,
    size,
    titles,
)
from dartboard_papers.base import ReproductionResult, Row, RunOptions, reproduction

LOWEST = "the original has the lowest surface"
ORDER = "surfaces become higher as cells become narrower and deeper"


class Figure8(Variances):
    """How large figure 8 is."""

    images: str = Field(default="digits", description="images, unless --data names others")


@reproduction(
    "understanding-figure-8",
    about="surfaces of the gradient variance around DARTS' cell and its randomly connected variants",
    claim="the surface of the gradient variance is the higher, the narrower and deeper a cell is, and that "
    "of the original cell is the lowest and smoothest",
    rules={
        LOWEST: f"mean log variance over the grid, less is better: {FIRST_RULE}",
        ORDER: f"mean log variance over the grid: {ORDER_RULE}",
    },
    setup=SETUP,
    minutes=5,
    laptop=Figure8(),
    full=Figure8(**(FULL | {"images": "cifar100", "grid": 51, "radius": 1.0, "examples": 10_000})),
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Figure8) -> ReproductionResult:
    """Compares the heights of surfaces with the widths of the cells."""
    survey = measure_landscapes(options, scale, "variance")
    heights, rough, names = survey.table(height), survey.table(roughness), titles(survey.cells)
    best = list(names.values())[heights.mean(1).argmin()]
    columns = {"mean log variance": heights, "largest log ratio of neighbours": rough}
    return ReproductionResult(
        rows=[
            *(
                Row(f"{words}, {name}", None, float(mean))
                for words, table in columns.items()
                for name, mean in zip(names.values(), table.mean(1), strict=True)
            ),
            Row("lowest surface", names[ORIGINAL], best),
            Row("correlation of order and height", "negative", falling(heights)),
            Row("correlation of order and roughness", "negative", falling(rough)),
        ],
        parts={LOWEST: judge_first(-heights), ORDER: judge_order(-heights)},
        sentence=f"{best} has the lowest surface, and the order from wide to narrow correlates with the "
        f"height by {falling(heights):.2f}.",
        size=f"{size(options, scale)}; {scale.grid}x{scale.grid} points, {scale.examples} test images",
        seeds=scale.seeds,
        figures={"surfaces": plot_surfaces(surfaces(survey.first(names)))},
        numbers={
            label: [landscape.facts() for landscape in seeds] for label, seeds in survey.landscapes.items()
        },
        remarks=[
            OWN_VARIANTS,
            "Surfaces show the standard deviation of the first seed, heights are of the variance.",
            SMALL,
            LATE,
            FIRST_LATE,
        ],
    )


def height(landscape: Landscape) -> float:
    """The mean logarithm of all values."""
    return float(np.log(landscape.values).mean())


def roughness(landscape: Landscape) -> float:
    """The largest difference between the logarithms of neighboring values."""
    values = np.log(landscape.values)
    return float(max(np.abs(np.diff(values, axis=axis)).max() for axis in (0, 1)))
