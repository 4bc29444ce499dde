"""Widths and depths of cells: where they are among all of their kind, and how they change over epochs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dartboard.viz.line_styles import COLORS, line_styles

COLUMNS = 3
LARGEST = 900.0
"""Area of the largest circle in square points."""


@dataclass(frozen=True)
class ShapePanel:
    """One panel: how many cells have each width and depth, and those of each cell that is marked, by name."""

    title: str
    counts: Mapping[tuple[float, int], int]
    cells: Mapping[str, tuple[float, int]]


def plot_shape_panels(panels: Sequence[ShapePanel]) -> Figure:
    """Cells as stars among all of their kind, with circles as large as the number of cells."""
    columns = min(len(panels), COLUMNS)
    rows = ceil(len(panels) / columns)
    figure = Figure((5.0 * columns, 4.0 * rows), layout="constrained")
    grid = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    for axes, panel in zip(grid, panels, strict=False):
        draw_bubbles(axes, panel.counts)
        draw_stars(axes, panel.cells)
        axes.set_title(panel.title, fontsize=7.5)
    return figure


def plot_shapes(epochs: Sequence[int], measures: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """Lines over epochs, a panel for each y label of `measures` with its values by group [epochs]."""
    figure = Figure((10, 3.2), layout="constrained")
    styles = line_styles(next(iter(measures.values())))
    for axes, (ylabel, by_arch) in zip(figure.subplots(1, len(measures)), measures.items(), strict=True):
        for group, values in by_arch.items():
            style = styles[group]
            look = {"color": style.color, "marker": style.marker, "markersize": 3}
            axes.plot(epochs, values, style.line, label=group, **look)
        axes.set(xlabel="epoch", ylabel=ylabel)
        axes.locator_params(axis="x", integer=True)
    if len(styles) <= len(COLORS):
        figure.axes[0].legend(fontsize=8)
    return figure


def draw_bubbles(axes: Axes, counts: Mapping[tuple[float, int], int], *, largest: float = LARGEST) -> None:
    """Draws each width and depth as a circle whose area is proportional to the number of cells."""
    total = sum(counts.values())
    fractions = {shape: count / total for shape, count in counts.items()}
    most = max(fractions.values())
    widths, depths = zip(*fractions, strict=True)
    areas = [largest * fraction / most for fraction in fractions.values()]
    axes.scatter(widths, depths, s=areas, color="#D5DBE1", edgecolor="#B4BDC6", linewidth=0.6, label="_")
    axes.set(xlabel="width (c)", ylabel="depth", yticks=sorted(set(depths)))
    axes.margins(0.16)


def draw_stars(axes: Axes, cells: Mapping[str, tuple[float, int]]) -> None:
    """Draws cells by width and depth as stars with their names; cells of one shape share a star."""
    names_by_shape: dict[tuple[float, int], list[str]] = {}
    for name, shape in cells.items():
        names_by_shape.setdefault(shape, []).append(name)
    for shape, names in names_by_shape.items():
        axes.scatter(*shape, marker="*", s=150, color=COLORS[1], zorder=3)
        axes.annotate("\n".join(names), shape, (0, 8), textcoords="offset points", ha="center", fontsize=7)
