"""Understanding figure 3: how fast DARTS' cell and its randomly connected variants learn.

Settled before these variants were trained: the claim held if the original cell has the largest area under
the curve of the test accuracy, in the mean over seeds, and over all cells Spearman's correlation of width and
area is 0.5 or more. The area under the test loss, which would be the first choice, was tried with other
variants (draw=0) and says little at a laptop's scale: with 25 steps per epoch the statistics of batch norms
lag behind the weights, and single epochs with losses of 8 decide. It is reported, and so is that of the
training loss, which does not depend on them. The paper's variants are known from pictures alone; here they
are the ranks 3, 6, 9 and 13 of 13 drawn ones by width, so that the last is the narrowest. CIFAR-100, which
the paper shows too, is `--data cifar100`.
"""

from collections.abc import Mapping

from pydantic import Field

from dartboard.analysis.comparison import ACCURACY, LOSS, TRAIN_LOSS, Comparison
from dartboard.config.schema import Count, Seed
from dartboard.space import Genotype
from dartboard_papers._understanding_training import (
    FULL,
    KEPT,
    Variants,
    area,
    base,
    ladder,
    shape,
    size,
    spearman,
    titled,
    train,
)
from dartboard_papers.base import ReproductionResult, Row, RunOptions, Verdict, reproduction

ORIGINAL = "darts"
ENOUGH = 0.5
"""Spearman's correlation of width and area must be this or more."""
WORDS = {ACCURACY: "test accuracy", LOSS: "test loss", TRAIN_LOSS: "training loss"}
LATE = (
    "The area under the test loss was to judge at first; with other variants it said little at this size, so "
    "that the test accuracy judges now, with variants that had not been trained."
)
LAG = (
    "Test losses are unsteady where epochs have few steps, for the statistics of batch norms lag behind the "
    "weights: an epoch has 25 steps at a laptop's scale and 625 in the paper; the training loss does not "
    "depend on them."
)


class Figure3(Variants):
    """How large figure 3 is."""

    variants: Count = Field(default=4, description="randomly connected variants")
    draw: Seed = Field(default=1, description="where the drawing of variants starts")
    lr: float = Field(default=0.025, gt=0, description="learning rate at the start")


def family(variants: int, draw: int) -> dict[str, Genotype]:
    """DARTS' cell and its variants by label, from wide to narrow."""
    original = base("DARTS")
    others = ladder(original, variants, draw)
    return {ORIGINAL: original} | {f"c{index}": variant for index, variant in enumerate(others, 1)}


def apart(draw: int) -> list[str]:
    """A remark if the variants differ from those of figure 3, which the paper uses everywhere."""
    default = Figure3().draw
    words = (
        f"The paper has the variants of its figure 3; here they are of draw {draw}, figure 3's of {default}."
    )
    return [] if draw == default else [words]


def names(cells: Mapping[str, Genotype]) -> dict[str, str]:
    """Titles of the cells in pictures and tables."""
    return {
        label: titled("C_darts" if label == ORIGINAL else label.upper(), genotype)
        for label, genotype in cells.items()
    }


@reproduction(
    "understanding-figure-3",
    about="test loss and accuracy of DARTS' cell and its randomly connected variants while they are trained",
    claim="the original cell, the widest and shallowest, learns fastest, and others the faster the wider and "
    "shallower they are",
    minutes=3,
    laptop=Figure3(),
    full=Figure3(**FULL),
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Figure3) -> ReproductionResult:
    """Compares the areas under the curves with the widths of the cells."""
    cells = family(scale.variants, scale.draw)
    comparison, titles = train(options, scale, cells, [scale.lr]), names(cells)
    first, trend = comparison.ranking(metric=ACCURACY)[0], _trend(comparison, ACCURACY)
    held = first == ORIGINAL and trend is not None and trend >= ENOUGH
    return ReproductionResult(
        rows=[row for metric in WORDS for row in rows(comparison, titles, metric)],
        verdict=Verdict.HELD if held else Verdict.NOT_HELD,
        sentence=f"{titles[first]} learned fastest, and Spearman's correlation of width and mean test "
        f"accuracy over the epochs is {format_correlation(trend)}; the claim asks for the original and "
        f"{ENOUGH} or more.",
        size=size(options, scale),
        seeds=scale.seeds,
        figures={"curves": comparison.plot([LOSS, ACCURACY], titles)},
        numbers=comparison.facts(),
        remarks=[LATE, KEPT, LAG],
    )


def _trend(comparison: Comparison, metric: str) -> float | None:
    """Spearman's correlation of width and area, over all cells."""
    widths = [shape(genotype)[0] for genotype in comparison.cells.values() if genotype is not None]
    return spearman(widths, [area(comparison, label, metric=metric) for label in comparison.cells])


def rows(comparison: Comparison, titles: Mapping[str, str], metric: str) -> list[Row]:
    """By one metric: the mean over the epochs of each cell, the fastest cell, and the trend with width."""
    shown, words = metric != TRAIN_LOSS, WORDS[metric]
    sign = "positive" if metric == ACCURACY else "negative"
    return [
        *(
            Row(f"mean {words} over the epochs, {name}", None, area(comparison, label, metric=metric))
            for label, name in titles.items()
        ),
        Row(
            f"fastest by {words}",
            titles[ORIGINAL] if shown else None,
            titles[comparison.ranking(metric=metric)[0]],
        ),
        Row(f"trainings of variants slower by {words}", "all" if shown else None, slower(comparison, metric)),
        Row(
            f"Spearman's correlation of width and {words}",
            sign if shown else None,
            _trend(comparison, metric),
        ),
        Row(
            f"steps back of the original's {words}",
            "fewest" if shown else None,
            _backward_rank(comparison, titles, metric),
        ),
    ]


def slower(comparison: Comparison, metric: str) -> str:
    """Number of trainings of variants with a worse area than the original's of the same seed, as text."""
    sign = -1.0 if metric == ACCURACY else 1.0
    original = [training.area(metric) for training in comparison.of(ORIGINAL)]
    pairs = [
        (training.area(metric), best)
        for label in comparison.cells
        if label != ORIGINAL
        for training, best in zip(comparison.of(label), original, strict=True)
    ]
    count = sum(
        best is not None and (training is None or sign * (training - best) > 0) for training, best in pairs
    )
    return f"{count} of {len(pairs)}"


def _backward_rank(comparison: Comparison, titles: Mapping[str, str], metric: str) -> str:
    """Rank of the original by how far curves move backwards, the steadiest first."""
    falling = metric != ACCURACY
    back = {
        label: sum(training.curves[metric].rise(falling=falling) for training in comparison.of(label))
        for label in titles
    }
    return f"rank {sorted(back.values()).index(back[ORIGINAL]) + 1} of {len(back)}"


def format_correlation(value: float | None) -> str:
    """A correlation as text."""
    return "not defined" if value is None else f"{value:.2f}"
