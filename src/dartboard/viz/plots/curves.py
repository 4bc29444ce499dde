"""Curves: metrics of a run over epochs, means with bands, regret while searching."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dartboard.viz.band import Band
from dartboard.viz.line_styles import LineStyle, line_styles

BAND_ALPHA = 0.15
BAND_NOTE = "bands: mean +- 1 std over seeds"
"""Title of the legend of a figure that has bands."""
COLUMNS = 3
LEGEND_COLUMNS = 4
HISTORY_PANELS = {"loss": "loss", "accuracy": "accuracy"}
"""Title of each panel, by how the names of its metrics end."""
CROWDED = 6
"""With more methods than this, bands hide each other and get panels of their own."""
CROWDED_COLUMNS = 4
LINEAR_BELOW = 0.1
"""Points of regret below which the axis is no longer logarithmic."""

Unit = Literal["epochs", "seconds"]


def plot_history(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """A figure with the losses and the accuracies of a run, each against the number of epochs.

    Args:
        rows: The metrics of epochs, as `RunReader.metrics` gives them; those that are None are left out.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    figure = Figure((8, 3), layout="constrained")
    for axes, (ending, title) in zip(
        figure.subplots(1, len(HISTORY_PANELS)), HISTORY_PANELS.items(), strict=True
    ):
        metrics = [name for name in names if name == ending or name.endswith(f"_{ending}")]
        styles = line_styles(metrics)
        for name in metrics:
            points = [(row["epoch"] + 1, row[name]) for row in rows if row.get(name) is not None]
            color = styles[name].color
            axes.plot(*zip(*points, strict=True), color=color, label=name.replace("_", " "), marker=".")
        axes.set_xlabel("epochs")
        axes.set_ylabel(title)
        mark_epochs(axes)
        if metrics:
            axes.legend(frameon=False, fontsize=8)
    return figure


