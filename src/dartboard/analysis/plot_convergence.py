"""Pictures of cells that learn side by side."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dartboard.analysis.comparison import ACCURACY, LOSS, METRICS, TRAIN_LOSS, Comparison
from dartboard.analysis.curves import Band
from dartboard.viz.line_styles import looks

SHADE = 0.15


def draw_curves(
    comparison: Comparison,
    metrics: Sequence[str] = METRICS,
    labels: Mapping[str, str] | None = None,
) -> Figure:
    """Curves of all cells, a row a metric and a column a learning rate; bands are deviations over seeds.

    Args:
        comparison: What to draw.
        metrics: Which rows.
        labels: What cells are called in the legend, if not by their own labels.
    """
    lrs, shown = comparison.lrs, looks(comparison.cells)
    size = (1.2 + 3.6 * len(lrs) + 1.6, 0.4 + 2.5 * len(metrics))
    figure = Figure(size, layout="constrained")
    grid = figure.subplots(len(metrics), len(lrs), squeeze=False, sharex=True, sharey="row")
    for row, metric in zip(grid, metrics, strict=True):
        row[0].set_ylabel(_words(metric, comparison.part))
        for axes, lr in zip(row, lrs, strict=True):
            for cell, look in shown.items():
                name = (labels or {}).get(cell, cell)
                found = scaled(comparison.band(cell, lr, metric), 100.0 if metric == ACCURACY else 1.0)
                draw_band(axes, found, look.colour, look.line, name)
    for axes, lr in zip(grid[0], lrs, strict=True):
        axes.set_title(f"learning rate {lr:g}", fontsize="medium")
    for axes in grid[-1]:
        axes.set_xlabel("epoch")
    handles, names = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", fontsize="small", frameon=False)
    return figure


def draw_band(axes: Axes, found: Band, colour: str, line: str, label: str) -> None:
    """A mean as a line and its deviation as a band."""
    axes.plot(found.x, found.mean, line, color=colour, label=label, linewidth=1.4)
    if np.any(found.deviation):
        low, high = found.mean - found.deviation, found.mean + found.deviation
        axes.fill_between(found.x, low, high, color=colour, alpha=SHADE, linewidth=0)


def scaled(found: Band, factor: float) -> Band:
    """The band of all curves times a number, such as 100 for percents."""
    return Band(found.x, factor * found.mean, factor * found.deviation)


def _words(metric: str, part: str) -> str:
    return {TRAIN_LOSS: "training loss", LOSS: f"{part} loss", ACCURACY: f"{part} accuracy (%)"}[metric]
