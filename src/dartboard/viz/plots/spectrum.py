"""The spectrum of a Hessian: the density of its eigenvalues."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dartboard.viz.line_styles import COLORS

FLOOR = 1e-6
"""Densities below this fraction of the highest are not shown."""


def plot_density(
    eigenvalues: NDArray[np.float64], density: NDArray[np.float64], marks: Sequence[float]
) -> Figure:
    """The density of eigenvalues on a logarithmic scale.

    Args:
        eigenvalues: Where the density is known [points].
        density: The density there [points].
        marks: Eigenvalues that are marked with ticks at the bottom; those that are NaN are left out.
    """
    figure = Figure((5.5, 3.2), layout="constrained")
    axes = figure.subplots()
    bottom, top = FLOOR * float(density.max()), 2 * float(density.max())
    axes.fill_between(
        eigenvalues, bottom, np.maximum(density, bottom), color=COLORS[0], alpha=0.2, linewidth=0
    )
    axes.plot(
        eigenvalues, np.maximum(density, bottom), color=COLORS[0], linewidth=1.2, label="smoothed density"
    )
    known = [mark for mark in marks if math.isfinite(mark)]
    axes.plot(
        known, [bottom] * len(known), "|", color=COLORS[1], markersize=14, label="eigenvalues", clip_on=False
    )
    axes.set(yscale="log", ylim=(bottom, top), xlabel="eigenvalue of the Hessian", ylabel="density")
    axes.legend(frameon=False, fontsize="small")
    return figure
