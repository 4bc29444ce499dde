"""Learning curves of the cell that a search recommends: its accuracy, and its skip connections."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dartboard.scoreboard import BenchRecord
from dartboard.viz.line_styles import LineStyle, line_styles
from dartboard_papers._bench import Board
from dartboard_papers._bench_summary import curve, edges, skips, title
from dartboard_papers.base import Row

SHIFT = 0.06
"""By so much lines of equal whole numbers are drawn apart."""


def final_skips(records: Sequence[BenchRecord]) -> float:
    """How many skip connections the cells at the end have, on the mean."""
    return float(np.mean([skips(own.final) for own in records]))


def nearly_all(records: Sequence[BenchRecord]) -> bool:
    """Whether all edges but one at most are skip connections at the end, on the mean."""
    return final_skips(records) >= edges(records[0]) - 1


def seed_rows(label: str, records: Sequence[BenchRecord], dataset: str) -> list[Row]:
    """What every search came to."""
    return [
        Row(
            f"{title(label)}, seed {own.seed}: test accuracy and skip connections",
            None,
            f"{100 * own.final.test[dataset]:.2f}, {skips(own.final)} of {edges(own)}",
        )
        for own in records
    ]


def numbers(board: Board) -> dict[str, Any]:
    """By label, epochs, test accuracies on the first data set and skip connections of every search."""
    dataset = board.datasets[0]
    return {
        label: [
            {
                "seed": own.seed,
                "epoch": [point.epoch for point in curve(own)],
                "test": [point.test[dataset] for point in curve(own)],
                "skips": [skips(point) for point in curve(own)],
            }
            for own in group
        ]
        for label, group in board.groups.items()
    }


def draw(board: Board) -> Figure:
    """A line a search: the test accuracy of the cell of every epoch, and how many skip connections it has."""
    figure = Figure((10, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    dataset, look = board.datasets[0], line_styles(board.groups)
    for label, group in board.groups.items():
        for place, own in enumerate(group):
            _lines(left, right, own, dataset, look[label], None if place else title(label), SHIFT * place)
    total = edges(board.records[0])
    left.set(xlabel="epochs", ylabel=f"test accuracy on {dataset} (%)")
    right.set(xlabel="epochs", ylabel=f"skip connections of {total} edges", ylim=(-0.2, total + 0.4))
    right.axhline(total - 1, color="0.45", linestyle=(0, (4, 2)), zorder=1, label="nearly all")
    for axes in (left, right):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def _lines(
    left: Axes,
    right: Axes,
    record: BenchRecord,
    dataset: str,
    look: LineStyle,
    label: str | None,
    shift: float,
) -> None:
    points = curve(record)
    x = [point.epoch for point in points]
    style: dict[str, Any] = {"color": look.color, "linestyle": look.line, "alpha": 0.8, "label": label}
    left.plot(x, [100 * point.test[dataset] for point in points], **style)
    right.plot(x, [skips(point) + shift for point in points], **style)
