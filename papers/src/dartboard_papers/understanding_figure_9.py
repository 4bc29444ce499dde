"""Understanding figure 9: what popular cells and their randomly connected variants come to.

The claim is about accuracies at convergence, after 600 epochs. Nothing is trained for fewer than `CONVERGED`
epochs, as after a few epochs the order of cells is that of their speed (figure 3). The paper trains each cell
once; here seeds tell differences from chance.
"""

from collections.abc import Mapping
from statistics import median

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field
from scipy.stats import ttest_ind

from dartboard.analysis.comparison import ACCURACY
from dartboard.space import Genotype
from dartboard.utils.statistics import Floats
from dartboard.viz.line_styles import line_styles
from dartboard_papers._understanding_training import (
    BASES,
    CONVERGED,
    FULL,
    OWN_VARIANTS,
    SmallCifar,
    base,
    check_images,
    lead,
    size,
    train,
)
from dartboard_papers._understanding_variants import COUNT, connection_variant
from dartboard_papers.base import LEVEL, PartResult, ReproductionResult, Row, RunOptions, reproduction
from dartboard_papers.chance import chance_within
from dartboard_papers.formatting import format_p

PAPER = {"DARTS": "yes", "ENAS": "yes", "AmoebaNet": "no", "NASNet": "yes"}
"""Whether some variant is better, by the text of section 5."""
BEATEN = "some variants are better"
FAIR = "popular cells are as accurate as most of their variants"
COMMAND = "dartboard reproduce understanding-figure-9 --full"


class Figure9(SmallCifar):
    """How large figure 9 is."""

    lr: float = Field(default=0.025, gt=0, description="learning rate at the start")


def check(options: RunOptions, scale: Figure9) -> None:
    """Raises an OptionError if there are no images to train with."""
    if scale.epochs >= CONVERGED:
        check_images(options, scale)


def family(name: str) -> dict[str, Genotype]:
    """A popular cell and its variants by label, in the order in which they were drawn."""
    variants = {f"{name}-{number}": connection_variant(name, number) for number in range(1, COUNT + 1)}
    return {name: base(name)} | variants


@reproduction(
    "understanding-figure-9",
    about="test accuracy at the end of training: popular cells and their randomly connected variants",
    claim="popular cells are as accurate as most of their variants, but some variants are better",
    rules={
        BEATEN: "for 3 of the 4 cells or more some variant is above the original, with a p of at most "
        f"{LEVEL} by Welch's test over seeds, times the number of variants",
        FAIR: "for all 4 cells the original's mean over seeds is at least the median of its variants'",
    },
    setup="nothing is trained: 44 cells, 600 epochs on CIFAR-10 and at least 5 seeds take a GPU",
    minutes=0.1,
    laptop=Figure9(),
    full=Figure9(**FULL),
    takes=("data",),
    check=check,
)
def reproduce(options: RunOptions, scale: Figure9) -> ReproductionResult:
    """Accuracies at the end, of the originals and of their variants, if trainings are long enough."""
    if scale.epochs < CONVERGED:
        return ReproductionResult(
            rows=[Row(f"{name}, is some variant better?", answer, None) for name, answer in PAPER.items()],
            parts={},
            sentence="The claim is about accuracies at convergence, after 600 epochs in the paper; "
            f"`{COMMAND}` tests it on a GPU, and smaller networks can be tested with epochs={CONVERGED} or "
            "more",
            size="nothing was trained",
            seeds=0,
            figures={},
            numbers={},
        )
    families = {name: family(name) for name in BASES}
    comparison = train(
        options, scale, {k: v for cells in families.values() for k, v in cells.items()}, [scale.lr]
    )
    ends = {
        name: np.array(  # final accuracies [cells, seeds]; broken trainings count as 0
            [[training.final(ACCURACY) or 0.0 for training in comparison.of(label)] for label in cells]
        )
        for name, cells in families.items()
    }
    better = [name for name, values in ends.items() if max(values[1:].mean(1)) > values[0].mean()]
    return ReproductionResult(
        rows=_rows(ends),
        parts={BEATEN: judge_beaten(ends), FAIR: judge_fair(ends)},
        sentence=f"Some variant was better than the original for {len(better)} of {len(BASES)} cells, in "
        "the mean over seeds",
        size=size(options, scale),
        seeds=scale.seeds,
        figures={"accuracy": draw(ends, comparison.part)},
        numbers=comparison.facts() | {"ends": ends},
        remarks=[OWN_VARIANTS],
    )


def judge_beaten(ends: Mapping[str, Floats]) -> PartResult:
    """Whether some variants are better, from accuracies [cells, seeds] whose first rows are the originals."""
    ps = {name: corrected_p(values) for name, values in ends.items()}
    beaten = [name for name, p in ps.items() if p <= LEVEL]
    words = ", ".join(
        f"{name} {-100 * lead(values):+.2f} points, {format_p(ps[name])}" for name, values in ends.items()
    )
    chance = sum(  # at least 3 of 4 independent tests at this level
        ways * LEVEL**passed * (1 - LEVEL) ** (len(BASES) - passed) for passed, ways in ((3, 4), (4, 1))
    )
    return PartResult(len(beaten) >= 3, words, chance)


def corrected_p(values: Floats) -> float:
    """Smallest p of Welch's tests that a variant is above the original, times the number of variants."""
    tests = [ttest_ind(row, values[0], equal_var=False, alternative="greater") for row in values[1:]]
    return min(1.0, len(tests) * min(float(test.pvalue) for test in tests))


def judge_fair(ends: Mapping[str, Floats]) -> PartResult:
    """Whether no original is below the median of its variants."""

    def fair(values: Floats) -> bool:
        means = values.mean(1)
        return bool(means[0] >= np.median(means[1:]))

    good = [name for name, values in ends.items() if fair(values)]
    chance = float(np.prod([chance_within(fair, values) for values in ends.values()]))
    return PartResult(len(good) == len(ends), f"{len(good)} of {len(ends)} cells", chance)


def _rows(ends: Mapping[str, Floats]) -> list[Row]:
    rows = []
    for name, values in ends.items():
        original, *others = (100 * values.mean(1)).tolist()
        rows += [
            Row(f"{name}, test accuracy (%)", None, original),
            Row(f"{name}, best variant (%)", None, max(others)),
            Row(f"{name}, median variant (%)", None, median(others)),
            Row(f"{name}, is some variant better?", PAPER[name], "yes" if max(others) > original else "no"),
        ]
    return rows


def draw(ends: Mapping[str, Floats], part: str) -> Figure:
    """A panel for each popular cell: index 0 is the original, and the dashed line its accuracy."""
    figure = Figure((10.5, 3.0), layout="constrained")
    panels = figure.subplots(1, len(ends), sharey=True)
    for axes, (name, style) in zip(panels, line_styles(ends).items(), strict=True):
        means, stds = 100 * ends[name].mean(1), 100 * ends[name].std(1, ddof=1)
        axes.errorbar(range(len(means)), means, stds, fmt=style.marker, color=style.color, markersize=4)
        axes.axhline(means[0], color=style.color, linestyle="--", linewidth=1)
        axes.set(title=name, xlabel="original, then variants", xticks=range(len(means)))
    panels[0].set_ylabel(f"{part} accuracy (%)")
    return figure
