"""Shared parts of the trainings of "Understanding": the networks of A.3, and variants from wide to narrow."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field
from scipy.stats import rankdata

from dartboard.analysis.comparison import ACCURACY, LOSS, Comparison
from dartboard.analysis.convergence import compare, make_settings
from dartboard.analysis.variants import random_connections
from dartboard.config.schema import Count, Seed
from dartboard.space import Genotype, get_published
from dartboard.space.graph import depth, width
from dartboard_papers._searches import open_executor
from dartboard_papers.base import RunOptions, Scale

BASES = {"DARTS": "darts-v2", "ENAS": "enas", "AmoebaNet": "amoebanet-a", "NASNet": "nasnet-a"}
"""Published cells of figures 5 and 9 by their names in the paper."""
DRAWN = 13
"""Number of connection variants of a cell that the paper draws (table 2)."""
NORMAL = "normal"
KEPT = (
    "The paper does not say whether reduction cells are varied too; here they are kept, and width and depth "
    "are those of the normal cell."
)


class Networks(Scale):
    """The networks and how they are trained (A.3)."""

    images: str = Field(default="cluttered-digits", description="what is told apart")
    pad: int = Field(default=1, ge=0, description="random crops of images padded with this number of zeros")
    flip: bool = Field(default=False, description="random horizontal flips")
    cells: Count = Field(default=5, description="cells in the stack")
    channels: Count = Field(default=4, description="channels of the first stage")
    batch: Count = Field(default=80, description="examples in a step")
    epochs: Count = Field(default=8, description="passes over the images")
    seeds: Count = Field(default=2, description="how often each network is trained")


class Variants(Networks):
    """The same for cells and randomly drawn variants of them."""

    draw: Seed = Field(default=0, description="where the drawing of variants starts")


FULL: dict[str, Any] = {
    "images": "cifar10",
    "pad": 4,
    "flip": True,
    "cells": 20,
    "channels": 36,
    "epochs": 600,
    "seeds": 1,
}
"""The paper's settings where they differ."""


def train(
    options: RunOptions,
    scale: Networks,
    cells: Mapping[str, Genotype],
    lrs: Sequence[float],
    more: Mapping[str, Any] | None = None,
) -> Comparison:
    """Trains the cells for comparison; finished trainings are read from the folder of the options.

    Args:
        options: Where and with what.
        scale: How large.
        cells: By label.
        lrs: Learning rates at the start.
        more: Settings of the trainings beside those of the scale.
    """
    data = {"name": options.data or scale.images, "pad": scale.pad, "flip": scale.flip}
    net = {"cells": scale.cells, "channels": scale.channels}
    settings = {"data": data, "net": net, "batch": scale.batch, "epochs": scale.epochs}
    return compare(
        cells,
        make_settings(settings, more or {}),
        options.folder / "comparison",
        lrs=lrs,
        seeds=range(scale.seeds),
        device=options.device,
        executor=open_executor(options, len(cells) * len(lrs) * scale.seeds),
        progress=options.tell,
    )


def size(options: RunOptions, scale: Networks) -> str:
    """Description of the size of the trainings."""
    images = options.data or scale.images
    return (
        f"{scale.cells} cells, {scale.channels} channels; {images}, {scale.epochs} epochs of batches of "
        f"{scale.batch}"
    )


def ladder(genotype: Genotype, count: int, draw: int) -> list[Genotype]:
    """`count` of the 13 connection variants of a draw, from the widest to the narrowest.

    They are ranked by width, of equal widths by depth, shallow ones first, and taken at even distances.
    """
    drawn = random_connections(genotype, max(DRAWN, count), seed=draw, groups=[NORMAL])
    drawn.sort(key=lambda variant: (-shape(variant)[0], shape(variant)[1]))
    return [drawn[(place + 1) * len(drawn) // count - 1] for place in range(count)]


def base(name: str) -> Genotype:
    """A cell by the paper's name."""
    return get_published(BASES[name])


def shape(genotype: Genotype) -> tuple[float, int]:
    """Width and depth of the normal cell."""
    cell = genotype.cells[NORMAL]
    return width(cell), depth(cell)


def titled(name: str, genotype: Genotype) -> str:
    """A cell as the paper writes it: its name, its width and its depth."""
    wide, deep = shape(genotype)
    return f"{name} ({wide:g}c, {deep})"


def area(comparison: Comparison, cell: str, lr: float | None = None, metric: str = LOSS) -> float:
    """Mean area of a cell; diverged trainings count as the worst possible."""
    known = comparison.area(cell, lr, metric)
    worst = 0.0 if metric == ACCURACY else math.inf
    return worst if known is None else known


def spearman(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Spearman's rank correlation with mean ranks for ties; None if all values of one side are equal."""
    if len(set(x)) < 2 or len(set(y)) < 2:
        return None
    first, second = (rankdata(values) - (len(values) + 1) / 2 for values in (x, y))
    return float(first @ second / math.sqrt((first @ first) * (second @ second)))
