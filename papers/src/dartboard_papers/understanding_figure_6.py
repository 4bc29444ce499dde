"""Understanding figure 6: loss contours of DARTS' cell and its randomly connected variants.

Settled before cells were compared: the paper speaks of "the widest near-convex region around the optimal";
that is measured as the basin, the share of the grid that hangs together with the trained weights and whose
test loss is at most 1 above theirs. The claim held if in the mean over seeds the original cell has the
largest basin, and Spearman's correlation of width and basin over all cells is 0.5 or more. Other numbers of
the same grids are reported beside it. CIFAR-100, which the paper has too, is `--data cifar100`.
"""

from collections.abc import Mapping

from dartboard.analysis.landscape import RISE, summary, surfaces
from dartboard.viz.plots import plot_contours, plot_surfaces
from dartboard_papers._understanding_landscape import (
    ENOUGH,
    Landscapes,
    LandscapeSurvey,
    judge,
    measure_landscapes,
)
from dartboard_papers._understanding_training import FULL, KEPT, size
from dartboard_papers.base import ReproductionResult, Row, RunOptions, Verdict, reproduction
from dartboard_papers.understanding_figure_3 import ORIGINAL, apart, format_correlation, names

TOP = 12.0
"""Losses above this are cut off in pictures."""
SHOWN = {
    "basin": "share of the grid in the basin",
    "steepness": "largest slope between neighbours",
    "sharpness": "sharpness in %",
    "convexity": "share of points that bend upwards",
}


@reproduction(
    "understanding-figure-6",
    about="loss contours around DARTS' cell and its randomly connected variants",
    claim="the widest and shallowest cell has the smoothest landscape and the widest near-convex region "
    "around the optimum; the narrowest and deepest has the narrowest and steepest",
    minutes=6,
    laptop=Landscapes(),
    full=Landscapes(**(FULL | {"grid": 51, "radius": 1.0, "examples": 10_000})),
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Landscapes) -> ReproductionResult:
    """Compares the basins with the widths of the cells."""
    survey = measure_landscapes(options, scale, "loss")
    numbers = measured(survey)
    held, best, trend = judge(survey, numbers["basin"], rising=True)
    titles = names(survey.cells)
    return ReproductionResult(
        rows=rows(survey, numbers, titles, best),
        verdict=Verdict.HELD if held else Verdict.NOT_HELD,
        sentence=f"{titles[best]} has the largest basin, and Spearman's correlation of width and basin is "
        f"{format_correlation(trend)}; the claim asks for the original and {ENOUGH} or more.",
        size=f"{size(options, scale)}; {scale.grid}x{scale.grid} points, {scale.examples} test images",
        seeds=scale.seeds,
        figures={
            "contours": plot_contours(surfaces(survey.first(titles), top=TOP)),
            "surfaces": plot_surfaces(surfaces(survey.first(titles), top=TOP)),
        },
        numbers={
            label: [landscape.facts() for landscape in seeds] for label, seeds in survey.landscapes.items()
        },
        remarks=[
            KEPT,
            *apart(scale.draw),
            f"The basin ends where the loss is {RISE:g} above that of the trained weights.",
        ],
    )


def measured(survey: LandscapeSurvey) -> dict[str, dict[str, float]]:
    """Means over seeds, by number and cell."""
    summaries = {
        label: [summary(landscape) for landscape in seeds] for label, seeds in survey.landscapes.items()
    }
    return {
        name: survey.mean({label: [values[name] for values in seeds] for label, seeds in summaries.items()})
        for name in ("centre", *SHOWN)
    }


def rows(
    survey: LandscapeSurvey, numbers: Mapping[str, Mapping[str, float]], titles: Mapping[str, str], best: str
) -> list[Row]:
    """The numbers of each cell, and their correlation with the width."""
    details = [
        Row(f"{words}, {titles[label]}", None, numbers[name][label])
        for name, words in SHOWN.items()
        for label in survey.cells
    ]
    return [
        *(Row(f"test loss, {titles[label]}", None, numbers["centre"][label]) for label in survey.cells),
        *details,
        Row("largest basin", titles[ORIGINAL], titles[best]),
        Row("Spearman's correlation of width and basin", "positive", survey.trend(numbers["basin"])),
        Row("Spearman's correlation of width and steepness", "negative", survey.trend(numbers["steepness"])),
    ]
