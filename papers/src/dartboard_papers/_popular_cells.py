"""The popular cells of "Understanding", and their drawings."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from dartboard.analysis.topology import ShapeDistribution, shape_of
from dartboard.space import Cell, Genotype, get_published
from dartboard.viz.cells import draw_cell

NAMES = {
    "NASNet": "nasnet-a",
    "AmoebaNet": "amoebanet-a",
    "ENAS": "enas",
    "DARTS": "darts-v2",
    "SNAS": "snas",
}
"""Published cells by their names in the paper."""
NORMAL = "normal"


def popular(name: str) -> Genotype:
    """The cells that the paper calls `name`."""
    return get_published(NAMES[name])


def normal_cell(genotype: Genotype) -> Cell:
    """The cell that the paper looks at."""
    return genotype.cells[NORMAL]


def caption(cell: Cell) -> str:
    """Width and depth as the paper writes them: `3.5c, 3`."""
    shape = shape_of(cell)
    return f"{shape.width:g}c, {shape.depth}"


def chance_of_standing(kind: ShapeDistribution, others: int, *, slack: int = 0) -> float:
    """Probability that a random connection of a kind is as wide and as shallow as all of some others.

    Args:
        kind: All connections.
        others: Number of other random connections.
        slack: How much deeper than the others it may be.
    """
    total, chance = kind.total, 0.0
    for (wide, deep), ways in kind.ways.items():
        below = sum(count for (w, d), count in kind.ways.items() if w <= wide + 1e-9 and d >= deep - slack)
        chance += ways / total * (below / total) ** others
    return chance


def topologies(panels: Sequence[Axes], cells: Sequence[tuple[str, Cell]]) -> None:
    """Draws cells without labels, all to one scale, under their titles."""
    drawn = list(zip(panels, cells, strict=False))
    for axes, (title, cell) in drawn:
        draw_cell(axes, cell, labels=False)
        axes.set_title(title, fontsize=9)
    for get, put in ((Axes.get_xlim, Axes.set_xlim), (Axes.get_ylim, Axes.set_ylim)):
        span = max(high - low for low, high in (get(axes) for axes, _ in drawn))
        for axes, _ in drawn:
            middle = sum(get(axes)) / 2
            put(axes, (middle - span / 2, middle + span / 2))
    for axes in panels[len(drawn) :]:
        axes.set_axis_off()


def dots(axes: Axes, shapes: Sequence[tuple[float, float]], color: str, marker: str, label: str) -> None:
    """Shapes as markers; equal ones beside each other."""
    seen: dict[tuple[float, float], int] = {}
    spots = []
    for width, depth in shapes:
        count = seen[width, depth] = seen.get((width, depth), -1) + 1
        spots.append((width + 0.07 * (count % 3 - 1), depth + 0.16 * (count // 3)))
    x, y = zip(*spots, strict=True)
    axes.scatter(
        x, y, s=22, marker=marker, facecolor=color, edgecolor="white", linewidth=0.5, label=label, zorder=2
    )
