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
from dartboard_papers._amended import keep_space
from dartboard_papers._asm import SmallSearch, asm_space, settings, size
from dartboard_papers._searches import configure, searches
from dartboard_papers.base import ReproductionResult, Row, RunOptions, Verdict, reproduction

PREFERRED = {"first": ("sep_conv_3x3",), "middle": ("sep_conv_5x5", "dil_conv_5x5"), "last": POOLS}
"""Ops that the paper says are preferred, by third of the stack."""
NAMES = {"first": "sep_conv_3x3", "middle": "convolutions of 5x5", "last": "pooling"}
"""The same as text."""
REMARKS = (
    "the picture of attention is that of the first seed; the preferences are those of all",
    "attention is a softmax of sigmoids (4.4, 4.5): with 8 ops no weight can be below 0.05 or above 0.28",
    "it is computed from means of outputs (4.3), which are zero over a batch for ops with a batch-norm",
)
Shares = Mapping[str, Mapping[str, float]]
"""By third, the fraction of edges whose strongest op is one that the paper names for a third."""


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
    """The third of the stack that a cell is in; cells are counted from 1."""
    return tuple(PREFERRED)[(cell - 1) * len(PREFERRED) // cells]


def shares(searches: Sequence[Sequence[AttentionMap]]) -> dict[str, dict[str, float]]:
    """Fraction of edges whose strongest op is one that the paper names for a third, in each third.

    Args:
        searches: The maps of each search.
    """
    counts = {part: dict.fromkeys(DARTS_OPS, 0) for part in PREFERRED}
    for maps in searches:
        for attention_map in maps:
            for op, count in attention_map.strongest.items():
                counts[third(attention_map.cells[0], len(maps))][op] += count
    return {
        part: {
            kind: sum(op_counts[op] for op in PREFERRED[kind]) / sum(op_counts.values()) for kind in PREFERRED
        }
        for part, op_counts in counts.items()
    }


def prefers(fractions: Shares, part: str) -> bool:
    """True if a third prefers what the paper says: more often than by chance, and than the others do."""
    fraction, elsewhere = fractions[part][part], [fractions[name][part] for name in fractions if name != part]
    return fraction > len(PREFERRED[part]) / len(DARTS_OPS) and fraction > max(elsewhere)


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
    right = [part for part in PREFERRED if prefers(fractions, part)]
    weights = np.concatenate([attention_map.weights.ravel() for search in maps for attention_map in search])
    low, high = float(weights.min()), float(weights.max())
    return ReproductionResult(
        rows=[
            *(
                Row(
                    f"{part} third: share of edges whose strongest op is {NAMES[part]}",
                    "preferred",
                    f"{by_kind[part]:.1%} (by chance {len(PREFERRED[part]) / len(DARTS_OPS):.1%})",
                )
                for part, by_kind in fractions.items()
            ),
            Row("attention, from the least to the most", None, f"{low:.4f} to {high:.4f}"),
        ],
        verdict=Verdict.HELD if len(right) == len(PREFERRED) else Verdict.NOT_HELD,
        sentence=(
            f"{len(right)} of {len(PREFERRED)} thirds of the stack preferred the ops that the paper names "
            f"({', '.join(right) or 'none'}); attention went from {low:.4f} to {high:.4f}, and equal weights "
            f"are {1 / len(DARTS_OPS):.4f}"
        ),
        size=size,
        seeds=len(maps),
        figures={"attention": plot_attention(maps[0]), "preferences": draw(fractions)},
        numbers={
            "shares": fractions,
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
            [by_kind[kind] for by_kind in fractions.values()],
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
