"""Understanding figure 7: heat maps of the gradient variance around DARTS' cell and its variants.

The paper says that "the region with relatively small gradient variance becomes smaller" as cells become
narrower. The region is the share of the grid where the variance is below the median of all points of all
cells of the same seed. Variances are total variances of the gradients of single test images in all weights
(see `dartboard.analysis.measures`); pictures show standard deviations, as the paper's do.
"""

import numpy as np

from dartboard.analysis.landscape import Landscape, surfaces
from dartboard.utils.statistics import Floats
from dartboard.viz.plots import plot_heat
from dartboard_papers._understanding_landscape import (
    LATE,
    SETUP,
    SMALL,
    LandscapeSurvey,
    Variances,
    measure_landscapes,
)
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

LARGEST = "the original has the largest region of small variance"
ORDER = "regions become smaller as cells become narrower and deeper"


@reproduction(
    "understanding-figure-7",
    about="heat maps of the gradient variance around DARTS' cell and its randomly connected variants",
    claim="the region with relatively small gradient variance becomes smaller as cells become narrower and "
    "deeper",
    rules={
        LARGEST: f"share of the grid below the median variance of all cells of a seed: {FIRST_RULE}",
        ORDER: f"the same shares: {ORDER_RULE}",
    },
    setup=SETUP,
    minutes=8,
    laptop=Variances(),
    full=Variances(**(FULL | {"grid": 51, "radius": 1.0, "examples": 10_000})),
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Variances) -> ReproductionResult:
    """Compares the regions of small variance with the widths of the cells."""
    survey = measure_landscapes(options, scale, "variance")
    fractions, names = regions(survey), titles(survey.cells)
    best = list(names.values())[fractions.mean(1).argmax()]
    centers = survey.table(lambda landscape: landscape.center)
    shares = zip(names.values(), fractions.mean(1), strict=True)
    deviations = zip(names.values(), centers.mean(1) ** 0.5, strict=True)
    return ReproductionResult(
        rows=[
            *(Row(f"share of the grid below the median, {name}", None, float(mean)) for name, mean in shares),
            *(
                Row(f"deviation at the trained weights, {name}", None, float(value))
                for name, value in deviations
            ),
            Row("largest region of small variance", names[ORIGINAL], best),
            Row("correlation of order and region", "positive", falling(fractions)),
        ],
        parts={LARGEST: judge_first(fractions), ORDER: judge_order(fractions)},
        sentence=f"{best} has the largest region of small gradient variance, and the order from wide to "
        f"narrow correlates with its size by {falling(fractions):.2f}.",
        size=f"{size(options, scale)}; {scale.grid}x{scale.grid} points, {scale.examples} test images",
        seeds=scale.seeds,
        figures={"deviations": plot_heat(surfaces(survey.first(names)))},
        numbers={
            label: [landscape.facts() for landscape in seeds] for label, seeds in survey.landscapes.items()
        },
        remarks=[OWN_VARIANTS, "The picture shows the first seed.", SMALL, LATE, FIRST_LATE],
    )


def regions(survey: LandscapeSurvey) -> Floats:
    """Fraction of points below the median of all cells with the same seed [cells, seeds]."""
    seeds: list[tuple[Landscape, ...]] = list(zip(*survey.landscapes.values(), strict=True))
    middles = [np.median([landscape.values for landscape in group]) for group in seeds]
    return np.array(
        [
            [(landscape.values < middle).mean() for landscape in group]
            for group, middle in zip(seeds, middles, strict=True)
        ]
    ).T
