"""Understanding figure 3: how fast DARTS' cell and its randomly connected variants learn.

Settled before these variants were trained: the claim held if the original cell has the largest area under
the curve of the test accuracy, in the mean over seeds, and over all cells Spearman's correlation of width and
area is 0.5 or more. The area under the test loss, which would be the first choice, was tried with other
variants (draw=0) and says little at a laptop's scale: with 25 steps an epoch the statistics of batch norms
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
    return {ORIGINAL: original} | {f"c{place}": own for place, own in enumerate(others, 1)}


def apart(draw: int) -> list[str]:
    """A sentence that says so where variants of other figures, which the paper has in all, are not these."""
    own = Figure3().draw
    words = f"The paper has the variants of its figure 3; here they are of draw {draw}, figure 3's of {own}."
    return [] if draw == own else [words]


def names(cells: Mapping[str, Genotype]) -> dict[str, str]:
    """What the cells are called in pictures and tables."""
    return {
        label: titled("C_darts" if label == ORIGINAL else label.upper(), own) for label, own in cells.items()
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
    """Areas under the curves against the widths of the cells."""
    cells = family(scale.variants, scale.draw)
    found, called = train(options, scale, cells, [scale.lr]), names(cells)
    first, trend = found.ranking(metric=ACCURACY)[0], _trend(found, ACCURACY)
    held = first == ORIGINAL and trend is not None and trend >= ENOUGH
    return ReproductionResult(
        rows=[row for metric in WORDS for row in rows(found, called, metric)],
        verdict=Verdict.HELD if held else Verdict.NOT_HELD,
        sentence=f"{called[first]} learned fastest, and Spearman's correlation of width and mean test "
        f"accuracy over the epochs is {said(trend)}; the claim asks for the original and {ENOUGH} or more.",
        size=size(options, scale),
        seeds=scale.seeds,
        figures={"curves": found.plot([LOSS, ACCURACY], called)},
        numbers=found.facts(),
        remarks=[LATE, KEPT, LAG],
    )


def _trend(found: Comparison, metric: str) -> float | None:
    """Spearman's correlation of width and area, over all cells."""
    widths = [shape(own)[0] for own in found.cells.values()]
    return spearman(widths, [area(found, label, metric=metric) for label in found.cells])


def rows(found: Comparison, called: Mapping[str, str], metric: str) -> list[Row]:
    """By one metric: the mean over the epochs of each cell, who was fastest, and the trend with width."""
    shown, words = metric != TRAIN_LOSS, WORDS[metric]
    sign = "positive" if metric == ACCURACY else "negative"
    return [
        *(
            Row(f"mean {words} over the epochs, {name}", None, area(found, label, metric=metric))
            for label, name in called.items()
        ),
        Row(
            f"fastest by {words}",
            called[ORIGINAL] if shown else None,
            called[found.ranking(metric=metric)[0]],
        ),
        Row(f"trainings of variants slower by {words}", "all" if shown else None, slower(found, metric)),
        Row(f"Spearman's correlation of width and {words}", sign if shown else None, _trend(found, metric)),
        Row(
            f"steps back of the original's {words}", "fewest" if shown else None, _back(found, called, metric)
        ),
    ]


def slower(found: Comparison, metric: str) -> str:
    """How many trainings of variants have a worse area than the original's of the same seed, in words."""
    sign = -1.0 if metric == ACCURACY else 1.0
    original = [own.area(metric) for own in found.of(ORIGINAL)]
    pairs = [
        (own.area(metric), best)
        for label in found.cells
        if label != ORIGINAL
        for own, best in zip(found.of(label), original, strict=True)
    ]
    count = sum(best is not None and (own is None or sign * (own - best) > 0) for own, best in pairs)
    return f"{count} of {len(pairs)}"


def _back(found: Comparison, called: Mapping[str, str], metric: str) -> str:
    """Where the original stands by how far curves go back on their way, the steadiest first."""
    falling = metric != ACCURACY
    back = {
        label: sum(own.curves[metric].rise(falling=falling) for own in found.of(label)) for label in called
    }
    return f"rank {sorted(back.values()).index(back[ORIGINAL]) + 1} of {len(back)}"


def said(value: float | None) -> str:
    """A correlation in words."""
    return "not defined" if value is None else f"{value:.2f}"
