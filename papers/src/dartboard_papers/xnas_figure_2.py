"""XNAS figure 2: weight decay on architecture parameters makes what DARTS finds denser.

DARTS' supernet is searched with several weight decays of the architecture parameters (Adam adds the decay to
the gradient, as DARTS has it), and equation 55 is measured at the end of each search: the mean entropy of the
edges of the normal cell, each divided by ln N. A laptop takes few steps, and the learning rate of the
architecture is larger in the same proportion, so that logits can go as far as in the paper: DARTS' 3e-4 for
about 19,500 steps is 0.02 for about 260. The decay stays as it is: where it balances the gradient does not
depend on the rate. The paper gives neither the decays of its figure nor a number of searches: at its size too
they are ours, and the rest is DARTS' search.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, TypeVar

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field
from scipy.stats import rankdata

from dartboard.analysis.trajectory import read_trajectory
from dartboard.config.schema import Count
from dartboard.runs import Run
from dartboard.search.config import SearchConfig
from dartboard.utils.statistics import Floats
from dartboard_papers._searches import configure, searches
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, Scale, reproduction
from dartboard_papers.chance import chance_within

DARTS = 1e-3
"""DARTS' own weight decay, the red dot."""
LEAST = 0.7
"""The rank correlation from which on entropy is said to rise."""
RISES = "entropy rises with weight decay"
REMARKS = (
    "the paper gives its figure alone, without numbers, range of decays or repetitions",
    "the decays and the number of searches are therefore ours, those of `--full` too",
)
T = TypeVar("T")
Decay = Annotated[float, Field(ge=0)]
Entropies = Mapping[float, Sequence[float]]
"""Equation 55 for each seed, by weight decay."""


class Decays(Scale):
    """How large the searches are."""

    decays: tuple[Decay, ...] = Field(
        default=(0.0, 1e-4, DARTS, 1e-2, 1e-1), min_length=2, description="weight decays of the architecture"
    )
    seeds: Count = Field(default=5, description="searches with each")
    images: str = Field(default="cluttered-digits", description="what is told apart")
    searched: str = Field(default="nano", description="the space")
    cells: Count | None = Field(default=None, description="cells in the stack; by default the space's own")
    channels: Count = Field(default=4, description="channels of the first stage")
    epochs: Count = Field(default=8, description="passes over the training images")
    batch: Count = Field(default=64, description="examples in a step")
    rate: float = Field(default=0.02, gt=0, description="learning rate of the architecture")
    pad: int = Field(default=0, ge=0, description="zeros around images, of which crops are taken")
    flip: bool = Field(default=False, description="flip images at random")


PAPER = Decays(
    searched="darts", cells=8, channels=16, epochs=50, rate=3e-4, images="cifar10", pad=4, flip=True, seeds=5,
    decays=(0.0, 1e-4, 3e-4, DARTS, 3e-3, 1e-2),
)  # fmt: skip
"""DARTS' search; the decays and the number of searches are ours, as the paper gives none."""


def plan(scale: Decays, data: str | None) -> dict[str, SearchConfig]:
    """All searches, by label."""
    return {
        f"{decay:g}-s{seed}": configure(
            {
                "space": {"name": scale.searched, "cells": scale.cells},
                "method": {"name": "darts", "lr": scale.rate, "weight_decay": decay},
                "data": {"name": data or scale.images, "pad": scale.pad, "flip": scale.flip},
                "net": {"channels": scale.channels},
                "epochs": scale.epochs,
                "batch": scale.batch,
                "seed": seed,
                "health": {"examples": 256},
            }
        )
        for decay in scale.decays
        for seed in range(scale.seeds)
    }


def final_entropy(run: Run) -> float:
    """Equation 55 at the end of a search, of the normal cell."""
    return normal(read_trajectory(run).points[-1].cells).normalized


def normal(cells: Mapping[str, T]) -> T:
    """Value of the normal cell, or of the first cell if none has that name."""
    return cells["normal"] if "normal" in cells else next(iter(cells.values()))


