"""How the accuracy of supernets changes when one edge is made discrete."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dartboard.viz.line_styles import line_styles


@dataclass(frozen=True)
class EdgeAccuracies:
    """Accuracies of one supernet.

    Args:
        mixed: Accuracy with all edges mixed.
        discrete: Accuracy with one edge discrete, for each edge.
        changes: The difference that each edge makes.
    """

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
    _draw_changes(summary, groups)
    return figure


def _draw_changes(axes: Axes, groups: Mapping[str, Sequence[EdgeAccuracies]]) -> None:
    """The sizes of all changes of each group side by side, with their mean."""
    styles = line_styles(groups)
    for place, (label, group) in enumerate(groups.items()):
        sizes = np.abs(np.concatenate([run.changes for run in group]))
        jittered = place + np.linspace(-0.25, 0.25, len(sizes))
        axes.plot(jittered, sizes, "o", color=styles[label].color, markersize=2.5, alpha=0.5)
        axes.plot([place - 0.3, place + 0.3], [sizes.mean()] * 2, color="black", lw=2)
    axes.set_xticks(range(len(groups)), list(groups), rotation=30, ha="right")
    axes.set(ylabel="size of the change", xlim=(-0.5, len(groups) - 0.5))
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3, axis="y")
