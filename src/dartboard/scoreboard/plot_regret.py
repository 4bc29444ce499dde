"""The picture of regret against epochs or seconds."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from dartboard.scoreboard.baselines import Baseline
from dartboard.scoreboard.curves import Band
from dartboard.viz.line_styles import Look, looks

Bands = Mapping[str, Band]
Looks = Mapping[str, Look]
Style = dict[str, Any]
Unit = Literal["epochs", "seconds"]

CROWDED = 6
"""With more methods than this, bands hide each other and get panels of their own."""
ACROSS = 4
"""Panels side by side."""
FINEST = 0.1
"""Points of regret below which the axis is no longer logarithmic."""


def plot_regret(bands: Mapping[str, Band | None], unit: Unit, dataset: str, random: Baseline) -> Figure:
    """A line a method with its band: the mean regret of its seeds, one deviation up and down.

    The legend begins with the lowest regret at the end. With many methods the lines are together without
    their bands, and below each is once more alone with its own.

    Args:
        bands: By label; None for a method that is not drawn.
        unit: Of the horizontal axis, logarithmic for seconds.
        dataset: Whose regret it is.
        random: Drawn as a dashed line.
    """
    found = {label: band for label, band in bands.items() if band is not None}
    ranked = {label: found[label] for label in sorted(found, key=lambda own: found[own].mean[-1])}
    look, crowded = looks(bands), len(found) > CROWDED
    down = math.ceil(len(found) / ACROSS) if crowded else 0
    heights = [5, 1.6 * down] if crowded else [5]
    figure = Figure(figsize=(10, sum(heights)), layout="constrained")
    parts: Any = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    axes = _together(parts[0], ranked, look, random, unit, bare=crowded)
    axes.set(xlabel=unit, ylabel=f"test regret on {dataset} (points)")
    if crowded:
        _apart(parts[1], down, ranked, look, random, unit)
    return figure


def _together(
    figure: SubFigure, bands: Bands, look: Looks, random: Baseline, unit: Unit, *, bare: bool
) -> Axes:
    """All methods in one panel with a legend; without their bands if it is to be bare."""
    axes = figure.subplots()
    for label, band in bands.items():
        _line(axes, band, look[label], label)
        if not bare:
            _band(axes, band, look[label])
    _dashes(axes, random, timed=unit == "seconds")
    _scale(axes, unit)
    figure.legend(loc="outside right upper", frameon=False, handlelength=4)
    return axes


def _apart(figure: SubFigure, down: int, bands: Bands, look: Looks, random: Baseline, unit: Unit) -> None:
    """Each method in a panel of its own."""
    panels = figure.subplots(down, ACROSS, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, (label, band) in zip(panels, bands.items(), strict=False):
        _line(axes, band, look[label], label)
        _band(axes, band, look[label])
        _dashes(axes, random, timed=unit == "seconds")
        axes.set_title(label, fontsize="medium")
    for place, axes in enumerate(panels):
        _scale(axes, unit)  # the axes are shared: only now do they know everything they hold
        axes.tick_params(labelbottom=len(bands) - ACROSS <= place)
        axes.axison = place < len(bands)


def _line(axes: Axes, band: Band, look: Look, label: str) -> None:
    style: Style = {"color": look.colour, "linestyle": look.line, "marker": look.marker}
    axes.plot(band.x, 100 * band.mean, drawstyle="steps-post", markevery=[-1], label=label, **style)


def _band(axes: Axes, band: Band, look: Look) -> None:
    low, high = 100 * (band.mean - band.deviation), 100 * (band.mean + band.deviation)
    axes.fill_between(band.x, np.maximum(low, 0), high, step="post", color=look.colour, alpha=0.15, lw=0)


def _dashes(axes: Axes, random: Baseline, *, timed: bool) -> None:
    """Random's expected regret: a curve where the time of its trainings is known, else what it ends with."""
    label = f"random, best of {random.queries:,}" if random.queries > 1 else "random, one cell"
    style: Style = {"color": "0.45", "linestyle": (0, (4, 2)), "lw": 2, "label": label, "zorder": 1}
    if timed and random.seconds is not None:
        axes.plot(random.seconds, 100 * np.array(random.regrets), **style)
    else:
        axes.axhline(100 * random.regrets[-1], **style)


def _scale(axes: Axes, unit: Unit) -> None:
    axes.set_yscale("symlog", linthresh=FINEST, linscale=0.5)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:g}")
    if unit == "seconds":
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
