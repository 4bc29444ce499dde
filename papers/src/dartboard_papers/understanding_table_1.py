"""Understanding table 1: sizes and test errors of popular cells and of their widest and shallowest
adaptation.

The sizes of the paper's networks are counted: 20 cells, 36 channels, with the auxiliary classifier, which the
paper's sizes turn out to count. The errors are of trainings to convergence, regularized as in A.4: cutout, an
auxiliary classifier, paths that are dropped. Nothing is trained for fewer than `CONVERGED` epochs. On
CIFAR-100, where all five adapted cells are better in the paper too, there is nothing to test.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from pydantic import Field

from dartboard.analysis.comparison import ACCURACY, Comparison
from dartboard.analysis.variants import widest
from dartboard.nn.costs import count_parameters
from dartboard.nn.network import CellNet, NetConfig
from dartboard.space import Genotype, adopt, get_published, get_space
from dartboard.utils.statistics import Floats
from dartboard.viz.line_styles import line_styles
from dartboard_papers._understanding_training import (
    BASES,
    CONVERGED,
    FULL,
    SmallCifar,
    check_images,
    format_interval,
    shape,
    size,
    train,
)
from dartboard_papers.base import LEVEL, PartResult, ReproductionResult, Row, RunOptions, reproduction
from dartboard_papers.chance import p_within
from dartboard_papers.formatting import format_p

ALL = {**BASES, "SNAS": "snas"}
CIFAR10, CIFAR100 = "cifar10", "cifar100"
ERRORS = {
    "NASNet": (2.65, 2.80),
    "AmoebaNet": (2.76, 2.91),
    "ENAS": (2.64, 2.76),
    "DARTS": (2.67, 2.73),
    "SNAS": (2.88, 2.69),
}
"""On CIFAR-10 in percent: of the original, and of the adapted cell."""
CLASSES = {"CIFAR-10": 10, "CIFAR-100": 100, "Tiny-ImageNet": 200}
SIZES = {
    "NASNet": ((4.29, 4.32), (4.42, 4.45), (4.57, 4.60)),
    "AmoebaNet": ((3.60, 3.60), (3.71, 3.71), (3.83, 3.83)),
    "ENAS": ((4.32, 4.32), (4.45, 4.45), (4.60, 4.60)),
    "DARTS": ((3.83, 3.90), (3.95, 4.03), (4.08, 4.16)),
    "SNAS": ((3.14, 3.19), (3.26, 3.31), (3.39, 3.45)),
}
"""Millions of weights of the original and of the adapted cell, for each of `CLASSES`."""
ORIGINAL, ADAPTED = "original", "adapted"
KINDS = (ORIGINAL, ADAPTED)
EQUAL = "sizes of the networks"
WORSE = "adapted cells have larger test errors"
COMMAND = "dartboard reproduce understanding-table-1 --full"


class Table1(SmallCifar):
    """How large table 1 is."""

    lr: float = Field(default=0.025, gt=0, description="learning rate at the start")
    cutout: int = Field(default=8, ge=0, description="side of a square that is cut out")
    auxiliary: float = Field(default=0.4, ge=0, description="weight of the auxiliary classifier's loss")
    drop_path: float = Field(default=0.2, ge=0, lt=1, description="chance of an edge to be dropped, at last")


def check(options: RunOptions, scale: Table1) -> None:
    """Raises an OptionError if there are no images to train with."""
    if scale.epochs >= CONVERGED:
        check_images(options, scale)


def pairs() -> dict[str, dict[str, Genotype]]:
    """Each popular cell, and its adaptation."""
    originals = {name: get_published(ALL[name]) for name in SIZES}
    return {name: {ORIGINAL: genotype, ADAPTED: widest(genotype)} for name, genotype in originals.items()}


@reproduction(
    "understanding-table-1",
    about="sizes and test errors of popular cells and of their widest and shallowest adaptation",
    claim="the widest and shallowest cells need not generalize better: adapted cells of the same size or a "
    "little more have larger test errors on CIFAR-10 for 4 of 5",
    rules={
        EQUAL: "all 30 sizes agree to the two digits that are printed",
        WORSE: "the mean error over cells and seeds is larger for the adapted cells, with a p of at most "
        f"{LEVEL} where both trade places within each cell and seed",
    },
    setup="sizes are of the paper's networks; errors are not measured: 600 epochs of 10 networks on "
    "CIFAR-10 and at least 5 seeds take a GPU",
    minutes=0.2,
    laptop=Table1(),
    full=Table1(**FULL, cutout=16),
    takes=("data",),
    check=check,
)
def reproduce(options: RunOptions, scale: Table1) -> ReproductionResult:
    """Counts the sizes of the paper's networks, and compares the errors if trainings are long enough."""
    cells = pairs()
    sizes = {name: count_sizes(by_kind) for name, by_kind in cells.items()}
    good = sum(
        round(here, 2) == paper
        for name in SIZES
        for papers, heres in zip(SIZES[name], sizes[name], strict=True)
        for paper, here in zip(papers, heres, strict=True)
    )
    total = 2 * len(SIZES) * len(CLASSES)
    parts = {EQUAL: PartResult(good == total, f"{good} of {total} sizes", None)}
    rows, figures = size_rows(sizes), {"sizes": draw_sizes(sizes)}
    numbers: dict[str, Any] = {"sizes": sizes}
    images = paper_dataset(options.data or scale.images)
    if scale.epochs < CONVERGED:
        words = f"takes 600 epochs, `{COMMAND}` on a GPU"
        parts[WORSE] = PartResult(None, words, None)
        seeds, trained = 0, "the paper's networks, counted; nothing was trained"
    else:
        errors = measure_errors(options, scale, cells)
        numbers["errors"], figures["errors"] = errors, draw_errors(errors)
        rows += error_rows(errors, images)
        parts[WORSE] = judge(errors, images)
        seeds, trained = scale.seeds, size(options, scale)
    same = [name for name, by_kind in cells.items() if shape(by_kind[ORIGINAL]) == shape(by_kind[ADAPTED])]
    return ReproductionResult(
        rows=rows,
        parts=parts,
        sentence=f"{good} of {total} sizes are the paper's; the test of the errors: {parts[WORSE].observed}",
        size=trained,
        seeds=seeds,
        figures=figures,
        numbers=numbers,
        remarks=[
            (
                f"The normal cells of {', '.join(same)} are among the widest and shallowest as they are; "
                "there the adaptation changes which inputs are read, and the reduction cell."
            ),
            "Of the sizes, those for CIFAR-10 were counted before the rule was written.",
        ],
    )


