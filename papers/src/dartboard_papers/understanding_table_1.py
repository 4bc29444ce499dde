"""Understanding table 1: test errors of popular cells and of their widest and shallowest adaptation.

Settled before the first training: the claim held if the adapted cells have a smaller test error at the end
for at most half of the popular cells, in the mean over seeds. On CIFAR-100, where all five adapted cells are
better in the paper too, there is nothing to test. The sizes of the paper's networks do not depend on what is
trained here, and are counted: 20 cells, 36 channels, 10 classes, with the auxiliary classifier, which the
paper's sizes turn out to count. Trainings are regularized as in A.4: cutout, an auxiliary classifier, paths
that are dropped; at the scale of a laptop the cutout is smaller, as the images are, and the learning rate
four times the paper's.
"""

from math import comb
from pathlib import Path
from statistics import fmean

import torch
from matplotlib.figure import Figure
from pydantic import Field

from dartboard.analysis.comparison import ACCURACY, Comparison
from dartboard.analysis.variants import widest
from dartboard.config.schema import Count
from dartboard.nn.costs import count_parameters
from dartboard.nn.network import CellNet, NetConfig
from dartboard.space import Genotype, adopt, get_published, get_space
from dartboard.viz.line_styles import line_styles
from dartboard_papers._understanding_training import BASES, FULL, Networks, shape, size, train
from dartboard_papers.base import ReproductionResult, Row, RunOptions, Verdict, reproduction

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
OTHER = {
    "NASNet": (17.06, 16.86),
    "AmoebaNet": (17.55, 17.28),
    "ENAS": (16.67, 16.04),
    "DARTS": (16.41, 16.15),
    "SNAS": (17.78, 17.20),
}
"""The same on CIFAR-100."""
SIZES = {
    "NASNet": (4.29, 4.32),
    "AmoebaNet": (3.60, 3.60),
    "ENAS": (4.32, 4.32),
    "DARTS": (3.83, 3.90),
    "SNAS": (3.14, 3.19),
}
"""In millions of weights, for CIFAR-10."""
ORIGINAL, ADAPTED = "original", "adapted"
KINDS = (ORIGINAL, ADAPTED)
MARKERS = {ORIGINAL: "o", ADAPTED: "s"}


class Table1(Networks):
    """How large table 1 is."""

    seeds: Count = Field(default=1, description="how often each network is trained")
    lr: float = Field(default=0.1, gt=0, description="learning rate at the start")
    cutout: int = Field(default=4, ge=0, description="side of a square that is cut out")
    auxiliary: float = Field(default=0.4, ge=0, description="weight of the auxiliary classifier's loss")
    drop_path: float = Field(default=0.2, ge=0, lt=1, description="chance of an edge to be dropped, at last")


def pairs() -> dict[str, dict[str, Genotype]]:
    """Each popular cell, and its adaptation."""
    originals = {name: get_published(ALL[name]) for name in ERRORS}
    return {name: {ORIGINAL: genotype, ADAPTED: widest(genotype)} for name, genotype in originals.items()}


@reproduction(
    "understanding-table-1",
    about="test errors of popular cells and of their widest and shallowest adaptation",
    claim="the widest and shallowest cells need not generalize better: adapted cells have larger test errors "
    "on CIFAR-10 for 4 of 5",
    minutes=5,
    laptop=Table1(),
    full=Table1(**FULL, lr=0.025, cutout=16),
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Table1) -> ReproductionResult:
    """Compares the final errors of both, and the sizes of the paper's networks."""
    cells = pairs()
    flat = {f"{name}-{kind}": genotype for name, both in cells.items() for kind, genotype in both.items()}
    net = {"auxiliary": scale.auxiliary, "drop_path": scale.drop_path}
    comparison = train(options, scale, flat, [scale.lr], {"net": net, "data": {"cutout": scale.cutout}})
    errors = {name: {kind: error(comparison, f"{name}-{kind}") for kind in KINDS} for name in cells}
    better = [name for name, by_kind in errors.items() if by_kind[ADAPTED] < by_kind[ORIGINAL]]
    gap = fmean(by_kind[ADAPTED] - by_kind[ORIGINAL] for by_kind in errors.values())
    same = [name for name, by_kind in cells.items() if shape(by_kind[ORIGINAL]) == shape(by_kind[ADAPTED])]
    adaptation = (
        f"The normal cells of {', '.join(same)} are among the widest and shallowest as they are; there the "
        "adaptation changes which inputs are read, and the reduction cell."
    )
    images = paper_dataset(options.data or scale.images)
    remarks = [adaptation, chance(len(cells))]
    if images == CIFAR100:
        better_there = sum(adapted < original for original, adapted in OTHER.values())
        remarks.append(
            f"The claim is of CIFAR-10: on CIFAR-100 {better_there} of {len(OTHER)} are better in the paper "
            "too."
        )
    return ReproductionResult(
        rows=_rows(errors, cells, images),
        verdict=judge(len(better), len(cells), images),
        sentence=f"The adapted cell had the smaller error for {len(better)} of {len(cells)} cells; its error "
        f"is {gap:+.2f} points from the original's in the mean.",
        size=size(options, scale),
        seeds=scale.seeds,
        figures={"errors": draw(errors, comparison.part)},
        numbers=comparison.facts() | {"errors": errors},
        remarks=remarks,
    )


