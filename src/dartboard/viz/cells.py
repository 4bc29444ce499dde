"""Drawings of cells: nodes as boxes from left to right, ops along the edges, coloured by family.

Everything is drawn in inches of the data, letters too, so that a drawing fits any axes and its labels
stay where there is room for them.
"""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, Patch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from dartboard.space import Cell, Genotype, SearchSpace
from dartboard.viz.cell_diagram import FAMILIES, INK, Line, Vertex, Weights, family, plan_cell
from dartboard.viz.layout import BEND, Arrangement, Route, Spot, Wire, arrange

LETTER = 8.5
"""Points."""
PAD = 0.07
"""Around letters, in inches."""
RIBBON = 0.16
"""How wide a weight of 1 is, in inches."""
HEAD = 0.075
MARGIN = 0.12


Points = NDArray[np.float64]
"""Places along a line [points, 2]."""


def draw_cell(axes: Axes, cell: Cell, *, weights: Weights | None = None, labels: bool = True) -> None:
    """Draws a cell into axes, as large as they are.

    Args:
        axes: Where; they lose their frame.
        cell: A discrete cell or one of a space.
        weights: For each edge of the cell, in its order, the weights of its ops; edges become ribbons
            with a strand as thick as its weight for each op.
        labels: Whether to write anything; without, nodes are dots and only the topology is shown.
    """
    _Drawing(cell, weights, labels=labels).onto(axes)


def cell_figure(
    what: Genotype | SearchSpace,
    *,
    weights: Mapping[str, Weights] | None = None,
    labels: bool = True,
) -> Figure:
    """A figure with a drawing of each different cell, one below the other, under the names of its archs.

    Args:
        what: A genotype, or a space to see all its candidates.
        weights: By arch what `draw_cell` takes; each cell is then drawn for itself.
        labels: As in `draw_cell`.
    """
    drawings = {
        ", ".join(names): _Drawing(what.cells[names[0]], (weights or {}).get(names[0]), labels=labels)
        for names in _same(what, apart=weights is not None)
    }
    heights = [own.height + 0.3 for own in drawings.values()]
    wide = max(own.width for own in drawings.values())
    figure = Figure((wide, sum(heights) + (0.4 if weights else 0.0)), layout="constrained")
    rows = figure.subplots(len(drawings), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    for axes, (name, own) in zip(rows[:, 0], drawings.items(), strict=True):
        own.onto(axes)
        axes.set_title(name, fontsize=10, color=INK, loc="left")
        axes.set_anchor("W")
    if weights:
        _legend(figure, [op for cell in what.cells.values() for edge in cell.edges for op in edge.ops])
    return figure


def _same(what: Genotype | SearchSpace, *, apart: bool) -> list[list[str]]:
    """The archs that have the same cell, together unless they shall be apart."""
    groups: dict[object, list[str]] = {}
    for arch, cell in what.archs:
        groups.setdefault(arch if apart else cell, []).append(arch)
    return list(groups.values())


def _legend(figure: Figure, ops: Sequence[str]) -> None:
    names = dict.fromkeys(family(op) for op in ops)
    handles = [Patch(color=FAMILIES[name], label=name) for name in names]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=8)


