"""Understanding figure 7: heat maps of the gradient variance around DARTS' cell and its variants.

Settled before cells were compared: the paper says that "the region with relatively small gradient variance
becomes smaller" as cells become narrower. The region is the share of the grid where the variance is below the
median of all points of all cells of the same seed. The claim held if in the mean over seeds the original cell
has the largest region, and Spearman's correlation of width and region over all cells is 0.5 or more.
Variances are total variances of the gradients of single test images in all weights (see
`dartboard.analysis.variance`); pictures show standard deviations, as the paper's do.
"""

from collections.abc import Mapping

import numpy as np

from dartboard.analysis.landscape import surfaces
from dartboard.viz.plots import plot_heat
from dartboard_papers._understanding_landscape import ENOUGH, Surveyed, Variances, judge, survey
from dartboard_papers._understanding_training import FULL, KEPT, size
from dartboard_papers.base import ReproductionResult, Row, RunOptions, Verdict, reproduction
from dartboard_papers.understanding_figure_3 import ORIGINAL, apart, names, said


@reproduction(
    "understanding-figure-7",
    about="heat maps of the gradient variance around DARTS' cell and its randomly connected variants",
    claim="the region with relatively small gradient variance becomes smaller as cells become narrower and "
    "deeper",
    minutes=8,
    laptop=Variances(),
    full=Variances(**(FULL | {"grid": 21, "examples": 10_000})),
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Variances) -> ReproductionResult:
    """Regions of small variance against the widths of the cells."""
    own = survey(options, scale, "variance")
    found = own.mean(regions(own))
    held, best, trend = judge(own, found, rising=True)
    called = names(own.cells)
    return ReproductionResult(
        rows=rows(own, found, called, best),
        verdict=Verdict.HELD if held else Verdict.NOT_HELD,
        sentence=f"{called[best]} has the largest region of small gradient variance, and Spearman's "
        f"correlation of width and region is {said(trend)}; the claim asks for the original and {ENOUGH} or "
        "more.",
        size=f"{size(options, scale)}; {scale.grid}x{scale.grid} points, {scale.examples} test images",
        seeds=scale.seeds,
        figures={"deviations": plot_heat(surfaces(own.first(called)))},
        numbers={label: [each.facts() for each in every] for label, every in own.found.items()},
        remarks=[KEPT, *apart(scale.draw)],
    )


def regions(own: Surveyed) -> dict[str, list[float]]:
    """By cell and seed, the share of points below the median of all cells with that seed."""
    seeds = zip(*own.found.values(), strict=True)
    middles = [float(np.median([found.values for found in every])) for every in seeds]
    return {
        label: [float((found.values < middle).mean()) for found, middle in zip(every, middles, strict=True)]
        for label, every in own.found.items()
    }


def rows(own: Surveyed, found: Mapping[str, float], called: Mapping[str, str], best: str) -> list[Row]:
    """The region of each cell and its variance at the trained weights, and how regions go with the width."""
    centres = own.mean({label: [each.centre for each in every] for label, every in own.found.items()})
    return [
        *(
            Row(f"share of the grid below the median, {called[label]}", None, found[label])
            for label in own.cells
        ),
        *(
            Row(f"deviation at the trained weights, {called[label]}", None, centres[label] ** 0.5)
            for label in own.cells
        ),
        Row("largest region of small variance", called[ORIGINAL], called[best]),
        Row("Spearman's correlation of width and region", "positive", own.trend(found)),
    ]
