"""Understanding figure 3: how fast DARTS' cell and its randomly connected variants learn.

Settled before the first training: the claim held if the original cell has the smallest area under the curve
of the test loss, in the mean over seeds, and over all cells Spearman's correlation of width and area is -0.5
or less. The paper's variants are known from pictures alone; here they are the ranks 3, 6, 9 and 13 of 13
drawn ones by width, so that the last is the narrowest. CIFAR-100, which the paper shows too, is
`--data cifar100`.
"""

from collections.abc import Mapping

from pydantic import Field

from dartboard.analyse.comparison import ACCURACY, LOSS, TRAIN_LOSS, Comparison
from dartboard.analyse.plot_convergence import draw_curves
from dartboard.papers._understanding_training import (
    FULL,
    KEPT,
    Networks,
    area,
    base,
    ladder,
    shape,
    size,
    spearman,
    titled,
    train,
)
from dartboard.papers.base import Finding, Row, Setting, Verdict, reproduction
from dartboard.search.options import Count
from dartboard.space import Genotype

ORIGINAL = "darts"
ENOUGH = -0.5
"""Spearman's correlation of width and area must be this or less."""


LAG = (
    "Where epochs have few steps, test losses of the first ones are unsteady, for the statistics of batch "
    "norms lag behind the weights: an epoch has 25 steps at a laptop's scale and 625 in the paper; the "
    "training loss does not depend on them."
)


class Figure3(Networks):
    """How large figure 3 is."""

    variants: Count = Field(default=4, description="randomly connected variants")
    lr: float = Field(default=0.025, gt=0, description="learning rate at the start")


def family(variants: int, draw: int) -> dict[str, Genotype]:
    """DARTS' cell and its variants by label, from wide to narrow."""
    original = base("DARTS")
    others = ladder(original, variants, draw)
    return {ORIGINAL: original} | {f"c{place}": own for place, own in enumerate(others, 1)}


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
    minutes=2,
    laptop=Figure3(),
    full=Figure3(**FULL),
    takes=("data",),
)
def reproduce(setting: Setting, scale: Figure3) -> Finding:
    """Areas under the curves against the widths of the cells."""
    cells = family(scale.variants, scale.draw)
    found = train(setting, scale, cells, [scale.lr])
    areas = {label: area(found, label) for label in cells}
    trend = _trend(found, LOSS)
    first = min(areas, key=lambda label: areas[label])
    held = first == ORIGINAL and trend is not None and trend <= ENOUGH
    called = names(cells)
    return Finding(
        rows=rows(found, called, trend, _trend(found, TRAIN_LOSS)),
        verdict=Verdict.HELD if held else Verdict.NOT_HELD,
        sentence=f"{called[first]} learned fastest, and Spearman's correlation of width and area under the "
        f"test loss is {said(trend)}; the claim asks for the original and {ENOUGH} or less.",
        size=size(setting, scale),
        seeds=scale.seeds,
        figures={"curves": draw_curves(found, [LOSS, ACCURACY], called)},
        numbers=found.facts(),
        remarks=[KEPT, LAG],
    )


def _trend(found: Comparison, metric: str) -> float | None:
    """Spearman's correlation of width and area, over all cells."""
    widths = [shape(own)[0] for own in found.cells.values()]
    return spearman(widths, [area(found, label, metric=metric) for label in found.cells])


def rows(
    found: Comparison, called: Mapping[str, str], trend: float | None, trained: float | None
) -> list[Row]:
    """The area of each cell, how often variants are slower, how steady the curves are, and the trends."""
    areas = [
        Row(f"area under the test loss, {name}", None, area(found, label)) for label, name in called.items()
    ]
    unsteady = [
        Row(f"rises of the test loss, {name}", None, _rises(found, label)) for label, name in called.items()
    ]
    return [
        *areas,
        *unsteady,
        Row("fastest by test loss", called[ORIGINAL], called[found.ranking()[0]]),
        Row("fastest by test accuracy", called[ORIGINAL], called[found.ranking(metric=ACCURACY)[0]]),
        Row("trainings of variants slower than the original's", "all", slower(found)),
        Row("Spearman's correlation of width and area", "negative", trend),
        Row("fastest by training loss", None, called[found.ranking(metric=TRAIN_LOSS)[0]]),
        Row("Spearman's correlation of width and area under the training loss", None, trained),
    ]


def slower(found: Comparison) -> str:
    """How many trainings of variants have a larger area than the original's of the same seed, in words."""
    original = [own.area() for own in found.of(ORIGINAL)]
    pairs = [
        (own.area(), best)
        for label in found.cells
        if label != ORIGINAL
        for own, best in zip(found.of(label), original, strict=True)
    ]
    count = sum(best is not None and (own is None or own > best) for own, best in pairs)
    return f"{count} of {len(pairs)}"


def _rises(found: Comparison, label: str) -> float:
    every = [own.curves[LOSS].rise(falling=True) for own in found.of(label)]
    return sum(every) / len(every)


def said(value: float | None) -> str:
    """A correlation in words."""
    return "not defined" if value is None else f"{value:.2f}"
