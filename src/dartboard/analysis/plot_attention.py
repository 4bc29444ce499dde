"""The picture of what cells attend to."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from dartboard.analysis.attention import HeatMap

ACROSS = 5
"""Panels side by side."""


def draw_attention(maps: Sequence[HeatMap]) -> Figure:
    """A panel a cell, edges down and ops across, all in the same colours."""
    across = min(ACROSS, len(maps))
    down = math.ceil(len(maps) / across)
    edges, ops = max(len(own.edges) for own in maps), max(len(own.ops) for own in maps)
    width, height = max(0.26 * ops, 1.8) + 0.6, max(0.2 * edges, 1.2) + 0.5
    figure = Figure((across * width + 1.4, down * height + 1.1), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False)
    low = min(float(np.nanmin(own.weights)) for own in maps)
    high = max(float(np.nanmax(own.weights)) for own in maps)
    for axes, own in zip(panels.ravel(), maps, strict=False):
        image = _panel(axes, own, low, high)
    for place, axes in enumerate(panels.ravel()):
        axes.axison = place < len(maps)
        if place + across < len(maps):
            axes.set_xticklabels([])
    figure.colorbar(image, ax=list(panels.ravel()), label="weight", shrink=min(1.0, 2 / down))
    return figure


def _panel(axes: Axes, own: HeatMap, low: float, high: float) -> AxesImage:
    axes.set_facecolor("0.8")
    image = axes.imshow(own.weights, aspect="auto", vmin=low, vmax=high, cmap="viridis")
    axes.set_title(own.title, fontsize="medium")
    axes.set_xticks(range(len(own.ops)), own.ops, rotation=90, fontsize=7)
    axes.set_yticks(range(len(own.edges)), [f"{source}-{target}" for source, target in own.edges], fontsize=6)
    return image
