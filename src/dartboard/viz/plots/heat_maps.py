"""Heat maps in panels that share their colors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

COLUMNS = 5


@dataclass(frozen=True, eq=False)
class HeatMap:
    """One panel.

    Args:
        title: The title of the panel.
        rows: Labels of the rows.
        columns: Labels of the columns.
        values: Numbers to show [rows, columns]; NaN where there is none.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: NDArray[np.float64]


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