def count_sizes(by_kind: Mapping[str, Genotype]) -> list[tuple[float, float]]:
    """Sizes of the original and of the adapted network, for each number of classes."""
    return [
        (millions(by_kind[ORIGINAL], classes), millions(by_kind[ADAPTED], classes))
        for classes in CLASSES.values()
    ]


def millions(genotype: Genotype, classes: int) -> float:
    """Millions of weights of the paper's network, with the auxiliary classifier."""
    space = adopt(get_space("darts"), genotype).resized(20)
    with torch.device("meta"):
        net = CellNet(space, NetConfig(channels=36, classes=classes, auxiliary=True))
    return count_parameters(net, auxiliary=True) / 1e6


def size_rows(sizes: Mapping[str, list[tuple[float, float]]]) -> list[Row]:
    """The sizes beside the paper's."""
    return [
        Row(
            f"{name}, {dataset}: weights of original / adapted (millions)",
            "{:.2f} / {:.2f}".format(*paper),
            "{:.2f} / {:.2f}".format(*here),
        )
        for name in SIZES
        for dataset, paper, here in zip(CLASSES, SIZES[name], sizes[name], strict=True)
    ]


def paper_dataset(images: str) -> str | None:
    """The paper's data set that images are, by their name; None if they are neither."""
    name = Path(images).name.lower().replace("-", "")
    return next((dataset for dataset in (CIFAR100, CIFAR10) if name.startswith(dataset)), None)


