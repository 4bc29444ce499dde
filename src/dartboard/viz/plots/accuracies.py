"""Histograms of the accuracies that methods reach, over those of all architectures of a space."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dartboard.viz.line_styles import line_styles

Floats = NDArray[np.float64]

BINS = 24
COLUMNS = 4
RESOLUTION = 0.1
"""Points below the best architecture within which the axis is nearly linear."""
AXIS_MARGIN = 0.02
"""How far the axis reaches beyond the best and the worst."""
TICKS = (0, 0.3, 1, 3, 10, 30)
"""Points below the best architecture that have ticks."""


def plot_accuracies(finals: Mapping[str, Sequence[float]], dataset: str, all_accuracies: Floats) -> Figure:
    """A panel for each method: a histogram of its final cells over that of all architectures.

    Args:
        finals: For each label, the test accuracies of the final cells.
        dataset: Name of the data set.
        all_accuracies: Test accuracies of all architectures, ascending.
    """
    rows, columns = math.ceil(len(finals) / COLUMNS), min(COLUMNS, len(finals))
    figure = Figure(figsize=(max(1 + 2.6 * columns, 6), 1 + 1.7 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    styles = line_styles(finals)
    for axes, (label, accuracies) in zip(panels, finals.items(), strict=False):
        _draw_histograms(axes, np.array(accuracies), all_accuracies, styles[label].color)
        axes.set_title(f"{label} ({len(accuracies)})", fontsize="medium")
    for axes in panels[len(finals) :]:
        axes.set_axis_off()
    figure.supxlabel(f"test accuracy on {dataset} (%), finer towards the best; grey: all cells")
    figure.supylabel("share of cells")
    return figure


def _draw_histograms(axes: Axes, accuracies: Floats, all_accuracies: Floats, color: str) -> None:
    """Both histograms, and ticks at accuracies some points below the best one."""
    best = float(all_accuracies[-1])
    background = axis_positions(all_accuracies, best)
    edges = np.linspace(background[0] - AXIS_MARGIN, background[-1] + AXIS_MARGIN, BINS + 1)
    for values, face in ((background, "0.7"), (axis_positions(accuracies, best), color)):
        weights = np.full(len(values), 1 / len(values))
        axes.hist(values, edges.tolist(), weights=weights, color=face, alpha=0.8, edgecolor="white", lw=0.5)
    lowest = 100 * (best - all_accuracies[0])
    ticks = np.array([best - below / 100 for below in TICKS if below <= lowest])
    axes.set_xticks(axis_positions(ticks, best), [f"{100 * tick:.1f}" for tick in ticks], fontsize="small")


def axis_positions(accuracies: Floats, best: float) -> Floats:
    """Positions of accuracies on an axis that is finer towards the best one."""
    positions: Floats = -np.log10(100 * (best - accuracies) + RESOLUTION)
    return positions
