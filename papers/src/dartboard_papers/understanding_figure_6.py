"""Understanding figure 6: loss contours of DARTS' cell and its randomly connected variants.

The paper speaks of "the widest near-convex region around the optimal"; that is measured as the basin, the
share of the grid that hangs together with the trained weights and whose test loss is at most 1 above theirs.
Other numbers of the same grids are reported beside it. CIFAR-100, which the paper has too, is `--data
cifar100`.
"""

from functools import partial

from dartboard.analysis.landscape import RISE, Landscape, summary, surfaces
from dartboard.utils.statistics import Floats
from dartboard.viz.plots import plot_contours, plot_surfaces
from dartboard_papers._understanding_landscape import LATE, SETUP, SMALL, Landscapes, measure_landscapes
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

TOP = 12.0
"""Losses above this are cut off in pictures."""
SHOWN = {
    "basin": "share of the grid in the basin",
    "steepness": "largest slope between neighbours",
    "sharpness": "sharpness in %",
    "convexity": "share of points that bend upwards",
}
LARGEST = "the original has the largest basin"
ORDER = "basins become smaller as cells become narrower and deeper"


@reproduction(
    "understanding-figure-6",
    about="loss contours around DARTS' cell and its randomly connected variants",
    claim="the widest and shallowest cell has the smoothest landscape and the widest near-convex region "
    "around the optimum; the narrowest and deepest has the narrowest and steepest",
    rules={
        LARGEST: f"share of the grid in the basin: {FIRST_RULE}",
        ORDER: f"share of the grid in the basin: {ORDER_RULE}",
    },
    setup=SETUP,
    minutes=6,
    laptop=Landscapes(),
    full=Landscapes(**(FULL | {"grid": 51, "radius": 1.0, "examples": 10_000})),
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Landscapes) -> ReproductionResult:
    """Compares the basins with the widths of the cells."""
    survey = measure_landscapes(options, scale, "loss")
    names = titles(survey.cells)
    tables = {name: survey.table(partial(_number, name)) for name in ("centre", *SHOWN)}
    basins = tables["basin"]
    best = list(names.values())[basins.mean(1).argmax()]
    return ReproductionResult(
        rows=rows(tables, list(names.values()), names[ORIGINAL], best),
        parts={LARGEST: judge_first(basins), ORDER: judge_order(basins)},
        sentence=f"{best} has the largest basin, and the order from wide to narrow correlates with its size "
        f"by {falling(basins):.2f}.",
        size=f"{size(options, scale)}; {scale.grid}x{scale.grid} points, {scale.examples} test images",
        seeds=scale.seeds,
        figures={
            "contours": plot_contours(surfaces(survey.first(names), top=TOP)),
            "surfaces": plot_surfaces(surfaces(survey.first(names), top=TOP)),
        },
        numbers={
            label: [landscape.facts() for landscape in seeds] for label, seeds in survey.landscapes.items()
        },
        remarks=[
            OWN_VARIANTS,
            (
                f"The basin ends where the loss is {RISE:g} above that of the trained weights; pictures "
                "show the first seed."
            ),
            SMALL,
            LATE,
            FIRST_LATE,
        ],
    )


def _number(name: str, landscape: Landscape) -> float:
    return summary(landscape)[name]


def rows(tables: dict[str, Floats], names: list[str], original: str, best: str) -> list[Row]:
    """The mean numbers of each cell, and their correlation with the order of the cells."""
    words = {"centre": "test loss", **SHOWN}
    return [
        *(
            Row(f"{words[key]}, {name}", None, float(mean))
            for key, table in tables.items()
            for name, mean in zip(names, table.mean(1), strict=True)
        ),
        Row("largest basin", original, best),
        Row("correlation of order and basin", "positive", falling(tables["basin"])),
        Row("correlation of order and steepness", "negative", falling(tables["steepness"])),
    ]
