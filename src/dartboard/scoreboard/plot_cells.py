"""The picture of the cells that were found, among all that there are."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dartboard.tables import Ranking
from dartboard.viz.line_styles import looks

Floats = NDArray[np.float64]

BINS = 24
ACROSS = 4
"""Panels side by side."""
FINEST = 0.1
"""Points below the best cell that are hardly told apart any more."""
EDGE = 0.02
"""What the axis has beyond the best and the worst."""
TICKS = (0, 0.3, 1, 3, 10, 30)
"""Points below the best cell that are marked."""


def plot_cells(finals: Mapping[str, Sequence[float]], dataset: str, ranking: Ranking) -> Figure:
    """A panel a method: a histogram of its final cells over that of all architectures.

    Args:
        finals: By label, the test accuracies of the final cells.
        dataset: Whose accuracies these are.
        ranking: Of all architectures.
    """
    down, across = math.ceil(len(finals) / ACROSS), min(ACROSS, len(finals))
    figure = Figure(figsize=(max(1 + 2.6 * across, 6), 1 + 1.7 * down), layout="constrained")
    panels = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
    look = looks(finals)
    for axes, (label, tests) in zip(panels, finals.items(), strict=False):
        _panel(axes, np.array(tests), ranking, look[label].colour)
        axes.set_title(f"{label} ({len(tests)})", fontsize="medium")
    for axes in panels[len(finals) :]:
        axes.set_axis_off()
    figure.supxlabel(f"test accuracy on {dataset} (%), finer towards the best; grey: all cells")
    figure.supylabel("share of cells")
    return figure


def _panel(axes: Axes, tests: Floats, ranking: Ranking, colour: str) -> None:
    """Both histograms, and ticks at accuracies so many points below the best one."""
    everything = places(ranking.tests, ranking.best)
    edges = np.linspace(everything[0] - EDGE, everything[-1] + EDGE, BINS + 1)
    _shares(axes, everything, edges, "0.7")
    _shares(axes, places(tests, ranking.best), edges, colour)
    lowest = 100 * (ranking.best - ranking.tests[0])
    marked = np.array([ranking.best - below / 100 for below in TICKS if below <= lowest])
    axes.set_xticks(places(marked, ranking.best), [f"{100 * test:.1f}" for test in marked], fontsize="small")


def places(tests: Floats, best: float) -> Floats:
    """Where accuracies stand on an axis that is finer towards the best one."""
    found: Floats = -np.log10(100 * (best - tests) + FINEST)
    return found


def _shares(axes: Axes, values: Floats, edges: Floats, colour: str) -> None:
    weights = np.full(len(values), 1 / len(values))
    axes.hist(values, edges.tolist(), weights=weights, color=colour, alpha=0.8, edgecolor="white", lw=0.5)
