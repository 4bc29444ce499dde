"""Accuracies: of final cells over those of all architectures, and of supernets with one edge discrete."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
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
    styles, best = line_styles(finals), float(all_accuracies[-1])
    background = axis_positions(all_accuracies, best)
    edges = np.linspace(background[0] - AXIS_MARGIN, background[-1] + AXIS_MARGIN, BINS + 1).tolist()
    lowest = 100 * (best - all_accuracies[0])
    ticks = np.array([best - below / 100 for below in TICKS if below <= lowest])
    tick_labels = [f"{100 * tick:.1f}" for tick in ticks]
    for axes, (label, accuracies) in zip(panels, finals.items(), strict=False):
        foreground = axis_positions(np.array(accuracies), best)
        for values, face in ((background, "0.7"), (foreground, styles[label].color)):
            weights = np.full(len(values), 1 / len(values))
            axes.hist(values, edges, weights=weights, color=face, alpha=0.8, edgecolor="white", lw=0.5)
        axes.set_xticks(axis_positions(ticks, best), tick_labels, fontsize="small")
        axes.set_title(f"{label} ({len(accuracies)})", fontsize="medium")
    for axes in panels[len(finals) :]:
        axes.set_axis_off()
    figure.supxlabel(f"test accuracy on {dataset} (%), finer towards the best; gray: all cells")
    figure.supylabel("share of cells")
    return figure


def axis_positions(accuracies: Floats, best: float) -> Floats:
    """Positions of accuracies on an axis that is finer towards the best one."""
    positions: Floats = -np.log10(100 * (best - accuracies) + RESOLUTION)
    return positions


@dataclass(frozen=True)
class EdgeAccuracies:
    """Accuracies of one supernet: all edges mixed, each edge discrete, and the change that each makes."""

    mixed: float
    discrete: Sequence[float]
    changes: Sequence[float]


def plot_stability(groups: Mapping[str, Sequence[EdgeAccuracies]]) -> Figure:
    """A panel for each group with the accuracy for each edge, and one that compares the changes.

    A dashed line is the accuracy of a supernet with all edges mixed; all panels span the same height, so
    that equal distances are equal changes.
    """
    styles = line_styles(groups)
    figure = Figure((4.2 * len(groups) + 2.6, 3.6), layout="constrained")
    widths = [4.0] * len(groups) + [1.3]
    *panels, summary = figure.subplots(1, len(groups) + 1, width_ratios=widths, squeeze=False)[0]
    for axes, (label, group) in zip(panels, groups.items(), strict=True):
        for run in group:
            axes.plot(run.discrete, "o-", color=styles[label].color, markersize=3, lw=0.8, alpha=0.8)
            axes.axhline(run.mixed, color="0.3", linestyle="--", lw=1)
        axes.set(title=label, xlabel="edge that is decided", ylabel="accuracy")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
    limits = [axes.get_ylim() for axes in panels]
    half = max(high - low for low, high in limits) / 2
    for axes, (low, high) in zip(panels, limits, strict=True):
        middle = (low + high) / 2
        axes.set_ylim(middle - half, middle + half)
    for place, (label, group) in enumerate(groups.items()):  # all changes side by side, with their mean
        sizes = np.abs(np.concatenate([run.changes for run in group]))
        jittered = place + np.linspace(-0.25, 0.25, len(sizes))
        summary.plot(jittered, sizes, "o", color=styles[label].color, markersize=2.5, alpha=0.5)
        summary.plot([place - 0.3, place + 0.3], [sizes.mean()] * 2, color="black", lw=2)
    summary.set_xticks(range(len(groups)), list(groups), rotation=30, ha="right")
    summary.set(ylabel="size of the change", xlim=(-0.5, len(groups) - 0.5))
    summary.set_ylim(bottom=0)
    summary.grid(alpha=0.3, axis="y")
    return figure
