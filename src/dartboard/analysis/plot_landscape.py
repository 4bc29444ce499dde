"""Pictures of landscapes: contours, heat maps and surfaces, several side by side with one scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LogNorm, Normalize
from matplotlib.figure import Figure

from dartboard.analysis.grid import Floats
from dartboard.analysis.landscape import Landscape

CUT = "0.8"
"""The grey of what is cut off."""
LEVELS = 16
BEYOND = 4.0
"""Values above so many times the median of all are cut off, unless told otherwise."""
RATIO = 10.0
"""From this ratio of the largest to the smallest value on, colours follow the logarithm."""
STEEP = 1000.0
"""From this ratio on, the height of surfaces does as well."""
NARROW = 1e-6
"""Colours reach at least so far below the top, as a part of it: values may be all the same."""
WIDE, HIGH = 2.7, 2.9
"""Inches of a panel."""
NAMES = {
    "loss": "mean loss",
    "gradient": "norm of the gradient",
    "smoothness": "change of the gradient per distance",
    "variance": "standard deviation of the gradients",
}
"""What is measured, as it stands beside the colours; of variances the root is shown."""


@dataclass(frozen=True, eq=False)
class Shown:
    """Landscapes as they are drawn.

    Args:
        values: By title [grid, grid], infinite ones included.
        steps: Coordinates by title [grid].
        top: What lies above is cut off.
        label: What the values are.
    """

    values: Mapping[str, Floats]
    steps: Mapping[str, Floats]
    top: float
    label: str

    @property
    def norm(self) -> Normalize:
        """From values to colours."""
        low = min(*(float(own.min()) for own in self.values.values()), self.top - self._share(NARROW))
        return LogNorm(low, self.top) if 0 < low < self.top / RATIO else Normalize(low, self.top)

    @property
    def levels(self) -> Floats:
        """Of contour lines, at even distances between colours."""
        found: Floats = np.asarray(self.norm.inverse(np.linspace(0, 1, LEVELS)))
        return found

    @property
    def is_cut(self) -> bool:
        """Whether something lies above the top."""
        return any((own > self.top).any() for own in self.values.values())

    def clipped(self, name: str) -> Floats:
        """The values with this title, those above the top not far above it."""
        found: Floats = np.minimum(self.values[name], self.top + self._share(0.5))
        return found

    def _share(self, part: float) -> float:
        return part * (abs(self.top) or 1.0)


def shown(found: Mapping[str, Landscape], top: float | None = None) -> Shown:
    """Landscapes of one measure as they are drawn.

    Args:
        found: By title.
        top: What lies above is cut off; None for four times the median of all finite values, if there is
            more; 1 if there are none.
    """
    of = next(iter(found.values())).options.of
    values = {name: np.sqrt(own.values) if of == "variance" else own.values for name, own in found.items()}
    every = np.concatenate([own[np.isfinite(own)] for own in values.values()])
    if top is None:
        top = float(min(BEYOND * np.median(every), every.max())) if every.size else 1.0
    return Shown(values, {name: own.steps for name, own in found.items()}, top, NAMES[of])


def draw_contours(found: Mapping[str, Landscape], *, top: float | None = None) -> Figure:
    """Contour lines, one panel a landscape; what is cut off is grey. Arguments are those of `shown`."""
    own = shown(found, top)
    figure, panels = _panels(own)
    for axes, name in zip(panels, own.values, strict=True):
        axes.set_facecolor(CUT)
        clipped, steps = own.clipped(name), own.steps[name]
        filled = axes.contourf(steps, steps, clipped, own.levels, norm=own.norm, alpha=0.6)
        if ((own.levels > clipped.min()) & (own.levels < clipped.max())).any():
            axes.contour(steps, steps, clipped, own.levels, norm=own.norm, linewidths=0.8)
    _bar(figure, filled, panels, own)
    return figure


def draw_heat(found: Mapping[str, Landscape], *, top: float | None = None) -> Figure:
    """Heat maps, one panel a landscape; what is cut off is grey. Arguments are those of `shown`."""
    own = shown(found, top)
    figure, panels = _panels(own)
    for axes, (name, values) in zip(panels, own.values.items(), strict=True):
        steps = own.steps[name]
        filled = axes.pcolormesh(steps, steps, values, norm=own.norm, cmap=_colours())
    _bar(figure, filled, panels, own)
    return figure


def draw_surfaces(found: Mapping[str, Landscape], *, top: float | None = None) -> Figure:
    """Surfaces in three dimensions, one panel a landscape; what is cut off is flat and grey."""
    own = shown(found, top)
    figure, raised = Figure((WIDE * len(own.values), HIGH + 0.3), layout="constrained"), _raised(own)
    for place, (name, values) in enumerate(own.values.items(), 1):
        axes: Any = figure.add_subplot(1, len(own.values), place, projection="3d")
        across, along = np.meshgrid(own.steps[name], own.steps[name])
        colours = _colours()(own.norm(values))
        axes.plot_surface(across, along, raised[name], facecolors=colours, rcount=60, ccount=60, linewidth=0)
        axes.set_title(name, fontsize="medium")
        axes.set_zlim(*_heights(raised))
        axes.tick_params(labelsize="x-small", pad=-2)
    label = f"log10 of the {own.label}" if _is_steep(own) else own.label
    figure.suptitle(f"{label}{f', cut at {own.top:.3g}' if own.is_cut else ''}", fontsize="medium")
    return figure


def _is_steep(own: Shown) -> bool:
    low = own.norm.vmin
    return low is not None and 0 < low < own.top / STEEP


def _raised(own: Shown) -> dict[str, Floats]:
    """The heights of surfaces by title."""
    clipped = {name: np.minimum(values, own.top) for name, values in own.values.items()}
    return {name: np.log10(each) for name, each in clipped.items()} if _is_steep(own) else clipped


def _heights(raised: Mapping[str, Floats]) -> tuple[float, float]:
    """From 0, or from below, to the highest; never nothing."""
    low = min(0.0, *(float(each.min()) for each in raised.values()))
    high = max(float(each.max()) for each in raised.values())
    return low, high if high > low else low + 1


def _colours() -> Colormap:
    return mpl.colormaps["viridis"].with_extremes(over=CUT)


def _panels(own: Shown) -> tuple[Figure, Sequence[Axes]]:
    figure = Figure((WIDE * len(own.values) + 0.9, HIGH), layout="constrained")
    panels = figure.subplots(1, len(own.values), sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, own.values, strict=True):
        axes.set_title(name, fontsize="medium")
        axes.plot(0, 0, "+", color="white", markersize=8)
        axes.set_aspect("equal")
        axes.set_xlabel("first direction")
    panels[0].set_ylabel("second direction")
    return figure, panels


def _bar(figure: Figure, filled: Any, panels: Sequence[Axes], own: Shown) -> None:
    """What the colours mean, with what the grey means."""
    words = f"{own.label}\n(grey: above {own.top:.3g})" if own.is_cut else own.label
    bar = figure.colorbar(filled, ax=list(panels), label=words, format="%.3g")
    bar.minorticks_off()
