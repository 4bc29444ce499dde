"""Understanding figure 9: what popular cells and their randomly connected variants come to.

Settled before the first training: the claim held if for more than half of the popular cells some variant has
a higher test accuracy at the end than the original, and for more than half the original is at least as good
as the median of its variants. The first part says little: were all cells equally good and only chance made a
difference, one of n variants would beat the original with probability n / (n + 1). That no variant of
AmoebaNet's is better, which the paper says besides, is reported and not judged. At the scale of a laptop the
learning rate is four times the paper's, so that networks come further in few epochs.
"""

from statistics import fmean, median

from matplotlib.figure import Figure
from pydantic import Field

from dartboard.analysis.comparison import ACCURACY
from dartboard.config.schema import Count
from dartboard.space import Genotype
from dartboard.viz.line_styles import line_styles
from dartboard_papers._understanding_training import (
    BASES,
    DRAWN,
    FULL,
    KEPT,
    Variants,
    base,
    ladder,
    shape,
    size,
    spearman,
    train,
)
from dartboard_papers.base import ReproductionResult, Row, RunOptions, Verdict, reproduction

PAPER = {"DARTS": "yes", "ENAS": "yes", "AmoebaNet": "no", "NASNet": "yes"}
"""Whether some variant is better, by the text of section 5."""
EXCEPTION = "AmoebaNet"


class Figure9(Variants):
    """How large figure 9 is."""

    seeds: Count = Field(default=1, description="how often each network is trained")
    variants: Count = Field(default=3, description="randomly connected variants of each cell")
    lr: float = Field(default=0.1, gt=0, description="learning rate at the start")


def family(name: str, variants: int, draw: int) -> dict[str, Genotype]:
    """A popular cell and its variants by label, from wide to narrow."""
    original = base(name)
    others = ladder(original, variants, draw)
    return {name: original} | {f"{name}-{index}": variant for index, variant in enumerate(others, 1)}


@reproduction(
    "understanding-figure-9",
    about="test accuracy at the end of training: popular cells and their randomly connected variants",
    claim="popular cells are as accurate as most of their variants, but some variants are better",
    minutes=5,
    laptop=Figure9(),
    full=Figure9(**FULL, variants=DRAWN, lr=0.025),
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Figure9) -> ReproductionResult:
    """Accuracies at the end, of the original and of its variants from wide to narrow."""
    families = {name: family(name, scale.variants, scale.draw) for name in BASES}
    cells = {
        label: genotype for family_cells in families.values() for label, genotype in family_cells.items()
    }
    comparison = train(options, scale, cells, [scale.lr])
    ends = {
        name: [  # mean final accuracies in percent; diverged trainings count as 0
            100 * fmean(training.final(ACCURACY) or 0.0 for training in comparison.of(label))
            for label in family_cells
        ]
        for name, family_cells in families.items()
    }
    beaten = [name for name, (original, *others) in ends.items() if max(others) > original]
    fair = [name for name, (original, *others) in ends.items() if original >= median(others)]
    variants, here = scale.variants, "some was" if EXCEPTION in beaten else "none was"
    by_chance = (
        f"Were all cells equally good, some of {variants} variants would beat the original by chance alone "
        f"with probability {variants / (variants + 1):.2f}."
    )
    held = 2 * len(beaten) > len(BASES) and 2 * len(fair) > len(BASES)
    return ReproductionResult(
        rows=_rows(ends, families),
        verdict=Verdict.HELD if held else Verdict.NOT_HELD,
        sentence=f"Some variant was better than the original for {len(beaten)} of {len(BASES)} cells, and "
        f"the original was at least as good as the median of its variants for {len(fair)}.",
        size=size(options, scale),
        seeds=scale.seeds,
        figures={"accuracy": draw(ends, comparison.part)},
        numbers=comparison.facts() | {"ends": ends},
        remarks=[
            KEPT,
            by_chance,
            f"That no variant of {EXCEPTION}'s is better in the paper is not judged; here {here}.",
        ],
    )


def _rows(ends: dict[str, list[float]], families: dict[str, dict[str, Genotype]]) -> list[Row]:
    rows = []
    for name, (original, *others) in ends.items():
        trend = spearman([shape(cell)[0] for cell in families[name].values()], ends[name])
        rows += [
            Row(f"{name}, test accuracy (%)", None, original),
            Row(f"{name}, best variant (%)", None, max(others)),
            Row(f"{name}, median variant (%)", None, median(others)),
            Row(f"{name}, is some variant better?", PAPER[name], "yes" if max(others) > original else "no"),
            Row(f"{name}, Spearman's correlation of width and accuracy", None, trend),
        ]
    return rows


def draw(ends: dict[str, list[float]], part: str) -> Figure:
    """A panel for each popular cell: index 0 is the original, and the dashed line its accuracy."""
    figure = Figure((10.5, 3.0), layout="constrained")
    panels = figure.subplots(1, len(ends), sharey=True)
    for axes, (name, style) in zip(panels, line_styles(ends).items(), strict=True):
        accuracies = ends[name]
        axes.plot(range(len(accuracies)), accuracies, style.marker, color=style.color)
        axes.axhline(accuracies[0], color=style.color, linestyle="--", linewidth=1)
        axes.set(title=name, xlabel="original, then from wide to narrow", xticks=range(len(accuracies)))
    panels[0].set_ylabel(f"{part} accuracy (%)")
    return figure
