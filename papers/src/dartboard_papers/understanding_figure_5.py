"""Understanding figure 5: how much the ops of a cell matter for how fast it learns.

The paper shows that variants with other ops learn nearly as fast as the popular cells, and concludes that
connections matter more. How near is near, it does not say; so variants of both kinds are trained here, and
compared. Each seed trains the original and one variant of each kind, the ones that the authors drew with the
same number, so that seeds differ in the variants too. The speed of a training is the area under its curve of
the test accuracy, which after a single epoch is that accuracy.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field

from dartboard.analysis.comparison import ACCURACY, Comparison
from dartboard.config.schema import Count
from dartboard.space import Genotype
from dartboard.utils.statistics import Floats
from dartboard.viz.line_styles import line_styles
from dartboard_papers._understanding_training import (
    BASES,
    FULL,
    OWN_VARIANTS,
    SmallCifar,
    base,
    check_images,
    format_interval,
    size,
    train,
)
from dartboard_papers._understanding_variants import COUNT, connection_variant, operation_variant
from dartboard_papers.base import LEVEL, PartResult, ReproductionResult, Row, RunOptions, reproduction
from dartboard_papers.chance import p_within
from dartboard_papers.formatting import format_p

OPERATIONS, CONNECTIONS = "ops", "connections"
KINDS = {CONNECTIONS: connection_variant, OPERATIONS: operation_variant}
LESS = "ops matter less than connections"
LATE = (
    "With one seed and variants of our own, of normal cells alone, it did not hold (2 of 4 cells); rule, "
    "variants and size were set anew before these trainings."
)


class Figure5(SmallCifar):
    """How large figure 5 is."""

    epochs: Count = Field(default=1, description="passes over the images")
    seeds: int = Field(
        default=5, ge=5, le=COUNT, description="trainings of each cell, with a variant of each kind beside it"
    )
    lr: float = Field(default=0.025, gt=0, description="learning rate at the start")


def families(number: int) -> dict[str, Genotype]:
    """The popular cells and their variants of one number by label."""
    cells = {name: base(name) for name in BASES}
    for name in BASES:
        cells |= {f"{name}-{kind}-{number}": variant(name, number) for kind, variant in KINDS.items()}
    return cells


@reproduction(
    "understanding-figure-5",
    about="test accuracy of popular cells and of variants with other ops while they are trained",
    claim="variants with other ops learn nearly as fast as the popular cells; connections matter more",
    rules={
        LESS: "over all cells and seeds, other connections change the area under the curve of the test "
        "accuracy by more than other ops do, in the mean of absolute differences, with a p of at most "
        f"{LEVEL} where the two trade places within a cell and seed",
    },
    setup="8 cells of 8 channels instead of 20 of 36, 10,000 training images of 16x16 pixels instead of "
    "50,000 of 32x32, one epoch instead of 600, 5 of the 10 variants of ops, and variants of connections "
    "beside them",
    minutes=13,
    laptop=Figure5(),
    full=Figure5(**FULL, seeds=COUNT),
    takes=("data",),
    needs=("data",),
    check=check_images,
)
def reproduce(options: RunOptions, scale: Figure5) -> ReproductionResult:
    """Compares variants of both kinds with the original's mean accuracy over the epochs."""
    comparisons = [
        train(options, scale, families(seed + 1), [scale.lr], seeds=[seed]) for seed in range(scale.seeds)
    ]
    changed = {name: changes(comparisons, name) for name in BASES}
    means = dict(zip(KINDS, 100 * np.hstack(list(changed.values())).mean(1), strict=True))
    fewer = [name for name, values in changed.items() if values[1].mean() < values[0].mean()]
    return ReproductionResult(
        rows=_rows(changed),
        parts={LESS: judge(list(changed.values()))},
        sentence=f"Other ops changed the mean accuracy over the epochs by {means[OPERATIONS]:.1f} points, "
        f"other connections by {means[CONNECTIONS]:.1f}; ops mattered less for {len(fewer)} of "
        f"{len(BASES)} cells.",
        size=size(options, scale),
        seeds=scale.seeds,
        figures={"areas": draw(comparisons)},
        numbers={str(seed): comparison.facts() for seed, comparison in enumerate(comparisons)},
        remarks=[OWN_VARIANTS, LATE],
    )


def changes(comparisons: Sequence[Comparison], name: str) -> Floats:
    """Absolute changes of a cell's area by other connections and by other ops [2, seeds]."""
    return np.array(
        [
            [abs(areas_of(seed)[f"{name}-{kind}-{number}"] - areas_of(seed)[name]) for kind in KINDS]
            for number, seed in enumerate(comparisons, 1)
        ]
    ).T


def areas_of(comparison: Comparison) -> dict[str, float]:
    """Area under the curve of each cell's only training; what broke off has no accuracy, so its area is 0."""
    return {label: comparison.areas(label, metric=ACCURACY)[0] or 0.0 for label in comparison.cells}


def judge(changed: Sequence[Floats]) -> PartResult:
    """Whether the first row of changes is larger, over all cells and seeds."""
    values = np.hstack(changed)
    differences = values[0] - values[1]
    p = p_within(lambda pairs: float((pairs[0] - pairs[1]).mean()), values)
    gain = float(differences.mean())
    words = (
        f"connections change {100 * gain:+.2f} points more{format_interval(100 * differences)}, {format_p(p)}"
    )
    return PartResult(gain > 0 and p <= LEVEL, words, LEVEL)


def _rows(changed: Mapping[str, Floats]) -> list[Row]:
    paper = {OPERATIONS: "nearly the same", CONNECTIONS: "more"}
    return [
        Row(
            f"{name}, other {kind}: change of the mean test accuracy (points)",
            paper[kind],
            float(100 * mean),
        )
        for name, values in changed.items()
        for kind, mean in zip(KINDS, values.mean(1), strict=True)
    ]


def draw(comparisons: Sequence[Comparison]) -> Figure:
    """For each popular cell the speeds of the originals and of both kinds of variants, joined by seed."""
    figure = Figure((10.5, 3.2), layout="constrained")
    panels = figure.subplots(1, len(BASES), sharey=True)
    columns = ["original", *(f"other {kind}" for kind in reversed(KINDS))]
    styles = line_styles(columns)
    for axes, name in zip(panels, BASES, strict=True):
        for number, comparison in enumerate(comparisons, 1):
            areas = areas_of(comparison)
            labels = [name, *(f"{name}-{kind}-{number}" for kind in reversed(KINDS))]
            heights = [100 * areas[label] for label in labels]
            axes.plot(range(len(labels)), heights, color="0.8", linewidth=1, zorder=1)
            for place, (column, height) in enumerate(zip(columns, heights, strict=True)):
                axes.plot(place, height, styles[column].marker, color=styles[column].color, zorder=2)
        axes.set(title=name, xlim=(-0.5, len(columns) - 0.5))
        axes.set_xticks(range(len(columns)), columns, fontsize=7)
    panels[0].set_ylabel(f"mean {comparisons[0].part} accuracy (%)")
    return figure
