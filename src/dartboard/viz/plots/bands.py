"""Curves over epochs: means as lines, standard deviations as bands."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dartboard.viz.band import Band
from dartboard.viz.line_styles import LineStyle, line_styles

BAND_ALPHA = 0.15
COLUMNS = 3
LEGEND_COLUMNS = 4


def plot_band_grid(grid: Mapping[str, Mapping[str, Mapping[str, Band]]]) -> Figure:
    """A grid of panels with one legend; all panels have the same labels.

    Args:
        grid: For each y label and each column title, the bands by label.
    """
    first_row = next(iter(grid.values()))
    figure = Figure((1.2 + 3.6 * len(first_row) + 1.6, 0.4 + 2.5 * len(grid)), layout="constrained")
    panels = figure.subplots(len(grid), len(first_row), squeeze=False, sharex=True, sharey="row")
    for row, (ylabel, columns) in zip(panels, grid.items(), strict=True):
        row[0].set_ylabel(ylabel)
        for axes, bands in zip(row, columns.values(), strict=True):
            for label, style in line_styles(bands).items():
                draw_band(axes, bands[label], style.color, label, linestyle=style.line, linewidth=1.4)
    for axes, title in zip(panels[0], first_row, strict=True):
        axes.set_title(title, fontsize="medium")
    for axes in panels[-1]:
        axes.set_xlabel("epoch")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize="small", frameon=False)
    return figure


def plot_band_panels(panels: Mapping[str, Mapping[str, Band]], styles: Mapping[str, LineStyle]) -> Figure:
    """Panels of bands over epochs, three in a row, with one legend.

    Args:
        panels: For each y label, the bands by label; a label may be missing in some panels.
        styles: The line style of each label.
    """
    rows = -(-len(panels) // COLUMNS)
    figure = Figure((11, 3 * rows), layout="constrained")
    grid = figure.subplots(rows, COLUMNS, sharex=True, squeeze=False)
    for axes, (ylabel, bands) in zip(grid.ravel(), panels.items(), strict=True):
        for label, band in bands.items():
            style = styles[label]
            line = {"linestyle": style.line, "marker": style.marker, "markersize": 3}
            draw_band(axes, band, style.color, label, **line)
        axes.set(ylabel=ylabel)
        mark_epochs(axes)
    for axes in grid[-1]:
        axes.set_xlabel("epochs")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    columns = min(len(labels), LEGEND_COLUMNS)
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False)
    return figure


def draw_band(axes: Axes, band: Band, color: str, label: str, **line: Any) -> None:
    """Draws a mean as a line, styled by matplotlib's keywords, and its standard deviation as a band."""
    axes.plot(band.x, band.mean, color=color, label=label, **line)
    if np.any(band.std):
        low, high = band.mean - band.std, band.mean + band.std
        axes.fill_between(band.x, low, high, color=color, alpha=BAND_ALPHA, linewidth=0)


def mark_epochs(axes: Axes) -> None:
    """Gives axes integer epochs as ticks, and a grid."""
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
