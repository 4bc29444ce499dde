"""ASM-NAS figure 4: what the attention of each cell prefers, from the first cell to the last.

The paper shows the attention coefficients of the 15 cells of its searched network and reads from them that
shallow cells (a to c) prefer separable convolutions of 3x3, middle and deeper ones (f to l) convolutions of
5x5, and the last ones (n, o) pooling. Here attention is the mean over held-out images with all edges mixed,
and the stack is cut into thirds.

The test, fixed before any search was done: in each third, over all edges and seeds, the ops that the paper
names for it are the strongest of an edge more often than by chance (1 in 8 for one op, 2 in 8 for a pair),
and more often than in the other two thirds.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field

from dartboard.analysis.attention import AttentionMap, attention, plot_attention
from dartboard.config.schema import Count
from dartboard.space.catalog import DARTS_OPS, POOLS
from dartboard.viz.line_styles import line_styles
from dartboard_papers._asm import SmallSearch, settings, size, space_file
from dartboard_papers._searches import configure, searches
from dartboard_papers.base import ReproductionResult, Row, RunOptions, Verdict, reproduction

PREFERRED = {"first": ("sep_conv_3x3",), "middle": ("sep_conv_5x5", "dil_conv_5x5"), "last": POOLS}
"""By third of the stack, what the paper says that it prefers."""
NAMES = {"first": "sep_conv_3x3", "middle": "convolutions of 5x5", "last": "pooling"}
"""The same in words."""
REMARKS = (
    "the picture of attention is that of the first seed; the preferences are those of all",
    "attention is a softmax of sigmoids (4.4, 4.5): with 8 ops no weight can be below 0.05 or above 0.28",
    "it is computed from means of outputs (4.3), which are zero over a batch for ops with a batch-norm",
)
Shares = Mapping[str, Mapping[str, float]]
"""By third, the share of edges whose strongest op is one that the paper names for a third."""


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
    seeds=1,
    pad=4,
    flip=True,
    images="cifar10",
)


def third(cell: int, cells: int) -> str:
    """Where a cell stands, counted from 1."""
    return tuple(PREFERRED)[(cell - 1) * len(PREFERRED) // cells]


def shares(found: Sequence[Sequence[AttentionMap]]) -> dict[str, dict[str, float]]:
    """The share of edges whose strongest op is one that the paper names for a third, in each third.

    Args:
        found: The maps of each search.
    """
    counts = {own: dict.fromkeys(DARTS_OPS, 0) for own in PREFERRED}
    for maps in found:
        for own in maps:
            for op, count in own.strongest.items():
                counts[third(own.cells[0], len(maps))][op] += count
    return {
        place: {kind: sum(each[op] for op in PREFERRED[kind]) / sum(each.values()) for kind in PREFERRED}
        for place, each in counts.items()
    }


def prefers(found: Shares, place: str) -> bool:
    """Whether a third prefers what the paper says: more often than by chance, and than the others do."""
    own, others = found[place][place], [found[each][place] for each in found if each != place]
    return own > len(PREFERRED[place]) / len(DARTS_OPS) and own > max(others)


@reproduction(
    "asm-nas-figure-4",
    about="attention coefficients of each cell",
    claim="shallow cells prefer separable convolutions of 3x3, middle cells convolutions of 5x5, and the "
    "deepest cells pooling",
    minutes=5,
    laptop=Attention(),
    full=PAPER,
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Attention) -> ReproductionResult:
    """Searches with attention, and what their cells attend to."""
    space = space_file(options.folder, scale.cells)
    configs = {
        f"asm-s{seed}": configure(settings(scale, space, options.data, seed), {"method": "asm"})
        for seed in range(scale.seeds)
    }
    found = [attention(run, options.device) for run in searches(configs, options).values()]
    return judge(found, size(scale, options.data))


def judge(found: Sequence[Sequence[AttentionMap]], size: str) -> ReproductionResult:
    """What the maps of all seeds come to."""
    told = shares(found)
    right = [place for place in PREFERRED if prefers(told, place)]
    low, high = span(found)
    return ReproductionResult(
        rows=[*_rows(told), Row("attention, from the least to the most", None, f"{low:.4f} to {high:.4f}")],
        verdict=Verdict.HELD if len(right) == len(PREFERRED) else Verdict.NOT_HELD,
        sentence=(
            f"{len(right)} of {len(PREFERRED)} thirds of the stack preferred the ops that the paper names "
            f"({', '.join(right) or 'none'}); attention went from {low:.4f} to {high:.4f}, and equal weights "
            f"are {1 / len(DARTS_OPS):.4f}"
        ),
        size=size,
        seeds=len(found),
        figures={"attention": plot_attention(found[0]), "preferences": draw(told)},
        numbers={"shares": told, "maps": [[own.facts() for own in maps] for maps in found]},
        remarks=REMARKS,
    )


def span(found: Sequence[Sequence[AttentionMap]]) -> tuple[float, float]:
    """The least and the most attention anywhere."""
    every = np.concatenate([own.weights.ravel() for maps in found for own in maps])
    return float(every.min()), float(every.max())


def _rows(told: Shares) -> list[Row]:
    return [
        Row(
            f"{place} third: share of edges whose strongest op is {NAMES[place]}",
            "preferred",
            f"{own[place]:.1%} (by chance {len(PREFERRED[place]) / len(DARTS_OPS):.1%})",
        )
        for place, own in told.items()
    ]


def draw(told: Shares) -> Figure:
    """For each third, how often the ops named for each third are the strongest; ticks show chance."""
    figure = Figure((6.5, 3.4), layout="constrained")
    axes = figure.add_subplot(ylabel="share of edges")
    look, width = line_styles(PREFERRED), 0.26
    for shift, (kind, ops) in enumerate(PREFERRED.items()):
        places = np.arange(len(told)) + (shift - 1) * width
        axes.bar(
            places, [own[kind] for own in told.values()], width, color=look[kind].color, label=NAMES[kind]
        )
        chance = len(ops) / len(DARTS_OPS)
        axes.hlines([chance] * len(told), places - width / 2, places + width / 2, color="black", lw=1.5)
    axes.set_xticks(range(len(told)), [f"{place} third" for place in told])
    axes.legend(fontsize="small", title="the paper's, from first to last")
    return figure