def paper_dataset(images: str) -> str | None:
    """The paper's data set that images are, by their name; None if they are neither."""
    name = Path(images).name.lower().replace("-", "")
    return next((dataset for dataset in (CIFAR100, CIFAR10) if name.startswith(dataset)), None)


def judge(better: int, cells: int, images: str | None) -> Verdict:
    """Verdict from the number of adapted cells that are better; the claim does not cover CIFAR-100."""
    if images == CIFAR100:
        return Verdict.NOT_TESTABLE
    return Verdict.HELD if 2 * better <= cells else Verdict.NOT_HELD


def chance(cells: int) -> str:
    """Probability, as text, that the test passes if there is no difference."""
    share = sum(comb(cells, better) for better in range(cells // 2 + 1)) / 2**cells
    return (
        f"Were all cells equally good, at most {cells // 2} of {cells} adapted ones would be better by "
        f"chance alone with probability {share:.2f}: once in {1 / share:.2g} times the test is passed so."
    )


def error(comparison: Comparison, label: str) -> float:
    """Mean final error in percent; diverged trainings count as 100 %."""
    return 100 * fmean(1 - (training.final(ACCURACY) or 0.0) for training in comparison.of(label))


def millions(genotype: Genotype) -> float:
    """The weights of the paper's network for CIFAR-10, with the auxiliary classifier."""
    space = adopt(get_space("darts"), genotype).resized(20)
    with torch.device("meta"):
        net = CellNet(space, NetConfig(channels=36, classes=10, auxiliary=True))
    return count_parameters(net, auxiliary=True) / 1e6


def _rows(
    errors: dict[str, dict[str, float]], cells: dict[str, dict[str, Genotype]], images: str | None
) -> list[Row]:
    """Errors beside the paper's on the same images, or on CIFAR-10 if it has none, and sizes of networks."""
    paper_errors = OTHER if images == CIFAR100 else ERRORS
    rows = [
        Row(
            f"{name}, {kind}: test error (%)",
            f"{paper} on CIFAR-10" if images is None else paper,
            errors[name][kind],
        )
        for name in errors
        for kind, paper in zip(KINDS, paper_errors[name], strict=True)
    ]
    return rows + [
        Row(
            f"{name}, {kind}: weights of the paper's network (millions)",
            paper,
            round(millions(by_kind[kind]), 2),
        )
        for name, by_kind in cells.items()
        for kind, paper in zip(KINDS, SIZES[name], strict=True)
    ]


def draw(errors: dict[str, dict[str, float]], part: str) -> Figure:
    """Both errors of each cell, joined by a line."""
    figure = Figure((6.5, 3.6), layout="constrained")
    axes = figure.add_subplot(ylabel=f"{part} error (%)", xticks=range(len(errors)))
    axes.set_xticklabels(list(errors))
    for index, by_kind in enumerate(errors.values()):
        axes.plot([index, index], [by_kind[kind] for kind in KINDS], color="0.7", linewidth=2, zorder=1)
    for kind, style in line_styles(KINDS).items():
        heights = [by_kind[kind] for by_kind in errors.values()]
        axes.scatter(
            range(len(errors)), heights, marker=MARKERS[kind], color=style.color, label=kind, zorder=2
        )
    axes.legend(frameon=False)
    return figure
