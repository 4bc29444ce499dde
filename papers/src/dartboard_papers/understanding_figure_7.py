"""Understanding figure 7: heat maps of the gradient variance around DARTS' cell and its variants.

Settled before cells were compared: the paper says that "the region with relatively small gradient variance
becomes smaller" as cells become narrower. The region is the share of the grid where the variance is below the
median of all points of all cells of the same seed. The claim held if in the mean over seeds the original cell
has the largest region, and Spearman's correlation of width and region over all cells is 0.5 or more.
Variances are total variances of the gradients of single test images in all weights (see
`dartboard.analysis.measures`); pictures show standard deviations, as the paper's do.
"""

from collections.abc import Mapping

import numpy as np

from dartboard.analysis.landscape import surfaces
from dartboard.viz.plots import plot_heat
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


@reproduction(
    "understanding-figure-7",
    about="heat maps of the gradient variance around DARTS' cell and its randomly connected variants",
    claim="the region with relatively small gradient variance becomes smaller as cells become narrower and "
    "deeper",
    minutes=8,
    laptop=Variances(),
    full=Variances(**(FULL | {"grid": 51, "radius": 1.0, "examples": 10_000})),
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Variances) -> ReproductionResult:
    """Compares the regions of small variance with the widths of the cells."""
    survey = measure_landscapes(options, scale, "variance")
    fractions = survey.mean(regions(survey))
    held, best, trend = judge(survey, fractions, rising=True)
    titles = names(survey.cells)
    return ReproductionResult(
        rows=rows(survey, fractions, titles, best),
        verdict=Verdict.HELD if held else Verdict.NOT_HELD,
        sentence=f"{titles[best]} has the largest region of small gradient variance, and Spearman's "
        f"correlation of width and region is {format_correlation(trend)}; the claim asks for the "
        f"original and {ENOUGH} or more.",
        size=f"{size(options, scale)}; {scale.grid}x{scale.grid} points, {scale.examples} test images",
        seeds=scale.seeds,
        figures={"deviations": plot_heat(surfaces(survey.first(titles)))},
        numbers={
            label: [landscape.facts() for landscape in seeds] for label, seeds in survey.landscapes.items()
        },
        remarks=[KEPT, *apart(scale.draw)],
    )


def regions(survey: LandscapeSurvey) -> dict[str, list[float]]:
    """Fraction of points below the median of all cells with the same seed, by cell and seed."""
    seeds = zip(*survey.landscapes.values(), strict=True)
    middles = [float(np.median([landscape.values for landscape in group])) for group in seeds]
    return {
        label: [
            float((landscape.values < middle).mean())
            for landscape, middle in zip(group, middles, strict=True)
        ]
        for label, group in survey.landscapes.items()
    }


def rows(
    survey: LandscapeSurvey, fractions: Mapping[str, float], titles: Mapping[str, str], best: str
) -> list[Row]:
    """The region of each cell, its variance at the trained weights, and the trend with the width."""
    centers = survey.mean(
        {label: [landscape.center for landscape in group] for label, group in survey.landscapes.items()}
    )
    return [
        *(
            Row(f"share of the grid below the median, {titles[label]}", None, fractions[label])
            for label in survey.cells
        ),
        *(
            Row(f"deviation at the trained weights, {titles[label]}", None, centers[label] ** 0.5)
            for label in survey.cells
        ),
        Row("largest region of small variance", titles[ORIGINAL], titles[best]),
        Row("Spearman's correlation of width and region", "positive", survey.trend(fractions)),
    ]
