"""Landscapes around trained weights: contours, heat maps and surfaces, side by side with one scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LogNorm, Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CUT_COLOR = "0.8"
"""Gray of values that are cut off."""
LEVELS = 16
CUT_ABOVE_MEDIAN = 4.0
"""By default, values above this many times the median are cut off."""
LOG_COLOR_RATIO = 10.0
"""Ratio of the largest to the smallest value from which colors are logarithmic."""
LOG_HEIGHT_RATIO = 1000.0
"""Ratio from which the height of surfaces is logarithmic too."""
LEAST_RANGE = 1e-6
"""Least range of the colors as a fraction of the top: values may be all the same."""
PANEL_WIDTH, PANEL_HEIGHT = 2.7, 2.9


@dataclass(frozen=True, eq=False)
class Surfaces:
    """Values on square grids, which are drawn with one scale.

    Args:
        values: By title [grid, grid], infinite ones included.
        steps: Coordinates by title [grid].
        label: What the values are.
        top: Values above are cut off.
    """

    values: Mapping[str, Floats]
    steps: Mapping[str, Floats]
    label: str
    top: float

    @classmethod
    def make(
        cls,
        values: Mapping[str, Floats],
        steps: Mapping[str, Floats],
        label: str,
        top: float | None = None,
    ) -> "Surfaces":
        """Surfaces cut at `top`; None for four times the median of all finite values, or their maximum."""
        finite = np.concatenate([grid[np.isfinite(grid)] for grid in values.values()])
        if top is None:
            top = float(min(CUT_ABOVE_MEDIAN * np.median(finite), finite.max())) if finite.size else 1.0
        return cls(values, steps, label, top)

    @property
    def norm(self) -> Normalize:
        """From values to colors."""
        lowest = min(float(grid.min()) for grid in self.values.values())
        low = min(lowest, self.top - LEAST_RANGE * (abs(self.top) or 1.0))
        is_log = 0 < low < self.top / LOG_COLOR_RATIO
        return LogNorm(low, self.top) if is_log else Normalize(low, self.top)

    @property
    def levels(self) -> Floats:
        """Values of contour lines, evenly spaced in color."""
        levels: Floats = np.asarray(self.norm.inverse(np.linspace(0, 1, LEVELS)))
        return levels

    @property
    def is_cut(self) -> bool:
        """True if some value lies above the top."""
        return any((grid > self.top).any() for grid in self.values.values())


def plot_contours(surfaces: Surfaces) -> Figure:
    """Contour lines, one panel per grid; values that are cut off are gray."""
    figure, panels = _flat_panels(surfaces)
    norm, levels = surfaces.norm, surfaces.levels
    highest = surfaces.top + 0.5 * (abs(surfaces.top) or 1.0)  # not far above what is cut off
    for axes, title in zip(panels, surfaces.values, strict=True):
        axes.set_facecolor(CUT_COLOR)
        clipped, steps = np.minimum(surfaces.values[title], highest), surfaces.steps[title]
        filled = axes.contourf(steps, steps, clipped, levels, norm=norm, alpha=0.6)
        if ((levels > clipped.min()) & (levels < clipped.max())).any():
            axes.contour(steps, steps, clipped, levels, norm=norm, linewidths=0.8)
    _add_colorbar(figure, filled, panels, surfaces)
    return figure


def plot_heat(surfaces: Surfaces) -> Figure:
    """Heat maps, one panel per grid; values that are cut off are gray."""
    figure, panels = _flat_panels(surfaces)
    for axes, (title, values) in zip(panels, surfaces.values.items(), strict=True):
        steps = surfaces.steps[title]
        filled = axes.pcolormesh(steps, steps, values, norm=surfaces.norm, cmap=_colormap())
    _add_colorbar(figure, filled, panels, surfaces)
    return figure


def plot_surfaces(surfaces: Surfaces) -> Figure:
    """Surfaces in three dimensions, one panel per grid; values that are cut off are flat and gray."""
    count = len(surfaces.values)
    figure = Figure((PANEL_WIDTH * count, PANEL_HEIGHT + 0.3), layout="constrained")
    heights = {title: np.minimum(values, surfaces.top) for title, values in surfaces.values.items()}
    lowest = surfaces.norm.vmin
    is_log = lowest is not None and 0 < lowest < surfaces.top / LOG_HEIGHT_RATIO
    if is_log:
        heights = {title: np.log10(values) for title, values in heights.items()}
    low = min(0.0, *(float(values.min()) for values in heights.values()))
    high = max(float(values.max()) for values in heights.values())
    for place, (title, values) in enumerate(surfaces.values.items(), 1):
        axes: Any = figure.add_subplot(1, count, place, projection="3d")
        x, y = np.meshgrid(surfaces.steps[title], surfaces.steps[title])
        colors = _colormap()(surfaces.norm(values))
        axes.plot_surface(x, y, heights[title], facecolors=colors, rcount=60, ccount=60, linewidth=0)
        axes.set_title(title, fontsize="medium")
        axes.set_zlim(low, high if high > low else low + 1)
        axes.tick_params(labelsize="x-small", pad=-2)
    label = f"log10 of the {surfaces.label}" if is_log else surfaces.label
    cut = f", cut at {surfaces.top:.3g}" if surfaces.is_cut else ""
    figure.suptitle(f"{label}{cut}", fontsize="medium")
    return figure


def _colormap() -> Colormap:
    return mpl.colormaps["viridis"].with_extremes(over=CUT_COLOR)


def _flat_panels(surfaces: Surfaces) -> tuple[Figure, Sequence[Axes]]:
    """A figure with a square panel for each grid, with a cross at the trained weights."""
    count = len(surfaces.values)
    figure = Figure((PANEL_WIDTH * count + 0.9, PANEL_HEIGHT), layout="constrained")
    panels = figure.subplots(1, count, sharey=True, squeeze=False)[0]
    for axes, title in zip(panels, surfaces.values, strict=True):
        axes.set_title(title, fontsize="medium")
        axes.plot(0, 0, "+", color="white", markersize=8)
        axes.set_aspect("equal")
        axes.set_xlabel("first direction")
    panels[0].set_ylabel("second direction")
    return figure, panels


def _add_colorbar(figure: Figure, filled: Any, panels: Sequence[Axes], surfaces: Surfaces) -> None:
    """What the colors mean, and what the gray means."""
    cut = f"\n(gray: above {surfaces.top:.3g})" if surfaces.is_cut else ""
    bar = figure.colorbar(filled, ax=list(panels), label=f"{surfaces.label}{cut}", format="%.3g")
    bar.minorticks_off()
