"""Understanding figure 8: surfaces of the gradient variance around DARTS' cell and its variants.

The paper takes CIFAR-100 where figure 7 has CIFAR-10; here it is the digits without clutter. Settled before
cells were compared: "the height of the gradient variance surface is gradually increasing" as cells become
narrower, and the original's is "the smoothest and lowest". The height is the mean logarithm of the variance
over the grid, which no single point can dominate. The claim held if in the mean over seeds the original cell
has the lowest surface, and Spearman's correlation of width and height over all cells is -0.5 or less. How
rough a surface is, is reported beside it: the largest ratio of neighbouring values, as a logarithm.
"""

from collections.abc import Mapping

import numpy as np
from pydantic import Field

from dartboard.analysis.landscape import Landscape, surfaces
from dartboard.viz.plots import plot_surfaces
from dartboard_papers._understanding_landscape import ENOUGH, Surveyed, Variances, judge, survey
from dartboard_papers._understanding_training import FULL, KEPT, size
from dartboard_papers.base import ReproductionResult, Row, RunOptions, Verdict, reproduction
from dartboard_papers.understanding_figure_3 import ORIGINAL, apart, names, said


class Figure8(Variances):
    """How large figure 8 is."""

    images: str = Field(default="digits", description="what is told apart")


@reproduction(
    "understanding-figure-8",
    about="surfaces of the gradient variance around DARTS' cell and its randomly connected variants",
    claim="the surface of the gradient variance is the higher, the narrower and deeper a cell is, and that "
    "of the original cell is the lowest and smoothest",
    minutes=5,
    laptop=Figure8(),
    full=Figure8(**(FULL | {"images": "cifar100", "grid": 21, "examples": 10_000})),
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Figure8) -> ReproductionResult:
    """Heights of surfaces against the widths of the cells."""
    own = survey(options, scale, "variance")
    heights = own.mean({label: [height(each) for each in every] for label, every in own.found.items()})
    held, best, trend = judge(own, heights, rising=False)
    called = names(own.cells)
    return ReproductionResult(
        rows=rows(own, heights, called, best),
        verdict=Verdict.HELD if held else Verdict.NOT_HELD,
        sentence=f"{called[best]} has the lowest surface, and Spearman's correlation of width and height is "
        f"{said(trend)}; the claim asks for the original and -{ENOUGH} or less.",
        size=f"{size(options, scale)}; {scale.grid}x{scale.grid} points, {scale.examples} test images",
        seeds=scale.seeds,
        figures={"surfaces": plot_surfaces(surfaces(own.first(called)))},
        numbers={label: [each.facts() for each in every] for label, every in own.found.items()},
        remarks=[
            KEPT,
            *apart(scale.draw),
            "Surfaces show the standard deviation, heights are of the variance.",
        ],
    )


def height(found: Landscape) -> float:
    """The mean logarithm of all values."""
    return float(np.log(found.values).mean())


def roughness(found: Landscape) -> float:
    """The largest difference between the logarithms of neighbouring values."""
    values = np.log(found.values)
    return float(max(np.abs(np.diff(values, axis=axis)).max() for axis in (0, 1)))


def rows(own: Surveyed, heights: Mapping[str, float], called: Mapping[str, str], best: str) -> list[Row]:
    """Height and roughness of each surface, and how they go with the width."""
    rough = own.mean({label: [roughness(each) for each in every] for label, every in own.found.items()})
    return [
        *(Row(f"mean log variance, {called[label]}", None, heights[label]) for label in own.cells),
        *(
            Row(f"largest log ratio of neighbours, {called[label]}", None, rough[label])
            for label in own.cells
        ),
        Row("lowest surface", called[ORIGINAL], called[best]),
        Row("Spearman's correlation of width and height", "negative", own.trend(heights)),
        Row("Spearman's correlation of width and roughness", "negative", own.trend(rough)),
    ]
