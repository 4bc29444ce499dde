"""What the trainings of understanding-cells share: the networks of A.3, and variants from wide to narrow."""

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
from dartboard_papers._jobs import open_executor
from dartboard_papers.base import RunOptions, Scale

BASES = {"DARTS": "darts-v2", "ENAS": "enas", "AmoebaNet": "amoebanet-a", "NASNet": "nasnet-a"}
"""The paper's names of the cells of figures 5 and 9, and ours."""
DRAWN = 13
"""So many connection variants of a cell the paper draws (table 2)."""
NORMAL = "normal"
KEPT = (
    "The paper does not say whether reduction cells are varied too; here they are kept, and width and depth "
    "are those of the normal cell."
)


class Networks(Scale):
    """The networks and how they are trained (A.3)."""

    images: str = Field(default="cluttered-digits", description="what is told apart")
    pad: int = Field(default=1, ge=0, description="random crops of images with so many zeros around them")
    flip: bool = Field(default=False, description="random horizontal flips")
    cells: Count = Field(default=5, description="cells in the stack")
    channels: Count = Field(default=4, description="channels of the first stage")
    batch: Count = Field(default=80, description="examples in a step")
    epochs: Count = Field(default=8, description="passes over the images")
    seeds: Count = Field(default=2, description="how often each network is trained")


class Variants(Networks):
    """The same for cells and variants of them, which are drawn."""

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
"""The paper's own numbers where they are others."""


def train(
    options: RunOptions,
    scale: Networks,
    cells: Mapping[str, Genotype],
    lrs: Sequence[float],
    more: Mapping[str, Any] | None = None,
) -> Comparison:
    """The cells trained side by side; what is finished is in the setting's folder.

    Args:
        options: Where and with what.
        scale: How large.
        cells: By label.
        lrs: Learning rates at the start.
        more: Settings of the trainings beside those of the scale.
    """
    data = {"name": options.data or scale.images, "pad": scale.pad, "flip": scale.flip}
    net = {"cells": scale.cells, "channels": scale.channels}
    own = {"data": data, "net": net, "batch": scale.batch, "epochs": scale.epochs}
    return compare(
        cells,
        make_settings(own, more or {}),
        options.folder / "comparison",
        lrs=lrs,
        seeds=range(scale.seeds),
        device=options.device,
        executor=open_executor(options, len(cells) * len(lrs) * scale.seeds),
        progress=options.tell,
    )


def size(options: RunOptions, scale: Networks) -> str:
    """How large the trainings are, in words."""
    images = options.data or scale.images
    return (
        f"{scale.cells} cells, {scale.channels} channels; {images}, {scale.epochs} epochs of batches of "
        f"{scale.batch}"
    )


def ladder(genotype: Genotype, count: int, draw: int) -> list[Genotype]:
    """Of the 13 connection variants of a draw as many as asked for, the widest first and the narrowest last.

    They are ranked by width, of equal widths by depth, shallow ones first, and taken at even distances.
    """
    drawn = random_connections(genotype, max(DRAWN, count), seed=draw, archs=[NORMAL])
    drawn.sort(key=lambda own: (-shape(own)[0], shape(own)[1]))
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


def area(found: Comparison, cell: str, lr: float | None = None, metric: str = LOSS) -> float:
    """The mean area of a cell; what broke off is as bad as can be."""
    known = found.area(cell, lr, metric)
    worst = 0.0 if metric == ACCURACY else math.inf
    return worst if known is None else known


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's rank correlation, equal values with their mean rank; None where one side is all equal."""
    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    first, second = (rankdata(values) - (len(values) + 1) / 2 for values in (one, other))
    return float(first @ second / math.sqrt((first @ first) * (second @ second)))
