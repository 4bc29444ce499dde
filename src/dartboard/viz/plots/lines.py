"""Loss and accuracy along a line through weights."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dartboard.viz.line_styles import COLORS

Floats = NDArray[np.float64]
LOG_RATIO = 10.0
"""Ratio of the largest to the smallest loss from which its axis is logarithmic."""
MANY = 2
"""With more states than this, the plane of their principal directions is drawn as well."""


def plot_line(
    positions: Floats,
    losses: Floats,
    accuracies: Floats,
    plane: Floats,
    explained: tuple[float, float],
    labels: Sequence[str],
) -> Figure:
    """Loss and accuracy along a line through states, and the states in their principal plane.

    Args:
        positions: 0 at the first state, 1 at the second and so on [points].
        losses: Loss [points]; infinite ones are left out.
        accuracies: Accuracy [points].
        plane: Coordinates of the states [states, 2].
        explained: Fractions of the variance along the two directions.
        labels: Names of the states.
    """
    count = 3 if len(labels) > MANY else 2
    figure = Figure((3.8 * count, 3.2), layout="constrained")
    panels = figure.subplots(1, count)
    values = {"loss": np.where(np.isfinite(losses), losses, np.nan), "accuracy (%)": 100 * accuracies}
    for axes, color, (ylabel, curve) in zip(panels, COLORS, values.items(), strict=False):
        axes.plot(positions, curve, color=color)
        for place in range(len(labels)):
            axes.axvline(place, color="0.6", linewidth=0.8, linestyle=":")
        known = curve[np.isfinite(curve)]
        is_log = ylabel == "loss" and known.size > 0 and 0 < known.min() < known.max() / LOG_RATIO
        axes.set(ylabel=ylabel, yscale="log" if is_log else "linear")
        axes.set_xticks(range(len(labels)), labels, rotation=30, ha="right", fontsize="small")
        axes.grid(alpha=0.3, axis="y")
    if count > MANY:
        panels[-1].plot(plane[:, 0], plane[:, 1], marker="o", markersize=4, color=COLORS[2])
        for (x, y), label in zip(plane, labels, strict=True):
            panels[-1].annotate(label, (x, y), fontsize="x-small", textcoords="offset points", xytext=(3, 3))
        first, second = (f"{100 * fraction:.0f} % of the variance" for fraction in explained)
        panels[-1].set(xlabel=f"first direction, {first}", ylabel=f"second direction, {second}")
    return figure
