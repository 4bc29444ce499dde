"""Shared parts of the trainings of "Understanding": the networks of A.3, and how cells in an order are
judged."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from pydantic import Field
from scipy.stats import rankdata

from dartboard.analysis.comparison import ACCURACY, LOSS, Comparison
from dartboard.analysis.convergence import compare, make_settings
from dartboard.config.schema import Count
from dartboard.errors import OptionError
from dartboard.space import Genotype, get_published
from dartboard.space.graph import depth, width
from dartboard.utils.statistics import Floats, mean_interval
from dartboard_papers._searches import open_executor
from dartboard_papers._understanding_variants import COUNT, connection_variant
from dartboard_papers.base import LEVEL, PartResult, RunOptions, Scale
from dartboard_papers.chance import p_across, p_within
from dartboard_papers.formatting import format_p

BASES = {"DARTS": "darts-v2", "ENAS": "enas", "AmoebaNet": "amoebanet-a", "NASNet": "nasnet-a"}
"""Published cells of figures 5 and 9 by their names in the paper."""
NORMAL = "normal"
ORIGINAL = "darts"
CONVERGED = 100
"""Epochs from which a training counts as one to convergence; the paper's have 600."""
FIRST_LATE = (
    "Whether the original is first was to be judged by the size of its lead, until made-up values showed "
    "that this "
    "fails where a variant is far behind; figures 3 and 6 had been run, with the same verdicts by both rules."
)
OWN_VARIANTS = (
    "The variants are those that the authors drew, of normal and reduction cells both; width and depth are "
    "of the normal cell."
)
FIRST_RULE = (
    "no variant has a better mean over seeds, and it is first in so many seeds that p is at most "
    f"{LEVEL} where cells trade places within each seed"
)
ORDER_RULE = (
    f"p is at most {LEVEL} for the Spearman correlation of the order from wide and shallow to narrow and "
    "deep with the means over seeds, by all orders of the cells"
)


class Networks(Scale):
    """The networks and how they are trained (A.3)."""

    images: str = Field(default="cluttered-digits", description="images, unless --data names others")
    size: Count | None = Field(default=None, description="height and width that images are resized to")
    pad: int = Field(default=1, ge=0, description="random crops of images padded with this number of zeros")
    flip: bool = Field(default=False, description="random horizontal flips")
    cells: Count = Field(default=5, description="cells in the stack")
    channels: Count = Field(default=4, description="channels of the first stage")
    batch: Count = Field(default=80, description="examples in a step")
    epochs: Count = Field(default=8, description="passes over the images")
    seeds: int = Field(default=5, ge=5, le=1000, description="how often each network is trained")


class SmallCifar(Networks):
    """Networks for which wide cells were seen to learn faster, with another seed (figure 3)."""

    images: str = Field(default="", description="images, if --data names none")
    size: Count | None = Field(default=16, description="height and width that images are resized to")
    pad: int = Field(default=2, ge=0, description="random crops of images padded with this number of zeros")
    flip: bool = Field(default=True, description="random horizontal flips")
    cells: Count = Field(default=8, description="cells in the stack")
    channels: Count = Field(default=8, description="channels of the first stage")
    epochs: Count = Field(default=2, description="passes over the images")

    @property
    def needs_inputs(self) -> bool:
        """True if the scale names no images."""
        return not self.images


def check_images(options: RunOptions, scale: SmallCifar) -> None:
    """Raises an OptionError if no images are given and the scale names none."""
    if options.data is None and scale.needs_inputs:
        raise OptionError(
            "it needs images: give --data cifar10, or a file of fewer such as --data cifar10-10k.npz"
        )


FULL: dict[str, Any] = {
    "images": "cifar10",
    "size": None,
    "pad": 4,
    "flip": True,
    "cells": 20,
    "channels": 36,
    "epochs": 600,
}
"""The paper's settings where they differ; the paper trains each network once."""


def train(
    options: RunOptions,
    scale: Networks,
    cells: Mapping[str, Genotype],
    lrs: Sequence[float],
    more: Mapping[str, Any] | None = None,
    seeds: Sequence[int] | None = None,
) -> Comparison:
    """Trains the cells for comparison; finished trainings are read from the folder of the options.

    Args:
        options: Where and with what.
        scale: How large.
        cells: By label.
        lrs: Learning rates at the start.
        more: Settings of the trainings beside those of the scale.
        seeds: Random seeds; by default as many as the scale says.
    """
    images = {"name": options.data or scale.images, "size": scale.size}
    data = images | {"pad": scale.pad, "flip": scale.flip}
    net = {"cells": scale.cells, "channels": scale.channels}
    settings = {"data": data, "net": net, "batch": scale.batch, "epochs": scale.epochs}
    seeds = range(scale.seeds) if seeds is None else seeds
    return compare(
        cells,
        make_settings(settings, more or {}),
        options.folder / "comparison",
        lrs=lrs,
        seeds=seeds,
        device=options.device,
        executor=open_executor(options, len(cells) * len(lrs) * len(seeds)),
        progress=options.tell,
    )