class _Drawing:
    """A cell in its places, ready to be drawn."""

    def __init__(self, cell: Cell, weights: Weights | None, *, labels: bool) -> None:
        self.labels = labels
        vertices, lines = plan_cell(cell, weights)
        self.vertices, self.lines = vertices, lines if labels else [_bare(line) for line in lines]
        sizes = [self._size(place) for place in range(len(vertices))]
        wires = [Wire(line.source, line.target, _label(line.text)) for line in self.lines]
        bend = RIBBON if weights is not None and labels else BEND
        self.places: Arrangement = arrange(sizes, wires, bend=bend, room=0.34 if labels else 0.45)
        self.width, self.height = self.places.width + 2 * MARGIN, self.places.height + 2 * MARGIN

    def _size(self, place: int) -> tuple[float, float]:
        """Of a vertex: room for its words, and for the ribbons at either side."""
        if not self.labels:
            return 0.2, 0.2
        wide, high = _box(self.vertices[place].text)
        leaving = sum(_thick(line) for line in self.lines if line.source == place)
        entering = sum(_thick(line) for line in self.lines if line.target == place)
        return wide, max(high, 1.3 * leaving, 1.3 * entering)

    def onto(self, axes: Axes) -> None:
        axes.set_axis_off()
        axes.set_aspect("equal")
        axes.set_xlim(-MARGIN, self.places.width + MARGIN)
        axes.set_ylim(-MARGIN, self.places.height + MARGIN)
        for line, route in zip(self.lines, self.places.routes, strict=True):
            self._line(axes, line, route)
        for line, route in zip(self.lines, self.places.routes, strict=True):
            if route.label is not None:
                self._words(axes, line, route.spots[route.label])
        for vertex, spot in zip(self.vertices, self.places.vertices, strict=True):
            self._vertex(axes, vertex, spot)
        for artist in (*axes.patches, *axes.lines):
            artist.set_in_layout(False)  # all is inside the axes; measuring each letter takes long

    def _line(self, axes: Axes, line: Line, route: Route) -> None:
        points = _curve(route, self._port(route, 0), self._port(route, -1))
        strongest = max(line.strands, key=lambda strand: strand[1] or 0.0)[0]
        if line.strands[0][1] is None:
            axes.plot(*points.T, color=strongest, linewidth=1.4, solid_capstyle="butt", zorder=1)
        else:
            _ribbon(axes, points, line.strands)
        x, y = points[-1].tolist()
        tip = [(x + HEAD, y), (x, y + HEAD * 0.55), (x, y - HEAD * 0.55)]
        axes.add_patch(Polygon(tip, closed=True, facecolor=strongest, edgecolor="none", zorder=2))

    def _port(self, route: Route, end: int) -> float:
        """Where on the side of a box a wire begins or ends: in the order of where it goes."""
        spot, near = route.spots[end], route.spots[1 if end == 0 else -2]
        own = [other for other in self.places.routes if other.spots[end] == spot]
        ys = sorted((other.spots[1 if end == 0 else -2].y, place) for place, other in enumerate(own))
        place = ys.index((near.y, next(i for i, other in enumerate(own) if other is route)))
        step = spot.height * 0.7 / max(len(own), 4)
        return spot.y + (place - (len(own) - 1) / 2) * step

    def _words(self, axes: Axes, line: Line, spot: Spot) -> None:
        wide, high = _label(line.text)
        corner = (spot.x - wide / 2, spot.y - high / 2)
        box = FancyBboxPatch(
            corner, wide, high, boxstyle="round,pad=0,rounding_size=0.05", facecolor="white", edgecolor="none"
        )
        axes.add_patch(box)
        box.set_zorder(3)
        strongest = max(line.strands, key=lambda strand: strand[1] or 0.0)[0]
        _write(axes, line.text, spot, strongest)

    def _vertex(self, axes: Axes, vertex: Vertex, spot: Spot) -> None:
        if not self.labels:
            dot = Circle((spot.x, spot.y), spot.height / 2, facecolor=vertex.face, edgecolor=INK)
            dot.set(zorder=4, linestyle=_border(vertex))
            axes.add_patch(dot)
            return
        corner = (spot.x - spot.width / 2, spot.y - spot.height / 2)
        style = "round,pad=0,rounding_size=0.07"
        box = FancyBboxPatch(
            corner, spot.width, spot.height, boxstyle=style, facecolor=vertex.face, edgecolor=INK
        )
        box.set(zorder=4, linewidth=0.9, linestyle=_border(vertex))
        axes.add_patch(box)
        _write(axes, vertex.text, spot, vertex.ink)


def _thick(line: Line) -> float:
    """How wide a ribbon is, in inches; a thin line is nothing."""
    return sum(RIBBON * (weight or 0.0) for _, weight in line.strands)


def _border(vertex: Vertex) -> str:
    return ":" if vertex.idle else "-"


def _bare(line: Line) -> Line:
    return Line(line.source, line.target)


@cache
def _text(text: str) -> Path:
    """Letters as an outline, in inches from the origin."""
    return TextPath((0, 0), text, size=LETTER).transformed(Affine2D().scale(1 / 72))


def _box(text: str) -> tuple[float, float]:
    """The size of a box around letters."""
    return max(_text(text).get_extents().width + 3 * PAD, 0.34), 0.34


def _label(text: str) -> tuple[float, float]:
    return (_text(text).get_extents().width + 2 * PAD, 0.19) if text else (0.0, 0.0)


def _write(axes: Axes, text: str, spot: Spot, colour: str) -> None:
    path = _text(text)
    box, line = path.get_extents(), _text("x").get_extents()
    centre = line.y1 / 2 if "$" in text or not text.isdigit() else box.y1 / 2
    place = Affine2D().translate(spot.x - (box.x0 + box.x1) / 2, spot.y - centre)
    axes.add_patch(PathPatch(path.transformed(place), facecolor=colour, edgecolor="none", zorder=5))


def _curve(route: Route, start: float, end: float) -> Points:
    """Points along a wire: smooth, and between two places never above or below both."""
    first, *between, last = route.spots
    corners = [(first.x + first.width / 2, start)]
    for spot in between:
        corners += [(spot.x - spot.width / 2, spot.y), (spot.x + spot.width / 2, spot.y)]
    corners.append((last.x - last.width / 2 - HEAD, end))
    xs, ys = np.array(corners).T
    along = np.linspace(xs[0], xs[-1], 24 * len(xs))
    keep = np.concatenate([[True], np.diff(xs) > 1e-9])
    return np.stack([along, PchipInterpolator(xs[keep], ys[keep])(along)], axis=1)


def _ribbon(axes: Axes, line: Points, strands: Sequence[tuple[str, float | None]]) -> None:
    """A strand for each op beside each other along a line, as thick as its weight."""
    thick = [RIBBON * (weight or 0.0) for _, weight in strands]
    top = sum(thick) / 2
    for (colour, _), own in zip(strands, thick, strict=True):
        upper, lower = line + np.array([0.0, top]), line + np.array([0.0, top - own])
        edge = np.concatenate([upper, lower[::-1]])
        if own > 0:
            axes.add_patch(Polygon(edge, facecolor=colour, edgecolor="none", zorder=1))
        top -= own
