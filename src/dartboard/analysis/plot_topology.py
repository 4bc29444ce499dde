"""Pictures of shapes: where cells are among all of their kind, and what a search chooses over its epochs."""

from collections.abc import Mapping, Sequence
from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dartboard.analysis.standing import Kind
from dartboard.analysis.topology import Epoch, shape_of
from dartboard.space import Cell
from dartboard.viz.line_styles import COLOURS, looks

MEASURES = {"width": "width (c)", "depth": "depth", "mean_source": "mean source index"}
"""What is drawn over epochs, with its words."""

COLUMNS = 3


def draw_standing(panels: Sequence[tuple[str, Kind, Mapping[str, Cell]]]) -> Figure:
    """Cells as stars among all of their kind, circles as large as shares; a panel for each title and kind."""
    columns = min(len(panels), COLUMNS)
    rows = ceil(len(panels) / columns)
    figure = Figure((5.0 * columns, 4.0 * rows), layout="constrained")
    grid = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    for axes, (title, kind, cells) in zip(grid, panels, strict=False):
        bubbles(axes, kind)
        stars(axes, cells)
        counted = "all" if kind.exact else "a sample of"
        about = f"{title}: {counted} {kind.total:,} {kind.about}"
        axes.set_title(about, fontsize=7.5)
    return figure


def draw_epochs(epochs: Sequence[Epoch]) -> Figure:
    """Width, depth and mean source over epochs, a line for each arch."""
    figure = Figure((10, 3.2), layout="constrained")
    styles = looks(epochs[-1].shapes)
    for axes, (name, words) in zip(figure.subplots(1, len(MEASURES)), MEASURES.items(), strict=True):
        for arch, look in styles.items():
            values = [getattr(one.shapes[arch], name) for one in epochs]
            places = [one.epoch for one in epochs]
            axes.plot(
                places, values, look.line, color=look.colour, marker=look.marker, markersize=3, label=arch
            )
        axes.set(xlabel="epoch", ylabel=words)
        axes.locator_params(axis="x", integer=True)
    if len(styles) <= len(COLOURS):
        figure.axes[0].legend(fontsize=8)
    return figure


def bubbles(axes: Axes, kind: Kind, *, largest: float = 900.0) -> None:
    """Every width and depth of a kind as a circle as large as its share."""
    shares = {place: ways / kind.total for place, ways in kind.ways.items()}
    most = max(shares.values())
    wide, deep = zip(*shares, strict=True)
    sizes = [largest * share / most for share in shares.values()]
    axes.scatter(wide, deep, s=sizes, color="#D5DBE1", edgecolor="#B4BDC6", linewidth=0.6, label="_")
    axes.set(xlabel="width (c)", ylabel="depth", yticks=sorted(set(deep)))
    axes.margins(0.16)


def stars(axes: Axes, cells: Mapping[str, Cell]) -> None:
    """Cells as stars with their names beside them; those of one place share a star."""
    there: dict[tuple[float, int], list[str]] = {}
    for name, cell in cells.items():
        own = shape_of(cell)
        there.setdefault((own.width, own.depth), []).append(name)
    for (wide, deep), names in there.items():
        axes.scatter(wide, deep, marker="*", s=150, color=COLOURS[1], zorder=3)
        axes.annotate(
            "\n".join(names), (wide, deep), (0, 8), textcoords="offset points", ha="center", fontsize=7
        )
