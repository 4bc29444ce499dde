"""Regret while searching, against epochs or seconds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from dartboard.viz.band import Band
from dartboard.viz.line_styles import LineStyle, line_styles

Unit = Literal["epochs", "seconds"]

CROWDED = 6
"""With more methods than this, bands hide each other and get panels of their own."""
COLUMNS = 4
LINEAR_BELOW = 0.1
"""Points of regret below which the axis is no longer logarithmic."""


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
    rows = math.ceil(len(known) / COLUMNS) if crowded else 0
    heights = [5, 1.6 * rows] if crowded else [5]
    figure = Figure(figsize=(10, sum(heights)), layout="constrained")
    parts: Any = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    axes = parts[0].subplots()
    for label, band in ranked.items():
        _draw_regret(axes, band, styles[label], label, with_band=not crowded)
    _draw_reference(axes, reference, timed=unit == "seconds")
    _scale_axes(axes, unit)
    parts[0].legend(loc="outside right upper", frameon=False, handlelength=4)
    axes.set(xlabel=unit, ylabel=f"test regret on {dataset} (points)")
    if crowded:
        _draw_panels(parts[1], rows, ranked, styles, reference, unit)
    return figure


def _draw_panels(
    figure: SubFigure,
    rows: int,
    bands: Mapping[str, Band],
    styles: Mapping[str, LineStyle],
    reference: ReferenceCurve,
    unit: Unit,
) -> None:
    """Each method in a panel of its own."""
    panels = figure.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, (label, band) in zip(panels, bands.items(), strict=False):
        _draw_regret(axes, band, styles[label], label, with_band=True)
        _draw_reference(axes, reference, timed=unit == "seconds")
        axes.set_title(label, fontsize="medium")
    for place, axes in enumerate(panels):
        _scale_axes(axes, unit)  # the axes are shared: only now do they know everything they hold
        axes.tick_params(labelbottom=len(bands) - COLUMNS <= place)
        axes.axison = place < len(bands)


def _draw_regret(axes: Axes, band: Band, style: LineStyle, label: str, *, with_band: bool) -> None:
    line: dict[str, Any] = {"color": style.color, "linestyle": style.line, "marker": style.marker}
    axes.plot(band.x, 100 * band.mean, drawstyle="steps-post", markevery=[-1], label=label, **line)
    if with_band:
        low, high = 100 * (band.mean - band.std), 100 * (band.mean + band.std)
        fill: dict[str, Any] = {"step": "post", "color": style.color, "alpha": 0.15, "lw": 0}
        axes.fill_between(band.x, np.maximum(low, 0), high, **fill)


def _draw_reference(axes: Axes, reference: ReferenceCurve, *, timed: bool) -> None:
    """A curve where the axis is time and the time is known, else a level line at the final regret."""
    dashed = (0, (4, 2))
    line: dict[str, Any] = {
        "color": "0.45",
        "linestyle": dashed,
        "lw": 2,
        "label": reference.label,
        "zorder": 1,
    }
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