def plot_band_grid(grid: Mapping[str, Mapping[str, Mapping[str, Band]]]) -> Figure:
    """A grid of panels with one legend: for each y label and each column title, the bands by label.

    All panels have the same labels.
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
    every = [band for columns in grid.values() for bands in columns.values() for band in bands.values()]
    legend: dict[str, Any] = {"fontsize": "small", "title_fontsize": "small", "frameon": False}
    figure.legend(handles, labels, loc="outside right upper", title=band_note(every), **legend)
    return figure


def plot_band_panels(panels: Mapping[str, Mapping[str, Band]], styles: Mapping[str, LineStyle]) -> Figure:
    """Panels of bands over epochs, three in a row, with one legend.

    Args:
        panels: For each y label, the bands by label; a label may be missing in some panels.
        styles: The line style of each label.
    """
    rows = -(-len(panels) // COLUMNS)
    figure = Figure((11, 3 * rows), layout="constrained")
    places = figure.subplots(rows, COLUMNS, sharex=True, squeeze=False).ravel()
    used, unused = places[: len(panels)], places[len(panels) :]
    for axes in unused:
        axes.remove()
    for axes, (ylabel, bands) in zip(used, panels.items(), strict=True):
        for label, band in bands.items():
            style = styles[label]
            line = {"linestyle": style.line, "marker": style.marker, "markersize": 3}
            draw_band(axes, band, style.color, label, **line)
        axes.set(ylabel=ylabel)
        mark_epochs(axes)
    for axes in used[-COLUMNS:]:  # the lowest of each column
        axes.set_xlabel("epochs")
        axes.tick_params(labelbottom=True)
    handles, labels = used[0].get_legend_handles_labels()
    columns = min(len(labels), LEGEND_COLUMNS)
    title = band_note(band for bands in panels.values() for band in bands.values())
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, title=title, frameon=False)
    return figure


def band_note(bands: Iterable[Band]) -> str | None:
    """What bands show, as the title of a legend; None if there are none to see."""
    return BAND_NOTE if any(np.any(band.std) for band in bands) else None


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


@dataclass(frozen=True)
class ReferenceCurve:
    """What random search reaches, drawn as a dashed line.

    Args:
        label: For the legend.
        regrets: The expected regret after each query.
        seconds: Seconds that the trainings up to each query take; None where unknown.
    """

    label: str
    regrets: Sequence[float]
    seconds: Sequence[float] | None = None


def plot_regret(
    bands: Mapping[str, Band | None], unit: Unit, dataset: str, reference: ReferenceCurve
) -> Figure:
    """A line with a band for each method: mean regret over seeds, plus and minus one standard deviation.

    The legend begins with the lowest final regret. With many methods, the lines are drawn together without
    their bands, and below each has a panel of its own with its band.

    Args:
        bands: By label; None for a method that is not drawn.
        unit: Unit of the horizontal axis, logarithmic for seconds.
        dataset: Name of the data set.
        reference: Drawn as a dashed line.
    """
    known = {label: band for label, band in bands.items() if band is not None}
    ranked = {label: known[label] for label in sorted(known, key=lambda label: known[label].mean[-1])}
    styles, crowded = line_styles(bands), len(known) > CROWDED
    rows = math.ceil(len(known) / CROWDED_COLUMNS) if crowded else 0
    heights = [5, 1.6 * rows] if crowded else [5]
    figure = Figure(figsize=(10, sum(heights)), layout="constrained")
    parts: Any = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    axes = parts[0].subplots()
    for label, band in ranked.items():
        _draw_regret(axes, band, styles[label], label, with_band=not crowded)
    _draw_reference(axes, reference, timed=unit == "seconds")
    _scale_axes(axes, unit)
    parts[0].legend(loc="outside right upper", frameon=False, handlelength=4, title=band_note(known.values()))
    axes.set(xlabel=unit, ylabel=f"test regret on {dataset} (points)")
    if crowded:
        panels = parts[1].subplots(rows, CROWDED_COLUMNS, sharex=True, sharey=True, squeeze=False).ravel()
        for panel, (label, band) in zip(panels, ranked.items(), strict=False):
            _draw_regret(panel, band, styles[label], label, with_band=True)
            _draw_reference(panel, reference, timed=unit == "seconds")
            panel.set_title(label, fontsize="medium")
        for place, panel in enumerate(panels):
            _scale_axes(panel, unit)  # the axes are shared: only now do they know everything they hold
            panel.tick_params(labelbottom=len(ranked) - CROWDED_COLUMNS <= place)
            panel.axison = place < len(ranked)
    return figure


def _draw_regret(axes: Axes, band: Band, style: LineStyle, label: str, *, with_band: bool) -> None:
    line: dict[str, Any] = {"color": style.color, "linestyle": style.line, "marker": style.marker}
    axes.plot(band.x, 100 * band.mean, drawstyle="steps-post", markevery=[-1], label=label, **line)
    if with_band:
        low, high = 100 * (band.mean - band.std), 100 * (band.mean + band.std)
        fill: dict[str, Any] = {"step": "post", "color": style.color, "alpha": 0.15, "lw": 0}
        axes.fill_between(band.x, np.maximum(low, 0), high, **fill)


def _draw_reference(axes: Axes, reference: ReferenceCurve, *, timed: bool) -> None:
    """A curve where the axis is time and the time is known, else a level line at the final regret."""
    line: dict[str, Any] = {"color": "0.45", "linestyle": (0, (4, 2)), "lw": 2, "zorder": 1}
    line["label"] = reference.label
    if timed and reference.seconds is not None:
        axes.plot(reference.seconds, 100 * np.array(reference.regrets), **line)
    else:
        axes.axhline(100 * reference.regrets[-1], **line)


def _scale_axes(axes: Axes, unit: Unit) -> None:
    axes.set_yscale("symlog", linthresh=LINEAR_BELOW, linscale=0.5)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:g}")
    if unit == "seconds":
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