def measure_errors(
    options: RunOptions, scale: Table1, cells: Mapping[str, Mapping[str, Genotype]]
) -> dict[str, Floats]:
    """Test errors in percent of the adapted and of the original networks, [2, seeds] by cell."""
    flat = {f"{name}-{kind}": genotype for name, both in cells.items() for kind, genotype in both.items()}
    net = {"auxiliary": scale.auxiliary, "drop_path": scale.drop_path}
    comparison = train(options, scale, flat, [scale.lr], {"net": net, "data": {"cutout": scale.cutout}})
    return {
        name: np.array([errors_of(comparison, f"{name}-{kind}") for kind in (ADAPTED, ORIGINAL)])
        for name in cells
    }


def errors_of(comparison: Comparison, label: str) -> list[float]:
    """Final error of each seed in percent; broken trainings count as 100 %."""
    return [100 * (1 - (training.final(ACCURACY) or 0.0)) for training in comparison.of(label)]


def judge(errors: Mapping[str, Floats], images: str | None) -> PartResult:
    """Whether adapted cells are worse; there is nothing to test on CIFAR-100."""
    if images == CIFAR100:
        return PartResult(None, "on CIFAR-100 all 5 adapted cells are better in the paper too", None)
    values = np.hstack(list(errors.values()))
    differences = values[0] - values[1]
    p = p_within(lambda both: float((both[0] - both[1]).mean()), values)
    gap, interval = float(differences.mean()), format_interval(differences)
    words = f"adapted cells are {gap:+.2f} points from the originals{interval}, {format_p(p)}"
    return PartResult(gap > 0 and p <= LEVEL, words, LEVEL)


def error_rows(errors: Mapping[str, Floats], images: str | None) -> list[Row]:
    """Mean errors beside the paper's on CIFAR-10."""
    return [
        Row(f"{name}, {kind}: test error (%)", paper if images == CIFAR10 else f"{paper} on CIFAR-10", mean)
        for name in errors
        for kind, paper, mean in zip(KINDS, ERRORS[name], errors[name].mean(1)[::-1].tolist(), strict=True)
    ]


def draw_sizes(sizes: Mapping[str, list[tuple[float, float]]]) -> Figure:
    """All sizes, the paper's as open squares around those counted here."""
    figure = Figure((7, 3.6), layout="constrained")
    axes = figure.add_subplot(ylabel="millions of weights")
    labels = [f"{name}\n{kind}" for name in SIZES for kind in KINDS]
    for index, (dataset, style) in enumerate(line_styles(CLASSES).items()):
        here = [value for name in SIZES for value in sizes[name][index]]
        paper = [value for name in SIZES for value in SIZES[name][index]]
        axes.plot(here, ".", color=style.color, label=f"{dataset}, here")
        axes.plot(paper, "s", color=style.color, fillstyle="none", label=f"{dataset}, paper")
    axes.set_xticks(range(len(labels)), labels, fontsize=7)
    axes.legend(fontsize=7, ncols=3)
    return figure


def draw_errors(errors: Mapping[str, Floats]) -> Figure:
    """Mean errors of both kinds of each cell, joined by a line."""
    figure = Figure((6.5, 3.6), layout="constrained")
    axes = figure.add_subplot(ylabel="test error (%)", xticks=range(len(errors)))
    axes.set_xticklabels(list(errors))
    means = {name: values.mean(1) for name, values in errors.items()}
    for index, both in enumerate(means.values()):
        axes.plot([index, index], both, color="0.7", linewidth=2, zorder=1)
    for place, (kind, style) in enumerate(line_styles((ADAPTED, ORIGINAL)).items()):
        heights = [both[place] for both in means.values()]
        axes.scatter(
            range(len(errors)), heights, marker=style.marker, color=style.color, label=kind, zorder=2
        )
    axes.legend(frameon=False)
    return figure
