"""Understanding figure 5: how much the ops of a cell matter for how fast it learns.

The paper shows that variants with other ops learn nearly as fast as the popular cells, and concludes that
connections matter more. How near is near, it does not say; so both kinds of variants are trained here.
Settled before the first training: the claim held if for more than half of the popular cells the area under
the curve of the test accuracy is changed less by other ops than by other connections, in the mean of the
absolute differences from the original of the same seed.
"""

from collections.abc import Mapping
from statistics import fmean

from matplotlib.figure import Figure
from pydantic import Field

from dartboard.analysis.comparison import ACCURACY, Comparison
from dartboard.analysis.variants import random_operations
from dartboard.config.schema import Count
from dartboard.space import Genotype
from dartboard.viz.band import Band
from dartboard.viz.line_styles import line_styles
from dartboard.viz.plots import band_note, draw_band
from dartboard_papers._understanding_training import (
    BASES,
    FULL,
    KEPT,
    NORMAL,
    Variants,
    base,
    ladder,
    size,
    train,
)
from dartboard_papers.base import ReproductionResult, Row, RunOptions, Verdict, reproduction

OPERATIONS, CONNECTIONS = "ops", "connections"
KINDS = (OPERATIONS, CONNECTIONS)
LINES = {OPERATIONS: "-", CONNECTIONS: ":"}


class Figure5(Variants):
    """How large figure 5 is."""

    epochs: Count = Field(default=5, description="passes over the images")
    seeds: Count = Field(default=1, description="how often each network is trained")
    variants: Count = Field(default=2, description="variants of each cell and each kind")
    lr: float = Field(default=0.025, gt=0, description="learning rate at the start")


def family(name: str, variants: int, draw: int) -> dict[str, Genotype]:
    """A popular cell and its variants of both kinds by label."""
    original = base(name)
    kinds = {
        OPERATIONS: random_operations(original, variants, seed=draw, groups=[NORMAL]),
        CONNECTIONS: ladder(original, variants, draw),
    }
    others = {
        f"{name}-{kind}-{n}": variant for kind, group in kinds.items() for n, variant in enumerate(group, 1)
    }
    return {name: original} | others


@reproduction(
    "understanding-figure-5",
    about="test accuracy of popular cells and of variants with other ops while they are trained",
    claim="variants with other ops learn nearly as fast as the popular cells; connections matter more",
    minutes=5,
    laptop=Figure5(),
    full=Figure5(**FULL, variants=10),
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Figure5) -> ReproductionResult:
    """Compares variants of both kinds with the original's mean accuracy over the epochs."""
    cells = {
        label: genotype
        for name in BASES
        for label, genotype in family(name, scale.variants, scale.draw).items()
    }
    comparison = train(options, scale, cells, [scale.lr])
    spreads = {name: {kind: spread(comparison, name, kind) for kind in KINDS} for name in BASES}
    fewer = [name for name, by_kind in spreads.items() if by_kind[OPERATIONS] < by_kind[CONNECTIONS]]
    means = {kind: 100 * fmean(by_kind[kind] for by_kind in spreads.values()) for kind in KINDS}
    return ReproductionResult(
        rows=_rows(spreads),
        verdict=Verdict.HELD if 2 * len(fewer) > len(BASES) else Verdict.NOT_HELD,
        sentence=f"Other ops changed the mean accuracy over the epochs by {means[OPERATIONS]:.1f} points, "
        f"other connections by {means[CONNECTIONS]:.1f}; ops mattered less for {len(fewer)} of "
        f"{len(BASES)} cells.",
        size=size(options, scale),
        seeds=scale.seeds,
        figures={"curves": draw(comparison)},
        numbers=comparison.facts(),
        remarks=[KEPT],
    )


def variants_of(comparison: Comparison, name: str, kind: str) -> list[str]:
    """The labels of a cell's variants of a kind."""
    return [label for label in comparison.cells if label.startswith(f"{name}-{kind}-")]


def spread(comparison: Comparison, name: str, kind: str) -> float:
    """The mean absolute difference of variants' areas from the original's of the same seed.

    What broke off has no accuracy, so its area is 0.
    """
    original = _areas(comparison, name)
    gaps = [
        abs(area - first)
        for label in variants_of(comparison, name, kind)
        for area, first in zip(_areas(comparison, label), original, strict=True)
    ]
    return fmean(gaps)


def _areas(comparison: Comparison, label: str) -> list[float]:
    return [area or 0.0 for area in comparison.areas(label, metric=ACCURACY)]


def _rows(spreads: Mapping[str, Mapping[str, float]]) -> list[Row]:
    words = {OPERATIONS: "ops", CONNECTIONS: "connections"}
    paper = {OPERATIONS: "nearly the same", CONNECTIONS: "more"}
    return [
        Row(
            f"{name}, other {words[kind]}: change of the mean test accuracy (points)",
            paper[kind],
            100 * by_kind[kind],
        )
        for name, by_kind in spreads.items()
        for kind in KINDS
    ]


def _percent(comparison: Comparison, label: str) -> Band:
    return comparison.band(label, metric=ACCURACY).scaled(100.0)


def draw(comparison: Comparison) -> Figure:
    """A panel for each popular cell: the original, other ops and other connections."""
    figure = Figure((10.5, 3.2), layout="constrained")
    panels = figure.subplots(1, len(BASES), sharey=True)
    styles = line_styles(KINDS)
    for axes, name in zip(panels, BASES, strict=True):
        axes.set(title=name, xlabel="epoch")
        for kind in KINDS:
            for index, label in enumerate(variants_of(comparison, name, kind)):
                words = f"other {kind}" if not index else "_"
                draw_band(
                    axes,
                    _percent(comparison, label),
                    styles[kind].color,
                    words,
                    linestyle=LINES[kind],
                    linewidth=1.4,
                )
        draw_band(axes, _percent(comparison, name), "black", "original", linestyle="--", linewidth=1.4)
    panels[0].set_ylabel(f"{comparison.part} accuracy (%)")
    note = band_note(_percent(comparison, label) for label in comparison.cells)
    panels[-1].legend(fontsize="small", frameon=False, title=note, title_fontsize="small")
    return figure