def size(options: RunOptions, scale: Networks) -> str:
    """Description of the size of the trainings."""
    images = options.data or scale.images
    pixels = "" if scale.size is None else f" at {scale.size}x{scale.size} pixels"
    epochs = "one epoch" if scale.epochs == 1 else f"{scale.epochs} epochs"
    return (
        f"{scale.cells} cells, {scale.channels} channels; {images.rpartition('/')[2]}{pixels}, {epochs} of "
        f"batches of {scale.batch}"
    )


def ladder(name: str) -> list[Genotype]:
    """The authors' variants of a cell from wide and shallow to narrow and deep, one for each other shape.

    Of variants with one width and depth the first that was drawn is taken, and none with those of the
    original.
    """
    shapes = {shape(base(name)): base(name)}
    for number in range(1, COUNT + 1):
        variant = connection_variant(name, number)
        shapes.setdefault(shape(variant), variant)
    _, *variants = shapes.items()
    return [variant for _, variant in sorted(variants, key=lambda item: (-item[0][0], item[0][1]))]


def darts_family() -> dict[str, Genotype]:
    """DARTS' cell and its variants C1 to C4 by label, from wide to narrow."""
    variants = {f"c{index}": variant for index, variant in enumerate(ladder("DARTS"), 1)}
    return {ORIGINAL: base("DARTS")} | variants


def titles(cells: Mapping[str, Genotype]) -> dict[str, str]:
    """Titles of the cells in pictures and tables: name, width and depth, as the paper writes them."""
    names = {label: "C_darts" if label == ORIGINAL else label.upper() for label in cells}
    shapes = {label: shape(genotype) for label, genotype in cells.items()}
    return {label: f"{names[label]} ({wide:g}c, {deep})" for label, (wide, deep) in shapes.items()}


def base(name: str) -> Genotype:
    """A cell by the paper's name."""
    return get_published(BASES[name])


def shape(genotype: Genotype) -> tuple[float, int]:
    """Width and depth of the normal cell."""
    cell = genotype.cells[NORMAL]
    return width(cell), depth(cell)


def areas(comparison: Comparison, lr: float | None = None, metric: str = ACCURACY) -> Floats:
    """Area under the curve of each cell and seed [cells, seeds]; broken trainings have the worst possible."""
    worst = 0.0 if metric == ACCURACY else math.inf
    return np.array(
        [
            [worst if area is None else area for area in comparison.areas(label, lr, metric)]
            for label in comparison.cells
        ]
    )


def area(comparison: Comparison, cell: str, lr: float | None = None, metric: str = LOSS) -> float:
    """Mean area of a cell; broken trainings count as the worst possible."""
    return float(areas(comparison, lr, metric)[list(comparison.cells).index(cell)].mean())


def judge_first(values: Floats) -> PartResult:
    """Whether the first cell is best, by `FIRST_RULE`.

    Args:
        values: More is better [cells, seeds].
    """
    gain, won, p = lead(values), wins(values), p_within(wins, values)
    runner_up = values[1:][values[1:].mean(1).argmax()]
    words = f"lead {gain:+.3g}{format_interval(values[0] - runner_up)}, first in {won:g} of "
    return PartResult(gain > 0 and p <= LEVEL, f"{words}{values.shape[1]} seeds, {format_p(p)}", LEVEL)


def wins(values: Floats) -> float:
    """Number of columns in which the first row is above all others."""
    return float((values[0] > values[1:].max(0)).sum())


def lead(values: Floats) -> float:
    """How far the mean of the first row is above the best mean of the others."""
    means = values.mean(1)
    return float(means[0] - means[1:].max())


def judge_order(values: Floats) -> PartResult:
    """Whether values fall from the first cell to the last, by `ORDER_RULE`.

    Args:
        values: Falling if the claim is right [cells, seeds].
    """
    rho, p = falling(values), p_across(falling, values)
    each = [falling(column[:, None]) for column in values.T]
    words = f"correlation {rho:.2f} of the means, {fmean(each):.2f} in the mean over seeds"
    return PartResult(p <= LEVEL, f"{words}{format_interval(each)}, {format_p(p)}", LEVEL)


def falling(values: Floats) -> float:
    """Spearman's correlation of descending order and the means of the rows; 0 if all means are equal."""
    return spearman(range(len(values), 0, -1), values.mean(1).tolist()) or 0.0


def format_interval(values: Sequence[float] | Floats) -> str:
    """The 95 % interval of a mean as text in parentheses; empty for a single value."""
    interval = mean_interval(list(values))
    return "" if interval is None else " (95 % interval {:.2g} to {:.2g})".format(*interval)


def spearman(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Spearman's rank correlation with mean ranks for ties; None if all values of one side are equal."""
    if len(set(x)) < 2 or len(set(y)) < 2:
        return None
    first, second = (rankdata(values) - (len(values) + 1) / 2 for values in (x, y))
    return float(first @ second / math.sqrt((first @ first) * (second @ second)))
