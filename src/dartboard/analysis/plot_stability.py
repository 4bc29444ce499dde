"""The picture of how stable what searches chose is."""

from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dartboard.analysis.stability import Stabilities
from dartboard.viz.line_styles import looks


def draw_stability(found: Stabilities) -> Figure:
    """A panel a group with the accuracy for each edge that is decided, and one that compares the changes.

    A dashed line is the accuracy of a supernet with all edges mixed; all panels have the same height, so
    that equal distances are equal changes.
    """
    groups, look = found.groups, looks(found.groups)
    figure = Figure((4.2 * len(groups) + 2.6, 3.6), layout="constrained")
    widths = [4.0] * len(groups) + [1.3]
    panels = figure.subplots(1, len(groups) + 1, width_ratios=widths, squeeze=False)[0]
    for axes, (label, group) in zip(panels, groups.items(), strict=False):
        for own in group:
            values = [edge.accuracy for edge in own.edges]
            axes.plot(values, "o-", color=look[label].colour, markersize=3, lw=0.8, alpha=0.8)
            axes.axhline(own.accuracy, color="0.3", linestyle="--", lw=1)
        axes.set(title=label, xlabel="edge that is decided", ylabel="accuracy")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
    _same_span(panels[:-1])
    _changes(panels[-1], found)
    return figure


def _same_span(panels: Iterable[Axes]) -> None:
    """Gives all panels as much height as the highest needs, each around its own middle."""
    limits = [(axes, *axes.get_ylim()) for axes in panels]
    half = max(high - low for _, low, high in limits) / 2
    for axes, low, high in limits:
        middle = (low + high) / 2
        axes.set_ylim(middle - half, middle + half)


def _changes(axes: Axes, found: Stabilities) -> None:
    """The sizes of all changes of each group side by side, with their mean."""
    look = looks(found.groups)
    for place, (label, group) in enumerate(found.groups.items()):
        sizes = np.abs(np.concatenate([own.changes for own in group]))
        beside = place + np.linspace(-0.25, 0.25, len(sizes))
        axes.plot(beside, sizes, "o", color=look[label].colour, markersize=2.5, alpha=0.5)
        axes.plot([place - 0.3, place + 0.3], [sizes.mean()] * 2, color="black", lw=2)
    axes.set_xticks(range(len(found.groups)), list(found.groups), rotation=30, ha="right")
    axes.set(ylabel="size of the change", xlim=(-0.5, len(found.groups) - 0.5))
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3, axis="y")
