"""Understanding figure 8: surfaces of the gradient variance around DARTS' cell and its variants.

The paper takes CIFAR-100 where figure 7 has CIFAR-10; here it is the digits without clutter. Settled before
cells were compared: "the height of the gradient variance surface is gradually increasing" as cells become
narrower, and the original's is "the smoothest and lowest". The height is the mean logarithm of the variance
over the grid, which no single point can dominate. The claim held if in the mean over seeds the original cell
has the lowest surface, and Spearman's correlation of width and height over all cells is -0.5 or less. How
rough a surface is, is reported beside it: the largest ratio of neighboring values, as a logarithm.
"""

from collections.abc import Mapping

import numpy as np
from pydantic import Field

from dartboard.analysis.landscape import Landscape, surfaces
from dartboard.viz.plots import plot_surfaces
from dartboard_papers._understanding_landscape import (
    ENOUGH,
    LandscapeSurvey,
    Variances,
    judge,
    measure_landscapes,
)
from dartboard_papers._understanding_training import FULL, KEPT, size
from dartboard_papers.base import ReproductionResult, Row, RunOptions, Verdict, reproduction
from dartboard_papers.understanding_figure_3 import ORIGINAL, apart, format_correlation, names


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
    full=Figure8(**(FULL | {"images": "cifar100", "grid": 51, "radius": 1.0, "examples": 10_000})),
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Figure8) -> ReproductionResult:
    """Compares the heights of surfaces with the widths of the cells."""
    survey = measure_landscapes(options, scale, "variance")
    heights = survey.mean(
        {label: [height(landscape) for landscape in seeds] for label, seeds in survey.landscapes.items()}
    )
    held, best, trend = judge(survey, heights, rising=False)
    titles = names(survey.cells)
    return ReproductionResult(
        rows=rows(survey, heights, titles, best),
        verdict=Verdict.HELD if held else Verdict.NOT_HELD,
        sentence=f"{titles[best]} has the lowest surface, and Spearman's correlation of width and height is "
        f"{format_correlation(trend)}; the claim asks for the original and -{ENOUGH} or less.",
        size=f"{size(options, scale)}; {scale.grid}x{scale.grid} points, {scale.examples} test images",
        seeds=scale.seeds,
        figures={"surfaces": plot_surfaces(surfaces(survey.first(titles)))},
        numbers={
            label: [landscape.facts() for landscape in seeds] for label, seeds in survey.landscapes.items()
        },
        remarks=[
            KEPT,
            *apart(scale.draw),
            "Surfaces show the standard deviation, heights are of the variance.",
        ],
    )


def height(landscape: Landscape) -> float:
    """The mean logarithm of all values."""
    return float(np.log(landscape.values).mean())


def roughness(landscape: Landscape) -> float:
    """The largest difference between the logarithms of neighboring values."""
    values = np.log(landscape.values)
    return float(max(np.abs(np.diff(values, axis=axis)).max() for axis in (0, 1)))


def rows(
    survey: LandscapeSurvey, heights: Mapping[str, float], titles: Mapping[str, str], best: str
) -> list[Row]:
    """Height and roughness of each surface, and their correlation with the width."""
    rough = survey.mean(
        {label: [roughness(landscape) for landscape in seeds] for label, seeds in survey.landscapes.items()}
    )
    return [
        *(Row(f"mean log variance, {titles[label]}", None, heights[label]) for label in survey.cells),
        *(
            Row(f"largest log ratio of neighbours, {titles[label]}", None, rough[label])
            for label in survey.cells
        ),
        Row("lowest surface", titles[ORIGINAL], titles[best]),
        Row("Spearman's correlation of width and height", "negative", survey.trend(heights)),
        Row("Spearman's correlation of width and roughness", "negative", survey.trend(rough)),
    ]
