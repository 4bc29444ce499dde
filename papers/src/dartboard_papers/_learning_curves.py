"""Learning curves of the cell that a search recommends: its accuracy, and its skip connections."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dartboard.scoreboard import BenchRecord
from dartboard.viz.line_styles import LineStyle, line_styles
from dartboard_papers._bench import BenchResults
from dartboard_papers._bench_summary import curve, edges, skips, title
from dartboard_papers.base import Row

SHIFT = 0.06
"""Offset between lines of equal integers."""


def final_skips(records: Sequence[BenchRecord]) -> float:
    """Mean number of skip connections of the final cells."""
    return float(np.mean([skips(record.final) for record in records]))


def nearly_all(records: Sequence[BenchRecord]) -> bool:
    """True if, on average, at most one edge of the final cells is no skip connection."""
    return final_skips(records) >= edges(records[0]) - 1


def seed_rows(label: str, records: Sequence[BenchRecord], dataset: str) -> list[Row]:
    """A row for every search: accuracy and skip connections of its final cell."""
    return [
        Row(
            f"{title(label)}, seed {record.seed}: test accuracy and skip connections",
            None,
            f"{100 * record.final.test[dataset]:.2f}, {skips(record.final)} of {edges(record)}",
        )
        for record in records
    ]


def numbers(bench: BenchResults) -> dict[str, Any]:
    """By label, epochs, test accuracies on the first data set and skip connections of every search."""
    dataset = bench.datasets[0]
    return {
        label: [
            {
                "seed": record.seed,
                "epoch": [point.epoch for point in curve(record)],
                "test": [point.test[dataset] for point in curve(record)],
                "skips": [skips(point) for point in curve(record)],
            }
            for record in group
        ]
        for label, group in bench.groups.items()
    }


def draw(bench: BenchResults) -> Figure:
    """A line a search: the test accuracy of the cell of every epoch, and how many skip connections it has."""
    figure = Figure((10, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    dataset, styles = bench.datasets[0], line_styles(bench.groups)
    for label, group in bench.groups.items():
        for index, record in enumerate(group):
            _lines(
                left, right, record, dataset, styles[label], None if index else title(label), SHIFT * index
            )
    total = edges(bench.records[0])
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
    line_style: LineStyle,
    label: str | None,
    shift: float,
) -> None:
    points = curve(record)
    x = [point.epoch for point in points]
    style: dict[str, Any] = {
        "color": line_style.color,
        "linestyle": line_style.line,
        "alpha": 0.8,
        "label": label,
    }
    left.plot(x, [100 * point.test[dataset] for point in points], **style)
    right.plot(x, [skips(point) + shift for point in points], **style)
