"""ASM-NAS: does what attention chooses follow the data, or would it choose the same without labels?

The paper says that attention finds the important ops of an edge. Here the same searches are done twice: with
the labels of the images, and with labels that are shuffled, so that there is nothing to learn. The nano
benchmark knows how well each cell that was chosen does when it is trained alone.
The rule was fixed before any of these searches was done.
"""

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import torch
from matplotlib.figure import Figure
from pydantic import Field

from dartboard.config.schema import Count
from dartboard.data import ImageSet, load_dataset
from dartboard.scoreboard.scored_search import shortest
from dartboard.search.config import SearchConfig
from dartboard.space import decode
from dartboard.tables import load_table
from dartboard.utils import atomic
from dartboard.utils.statistics import permutation_p
from dartboard.viz.line_styles import line_styles
from dartboard_papers._searches import configure, searches
from dartboard_papers.base import LEVEL, PartResult, ReproductionResult, Row, RunOptions, Scale, reproduction

DATA = "cluttered-digits"
"""The images that the cells of the benchmark were trained on."""
FOLLOWS = "what is chosen follows the labels"


class Choices(Scale):
    """How large the searches are."""

    seeds: Count = Field(default=10, ge=5, description="searches with labels, and as many without")
    epochs: Count = Field(default=8, description="passes over the training images")
    channels: Count = Field(default=8, description="channels of the first stage")
    batch: Count = Field(default=64, description="examples in a step")


def write_images(path: Path, *, shuffle: int | None = None) -> str:
    """Writes the training images to a file and returns its path; with a seed, labels are shuffled."""
    train = load_dataset(DATA).train
    assert isinstance(train, ImageSet)  # noqa: S101  # they come with the package
    labels = train.labels
    if shuffle is not None:
        labels = labels[torch.randperm(len(labels), generator=torch.Generator().manual_seed(shuffle))]
    path.parent.mkdir(parents=True, exist_ok=True)
    file = BytesIO()
    np.savez(file, x_train=train.images.numpy(), y_train=labels.numpy())
    atomic.write_bytes(path, file.getvalue())
    return str(path)


def plan(scale: Choices, folder: Path) -> dict[str, SearchConfig]:
    """The searches by label: each seed with the labels, and with the same labels in an order of its own."""
    labeled = write_images(folder / "labels.npz")
    configs = {}
    for seed in range(scale.seeds):
        shuffled = write_images(folder / f"shuffled-{seed}.npz", shuffle=seed)
        for name, data in (("labels", labeled), ("shuffled", shuffled)):
            configs[f"{name}-s{seed}"] = configure(
                {
                    "space": "nano",
                    "method": "asm",
                    "data": {"name": data, "valid": 0.5},
                    "net": {"channels": scale.channels},
                    "weights": {"lr": 0.1, "lr_end": 0.0},
                    "epochs": scale.epochs,
                    "batch": scale.batch,
                    "seed": seed,
                    "health": {"discrete": False},
                }
            )
    return configs


@reproduction(
    "asm-nas-choices",
    about="cells that attention chooses with labels, and with shuffled ones",
    claim="attention finds the ops that matter for the images",
    rules={
        FOLLOWS: "the mean test accuracy of cells chosen with labels is higher than of those chosen with "
        f"shuffled ones, with a p of at most {LEVEL} by permutations"
    },
    setup="the nano space instead of 15 cells of eight ops, so that a benchmark knows every cell; the paper "
    "has no such experiment",
    minutes=4,
    laptop=Choices(),
)
def reproduce(options: RunOptions, scale: Choices) -> ReproductionResult:
    """Searches with labels and with shuffled ones, and looks their cells up."""
    runs = searches(plan(scale, options.folder), options)
    table = load_table("nano")
    cells: dict[str, list[str]] = {"labels": [], "shuffled": []}
    tests: dict[str, list[float]] = {"labels": [], "shuffled": []}
    for label, run in runs.items():
        kind, result = label.partition("-")[0], run.result()
        assert result is not None  # noqa: S101  # the search is finished
        genotype = decode(json.dumps(result["genotype"]))
        cells[kind].append(shortest(genotype))
        tests[kind].append(table.query(genotype, DATA).test)
    size = f"nano, {scale.channels} channels, {DATA}, {scale.epochs} epochs, batches of {scale.batch}"
    return judge(tests, cells, size)


def judge(
    tests: Mapping[str, Sequence[float]], cells: Mapping[str, Sequence[str]], size: str
) -> ReproductionResult:
    """Result from test accuracies and names of the chosen cells, by `labels` and `shuffled`."""
    labeled, shuffled = tests["labels"], tests["shuffled"]
    p, gap = permutation_p(labeled, shuffled), fmean(labeled) - fmean(shuffled)
    distinct = {kind: len(set(names)) for kind, names in cells.items()}
    return ReproductionResult(
        rows=[
            Row("test accuracy of cells chosen with labels", None, _spread(labeled)),
            Row("with shuffled labels", None, _spread(shuffled)),
            Row("different cells with labels", None, distinct["labels"]),
            Row("different cells with shuffled labels", None, distinct["shuffled"]),
            Row("p of the difference, by permutations", None, f"{p:.4f}"),
        ],
        parts={FOLLOWS: PartResult(gap > 0 and p <= LEVEL, f"{100 * gap:+.2f} points, p {p:.3f}", LEVEL)},
        sentence=f"cells chosen with labels were {100 * gap:+.2f} points from those chosen with shuffled "
        "ones",
        size=size,
        seeds=len(labeled),
        figures={"choices": draw(tests)},
        numbers={"tests": dict(tests), "cells": dict(cells), "p": p},
    )


def _spread(values: Sequence[float]) -> str:
    return f"{fmean(values):.2%} +- {100 * stdev(values):.2f}, from {min(values):.1%} to {max(values):.1%}"


def draw(tests: Mapping[str, Sequence[float]]) -> Figure:
    """The accuracies of all chosen cells, by whether there were labels."""
    figure = Figure((5.0, 3.2), layout="constrained")
    axes = figure.add_subplot(ylabel="test accuracy of the cell, trained alone")
    styles = line_styles(tests)
    for place, (kind, values) in enumerate(tests.items()):
        offsets = np.linspace(-0.15, 0.15, len(values))
        axes.scatter(place + offsets, sorted(values), color=styles[kind].color)
        axes.hlines(fmean(values), place - 0.2, place + 0.2, color="black", lw=1.5)
    axes.set_xticks(range(len(tests)), list(tests))
    axes.set_xlim(-0.5, len(tests) - 0.5)
    return figure