def correlation(decays: Sequence[float], entropies: Floats) -> float:
    """Spearman's rank correlation of decays and entropies [decays, seeds], over all searches."""
    if (entropies == entropies[0, 0]).all():
        return 0.0
    ranks = (rankdata(values) for values in (np.repeat(decays, entropies.shape[1]), entropies.ravel()))
    return float(np.corrcoef(*ranks)[0, 1])


def rises(decays: Sequence[float], entropies: Floats) -> bool:
    """Whether entropies [decays, seeds] rise with the decays, as the rule says."""
    means = entropies.mean(1)
    most, least = np.argmax(decays), np.argmin(decays)
    return correlation(decays, entropies) >= LEAST and bool(means[most] > means[least])


@reproduction(
    "xnas-figure-2",
    about="mean normalized entropy against the weight decay of architecture parameters",
    claim="the mean normalized entropy at the end of a search increases with the weight decay coefficient",
    rules={
        RISES: f"Spearman's rank correlation of decay and entropy over all searches is at least {LEAST}, and "
        "the mean entropy is larger with the largest decay than with the smallest"
    },
    setup="the nano space on 4,096 small images instead of DARTS' on CIFAR-10, and a rate of the "
    "architecture that is larger in the proportion of steps",
    minutes=5,
    laptop=Decays(),
    full=PAPER,
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Decays) -> ReproductionResult:
    """Searches with each decay, and measures equation 55 at the end."""
    runs = searches(plan(scale, options.data), options)
    entropies = {
        decay: [final_entropy(runs[f"{decay:g}-s{seed}"]) for seed in range(scale.seeds)]
        for decay in scale.decays
    }
    words = (
        f"{scale.searched}, {scale.channels} channels, {options.data or scale.images}, {scale.epochs} "
        f"epochs, batches of {scale.batch}, Adam at {scale.rate:g}"
    )
    return judge(entropies, words)


def judge(entropies: Entropies, size: str) -> ReproductionResult:
    """Result from the entropies."""
    decays, values = list(entropies), np.array(list(entropies.values()))
    rank, chance = correlation(decays, values), chance_within(partial(rises, decays), values)
    none, most = np.mean(entropies[min(decays)]), np.mean(entropies[max(decays)])
    observed = f"a rank correlation of {rank:.2f}, and {most:.4f} against {none:.4f}"
    return ReproductionResult(
        rows=[
            *(
                Row(
                    f"weight decay {decay:g}{' (DARTS)' if decay == DARTS else ''}",
                    None,
                    f"{np.mean(seeds):.4f} ({', '.join(f'{entropy:.4f}' for entropy in sorted(seeds))})",
                )
                for decay, seeds in entropies.items()
            ),
            Row("rank correlation of decay and entropy", "rises", rank),
        ],
        parts={RISES: PartResult(rises(decays, values), observed, chance)},
        sentence=(
            f"the rank correlation of decay and entropy was {rank:.2f}; the entropy was {none:.4f} with a "
            f"decay of {min(entropies):g} and {most:.4f} with {max(entropies):g}"
        ),
        size=size,
        seeds=min(map(len, entropies.values())),
        figures={"entropy": draw(entropies)},
        numbers={
            "entropy": {f"{decay:g}": seeds for decay, seeds in entropies.items()},
            "rank correlation": rank,
        },
        remarks=REMARKS,
    )


def draw(entropies: Entropies) -> Figure:
    """Entropy against decay: a dot for each search, a line through the means, DARTS' own decay in red."""
    figure = Figure((6, 3.8), layout="constrained")
    axes = figure.add_subplot(xlabel="weight decay of the architecture", ylabel="mean normalized entropy")
    decays = sorted(entropies)
    smallest = min((decay for decay in decays if decay > 0), default=1.0)
    for decay in decays:
        axes.plot(
            [decay] * len(entropies[decay]), entropies[decay], "o", color="#0072B2", alpha=0.35, markersize=4
        )
    axes.plot(
        decays, [np.mean(entropies[decay]) for decay in decays], "-", color="#0072B2", label="mean of seeds"
    )
    if DARTS in entropies:
        axes.plot(
            [DARTS], [np.mean(entropies[DARTS])], "o", color="red", markersize=8, label="DARTS' setting"
        )
    axes.set_xscale("symlog", linthresh=smallest, linscale=0.5)
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    axes.legend()
    return figure
