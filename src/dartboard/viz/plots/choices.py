"""What searches would choose after each epoch, how clearly, and heat maps of the strengths of candidates."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from dartboard.space.spec import NONE
from dartboard.viz.line_styles import COLORS

COLUMNS = 5
HATCHES = ("", "////", "....", "xxxx")
"""Tell ops apart that have the same color."""

Floats = NDArray[np.float64]


def plot_op_counts(
    counts: Mapping[str, Mapping[str, Mapping[str, Floats]]],
    epochs: Mapping[str, Sequence[int]],
    ops: Sequence[str],
) -> Figure:
    """Stacked bars over epochs: for how many edges each op would be chosen.

    Args:
        counts: A row of panels for each label and a panel for each group in it, which may be called "": how
            often each op would be chosen [epochs].
        epochs: The epochs of each label.
        ops: All ops, in the order of colors.
    """
    columns = max(map(len, counts.values()))
    figure = Figure((4.4 * columns + 1.8, 2.2 * len(counts) + 0.6), layout="constrained")
    panels = figure.subplots(len(counts), columns, squeeze=False)
    for row, (label, groups) in zip(panels, counts.items(), strict=True):
        for axes, (group, by_op) in zip(row, groups.items(), strict=False):
            base = np.zeros(len(epochs[label]))
            for place, op in enumerate(ops):
                heights = by_op.get(op, np.zeros(len(base)))
                color = "0.85" if op == NONE else COLORS[place % len(COLORS)]
                bars = {"color": color, "hatch": HATCHES[place // len(COLORS) % len(HATCHES)]}
                axes.bar(epochs[label], heights, 0.9, base, edgecolor="white", lw=0.3, label=op, **bars)
                base = base + heights
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_locator(MaxNLocator(integer=True))
            axes.set_title(f"{label}, {group}" if group else label, fontsize="medium")
        for axes in row[len(groups) :]:
            axes.set_axis_off()
        row[0].set_ylabel("edges")
    for axes in panels[-1]:
        axes.set_xlabel("epochs")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside right upper", frameon=False)
    return figure


def plot_margins(margins: Mapping[str, Floats], borders: Mapping[str, Sequence[int]]) -> Figure:
    """Heat maps of the lead of each edge's strongest op over the next [edges, epochs], one panel per label.

    `borders` are the rows before which the edges of another cell begin.
    """
    heights = [max(1.6, 0.09 * len(table)) for table in margins.values()]
    figure = Figure((7, sum(heights) + 0.8), layout="constrained")
    panels = figure.subplots(len(margins), 1, squeeze=False, height_ratios=heights)[:, 0]
    most = max(float(table.max(initial=0.0)) for table in margins.values()) or 1.0
    for axes, (label, table) in zip(panels, margins.items(), strict=True):
        extent = (0.5, table.shape[1] + 0.5, len(table) - 0.5, -0.5)
        image = axes.imshow(table, aspect="auto", vmin=0, vmax=most, cmap="viridis", extent=extent)
        for row in borders[label]:
            axes.axhline(row - 0.5, color="white", lw=0.8)
        axes.set_title(label, fontsize="medium")
        axes.set_ylabel("edge")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    panels[-1].set_xlabel("epochs")
    figure.colorbar(image, ax=list(panels), label="lead of the strongest op")
    return figure


@dataclass(frozen=True, eq=False)
class HeatMap:
    """One panel: numbers to show [rows, columns], NaN where there is none, and the labels of both axes."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Floats


def plot_heat_maps(maps: Sequence[HeatMap], label: str) -> Figure:
    """A panel for each heat map, and what the colors mean under a label."""
    columns = min(COLUMNS, len(maps))
    rows = math.ceil(len(maps) / columns)
    most_rows, most_columns = max(len(one.rows) for one in maps), max(len(one.columns) for one in maps)
    width, height = max(0.26 * most_columns, 1.8) + 0.6, max(0.2 * most_rows, 1.2) + 0.5
    figure = Figure((columns * width + 1.4, rows * height + 1.1), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    low = min(float(np.nanmin(one.values)) for one in maps)
    high = max(float(np.nanmax(one.values)) for one in maps)
    for axes, one in zip(panels, maps, strict=False):
        axes.set_facecolor("0.8")
        image = axes.imshow(one.values, aspect="auto", vmin=low, vmax=high, cmap="viridis")
        axes.set_title(one.title, fontsize="medium")
        axes.set_xticks(range(len(one.columns)), one.columns, rotation=90, fontsize=7)
        axes.set_yticks(range(len(one.rows)), one.rows, fontsize=6)
    for place, axes in enumerate(panels):
        axes.axison = place < len(maps)
        if place + columns < len(maps):
            axes.set_xticklabels([])
    figure.colorbar(image, ax=list(panels), label=label, shrink=min(1.0, 2 / rows))
    return figure
