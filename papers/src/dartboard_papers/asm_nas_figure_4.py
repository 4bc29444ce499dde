"""ASM-NAS figure 4: what the attention of each cell prefers, from the first cell to the last.

The paper shows the attention coefficients of the 15 cells of its searched network and reads from them that
shallow cells (a to c) prefer separable convolutions of 3x3, middle and deeper ones (f to l) convolutions of
5x5, and the last ones (n, o) pooling. Here attention is the mean over held-out images with all edges mixed,
and the stack is cut into thirds.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field

from dartboard.analysis.attention import AttentionMap, attention, plot_attention
from dartboard.config.schema import Count
from dartboard.space.catalog import DARTS_OPS, POOLS
from dartboard.utils.statistics import Floats
from dartboard.viz.line_styles import line_styles
from dartboard_papers._amended import keep_space
from dartboard_papers._asm import SmallSearch, asm_space, settings, size
from dartboard_papers._searches import configure, searches
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, reproduction
from dartboard_papers.chance import chance_within

PREFERRED = {"first": ("sep_conv_3x3",), "middle": ("sep_conv_5x5", "dil_conv_5x5"), "last": POOLS}
"""Ops that the paper says are preferred, by third of the stack."""
NAMES = {"first": "sep_conv_3x3", "middle": "convolutions of 5x5", "last": "pooling"}
"""The same as text."""
PARTS = {part: f"{NAMES[part]} in the {part} third" for part in PREFERRED}
RULES = {
    PARTS[part]: f"over all edges and seeds {NAMES[part]} is the strongest more often than by chance "
    f"({len(ops)} in {len(DARTS_OPS)}), and more often than in both other thirds"
    for part, ops in PREFERRED.items()
}
REMARKS = (
    "the picture of attention is that of the first seed; the preferences are those of all",
    "attention is a softmax of sigmoids (4.4, 4.5): with 8 ops no weight can be below 0.05 or above 0.28",
    "it is computed from means of outputs (4.3), which are zero over a batch for ops with a batch-norm",
)
Shares = Mapping[str, Floats]
"""By kind of ops, named after a third, the fraction of edges in which one is the strongest [cells, seeds]."""


class Attention(SmallSearch):
    """How large the searches are."""

    cells: Count = Field(default=6, ge=3, description="cells in the stack, none of which share anything")


PAPER = Attention(
    cells=15,
    channels=16,
    epochs=30,
    batch=64,
    lr=0.025,
    examples=25_000,
    seeds=5,
    pad=4,
    flip=True,
    images="cifar10",
)


def thirds(cells: int) -> dict[str, slice]:
    """The cells of each third of the stack."""
    ends = [-(-place * cells // len(PREFERRED)) for place in range(len(PREFERRED) + 1)]
    return {part: slice(*pair) for part, pair in zip(PREFERRED, pairwise(ends), strict=True)}


def shares(searches: Sequence[Sequence[AttentionMap]]) -> dict[str, Floats]:
    """Fraction of edges whose strongest op is one that the paper names for a third, of each cell and seed.

    Args:
        searches: The maps of each search.
    """
    fractions = {part: np.zeros((len(searches[0]), len(searches))) for part in PREFERRED}
    for seed, maps in enumerate(searches):
        for attention_map in maps:
            strongest = attention_map.strongest
            for part, ops in PREFERRED.items():
                share = sum(strongest.get(op, 0) for op in ops) / sum(strongest.values())
                fractions[part][attention_map.cells[0] - 1, seed] = share
    return fractions


def by_third(values: Floats) -> dict[str, float]:
    """Means of the thirds of values [cells, seeds]."""
    return {part: float(values[cells].mean()) for part, cells in thirds(len(values)).items()}


def prefers(part: str, values: Floats) -> bool:
    """Whether the ops named for a third have a larger share there than by chance and than in the others."""
    means = by_third(values)
    elsewhere = max(mean for name, mean in means.items() if name != part)
    return means[part] > max(elsewhere, len(PREFERRED[part]) / len(DARTS_OPS))


@reproduction(
    "asm-nas-figure-4",
    about="attention coefficients of each cell",
    claim="shallow cells prefer separable convolutions of 3x3, middle cells convolutions of 5x5, and the "
    "deepest cells pooling",
    rules=RULES,
    setup="6 cells of 4 channels on 1,500 digits for 6 epochs, instead of 15 cells of 16 channels on "
    "CIFAR-10 for 30; half of the images are held out",
    minutes=5,
    laptop=Attention(),
    full=PAPER,
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Attention) -> ReproductionResult:
    """Searches with attention, and reads the attention of their cells."""
    space = keep_space(asm_space(scale.cells), options.folder)
    configs = {
        f"asm-s{seed}": configure(settings(scale, space, options.data, seed), {"method": "asm"})
        for seed in range(scale.seeds)
    }
    maps = [attention(run, options.device) for run in searches(configs, options).values()]
    return judge(maps, size(scale, options.data))


def judge(maps: Sequence[Sequence[AttentionMap]], size: str) -> ReproductionResult:
    """Result from the maps of all seeds."""
    fractions = shares(maps)
    parts = {}
    for part, values in fractions.items():
        means, chance = by_third(values), chance_within(partial(prefers, part), values)
        observed = ", ".join(f"{mean:.1%} in the {name}" for name, mean in means.items())
        parts[PARTS[part]] = PartResult(prefers(part, values), observed, chance)
    right = [part for part in PREFERRED if parts[PARTS[part]].held]
    weights = np.concatenate([attention_map.weights.ravel() for search in maps for attention_map in search])
    low, high = float(weights.min()), float(weights.max())
    return ReproductionResult(
        rows=[
            *(
                Row(
                    f"{part} third: share of edges whose strongest op is {NAMES[part]}",
                    "preferred",
                    f"{by_third(values)[part]:.1%} (by chance {len(PREFERRED[part]) / len(DARTS_OPS):.1%})",
                )
                for part, values in fractions.items()
            ),
            Row("attention, from the least to the most", None, f"{low:.4f} to {high:.4f}"),
        ],
        parts=parts,
        sentence=(
            f"{len(right)} of {len(PREFERRED)} thirds of the stack preferred the ops that the paper names "
            f"({', '.join(right) or 'none'}); attention went from {low:.4f} to {high:.4f}, and equal weights "
            f"are {1 / len(DARTS_OPS):.4f}"
        ),
        size=size,
        seeds=len(maps),
        figures={"attention": plot_attention(maps[0]), "preferences": draw(fractions)},
        numbers={
            "shares": {kind: by_third(values) for kind, values in fractions.items()},
            "maps": [[attention_map.facts() for attention_map in search] for search in maps],
        },
        remarks=REMARKS,
    )


def draw(fractions: Shares) -> Figure:
    """For each third, how often the ops named for each third are the strongest; ticks show chance."""
    figure = Figure((6.5, 3.4), layout="constrained")
    axes = figure.add_subplot(ylabel="share of edges")
    styles, width = line_styles(PREFERRED), 0.26
    for shift, (kind, ops) in enumerate(PREFERRED.items()):
        positions = np.arange(len(fractions)) + (shift - 1) * width
        axes.bar(
            positions,
            list(by_third(fractions[kind]).values()),
            width,
            color=styles[kind].color,
            label=NAMES[kind],
        )
        expected = len(ops) / len(DARTS_OPS)
        axes.hlines(
            [expected] * len(fractions), positions - width / 2, positions + width / 2, color="black", lw=1.5
        )
    axes.set_xticks(range(len(fractions)), [f"{part} third" for part in fractions])
    axes.legend(fontsize="small", title="the paper's, from first to last")
    return figure
