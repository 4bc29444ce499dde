"""Pictures of cells: nodes as boxes from left to right, ops along the edges, colored by family.

Everything is drawn in inches of the data, letters too, so that a drawing fits any axes and its labels
stay where there is room for them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, Patch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D
from scipy.interpolate import PchipInterpolator

from dartboard.space import Cell, Genotype, SearchSpace
from dartboard.viz.cell_graph import (
    FAMILY_COLORS,
    CellConnection,
    CellVertex,
    Weights,
    cell_graph,
    check_weights,
    op_family,
    op_label,
    shared_candidates,
)
from dartboard.viz.layout import BEND, LayoutEdge, Rect, Route, layered_layout

PLAIN, INK, PAPER, EXTERNAL = "#9AA3AB", "#22282E", "#F4F6F8", "#E3E8ED"
"""Colors of connections without op, of letters, of boxes of nodes, of boxes of inputs and output."""
FONT_SIZE = 8.5
PAD = 0.07
"""Inches around letters."""
RIBBON = 0.16
"""Inches that a weight of 1 is wide."""
HEAD = 0.075
"""Length of an arrow's head in inches."""
MARGIN = 0.12
NAMES = {"c(k-2)": "$c_{k-2}$", "c(k-1)": "$c_{k-1}$", "c(k)": "$c_k$"}


@dataclass(frozen=True)
class DrawnBox:
    """The box of a vertex; its border is dotted if the vertex does not contribute to the output (`idle`)."""

    text: str
    face: str
    ink: str = INK
    idle: bool = False


@dataclass(frozen=True)
class DrawnLine:
    """The line of a connection from a box to a later one, by their indices, with a label.

    Strands are colors and weights of its ops; a line without weights has one strand of weight None.
    """

    source: int
    target: int
    text: str = ""
    strands: tuple[tuple[str, float | None], ...] = ((PLAIN, None),)

    @property
    def color(self) -> str:
        """The color of the heaviest strand."""
        return max(self.strands, key=lambda strand: strand[1] or 0.0)[0]

    @property
    def thickness(self) -> float:
        """Width of the ribbon in inches; 0 for a line without weights."""
        return sum(RIBBON * (weight or 0.0) for _, weight in self.strands)


def draw_cell(axes: Axes, cell: Cell, *, weights: Weights | None = None, labels: bool = True) -> None:
    """Draws a cell into axes, as large as they are.

    Args:
        axes: Where to draw; they lose their frame.
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
    """A figure with a drawing of each different cell, one below the other, under the names of its groups.

    Args:
        what: A genotype, or a space to see all its candidates.
        weights: By group what `draw_cell` takes; each cell is then drawn by itself.
        labels: As in `draw_cell`.
    """
    same_cell: dict[object, list[str]] = {}
    for group, cell in what.groups:
        same_cell.setdefault(cell if weights is None else group, []).append(group)
    drawings = {
        ", ".join(names): _Drawing(what.cells[names[0]], (weights or {}).get(names[0]), labels=labels)
        for names in same_cell.values()
    }
    heights = [drawing.height + 0.3 for drawing in drawings.values()]
    width = max(drawing.width for drawing in drawings.values())
    figure = Figure((width, sum(heights) + (0.4 if weights else 0.0)), layout="constrained")
    rows = figure.subplots(len(drawings), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    for axes, (name, drawing) in zip(rows[:, 0], drawings.items(), strict=True):
        drawing.onto(axes)
        axes.set_title(name, fontsize=10, color=INK, loc="left")
        axes.set_anchor("W")
    if weights:
        ops = [op for cell in what.cells.values() for edge in cell.edges for op in edge.ops]
        families = dict.fromkeys(map(op_family, ops))
        handles = [Patch(color=FAMILY_COLORS[name], label=name) for name in families]
        figure.legend(
            handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=8
        )
    return figure


def cell_diagram(cell: Cell, weights: Weights | None = None) -> tuple[list[DrawnBox], list[DrawnLine]]:
    """The boxes and lines of a cell, the output last; ops are in the boxes where the cell has them on nodes.

    Raises:
        OptionError: If there are not as many weights as ops.
    """
    if weights is not None:
        check_weights(cell, weights)
    graph, shared = cell_graph(cell), bool(shared_candidates(cell))
    boxes = [_make_box(cell, vertex, weights) for vertex in graph.vertices]
    lines = [_make_line(cell, link, weights, shared=shared) for link in graph.connections]
    return boxes, lines


def _make_box(cell: Cell, vertex: CellVertex, weights: Weights | None) -> DrawnBox:
    """A box with its name, or with the only or heaviest op, or the number of candidates."""
    if vertex.edge is None:
        face = EXTERNAL if vertex.external else PAPER
        return DrawnBox(NAMES.get(vertex.name, vertex.name), face, idle=vertex.idle)
    ops = cell.edges[vertex.edge].ops
    if weights is None and len(ops) > 1:
        return DrawnBox(f"{len(ops)} ops", PAPER, idle=vertex.idle)
    op = ops[0] if weights is None else max(zip(weights[vertex.edge], ops, strict=True))[1]
    return DrawnBox(op_label(op), FAMILY_COLORS[op_family(op)], "white", idle=vertex.idle)


def _make_line(cell: Cell, link: CellConnection, weights: Weights | None, *, shared: bool) -> DrawnLine:
    """A line labeled with the only or heaviest op, or with the number of candidates where these differ."""
    ends = (link.source, link.target)
    if link.edge is None:
        return DrawnLine(*ends)
    ops, row = cell.edges[link.edge].ops, None if weights is None else weights[link.edge]
    if not link.has_ops:
        return DrawnLine(*ends, strands=((PLAIN, None if row is None else float(row[0])),))
    if row is not None:
        colors = [FAMILY_COLORS[op_family(op)] for op in ops]
        heaviest = max(zip(row, ops, strict=True))[1]
        return DrawnLine(*ends, op_label(heaviest), tuple(zip(colors, map(float, row), strict=True)))
    if len(ops) == 1:
        return DrawnLine(*ends, op_label(ops[0]), ((FAMILY_COLORS[op_family(ops[0])], None),))
    return DrawnLine(*ends, "" if shared else f"{len(ops)} ops")


class _Drawing:
    """A cell laid out, ready to be drawn."""

    def __init__(self, cell: Cell, weights: Weights | None, *, labels: bool) -> None:
        self.labels = labels
        self.boxes, lines = cell_diagram(cell, weights)
        self.lines = lines if labels else [DrawnLine(line.source, line.target) for line in lines]
        sizes = [self._box_size(index) for index in range(len(self.boxes))]
        edges = [LayoutEdge(line.source, line.target, _label_size(line.text)) for line in self.lines]
        bend = RIBBON if weights is not None and labels else BEND
        self.layout = layered_layout(sizes, edges, bend=bend, layer_gap=0.34 if labels else 0.45)
        self.width, self.height = self.layout.width + 2 * MARGIN, self.layout.height + 2 * MARGIN

    def _box_size(self, index: int) -> tuple[float, float]:
        """Room for the text of a box, and for the ribbons on either side."""
        if not self.labels:
            return 0.2, 0.2
        width = max(_text_path(self.boxes[index].text).get_extents().width + 3 * PAD, 0.34)
        leaving = sum(line.thickness for line in self.lines if line.source == index)
        entering = sum(line.thickness for line in self.lines if line.target == index)
        return width, max(0.34, 1.3 * leaving, 1.3 * entering)

    def onto(self, axes: Axes) -> None:
        axes.set_axis_off()
        axes.set_aspect("equal")
        axes.set_xlim(-MARGIN, self.layout.width + MARGIN)
        axes.set_ylim(-MARGIN, self.layout.height + MARGIN)
        for line, route in zip(self.lines, self.layout.routes, strict=True):
            _draw_line(axes, line, route)
        for line, route in zip(self.lines, self.layout.routes, strict=True):
            if route.label is not None:
                rect = route.rects[route.label]
                _draw_rounded(axes, rect, _label_size(line.text), 0.05, facecolor="white", edgecolor="none")
                _draw_text(axes, line.text, rect, line.color)
        for box, rect in zip(self.boxes, self.layout.vertices, strict=True):
            self._draw_box(axes, box, rect)
        for artist in (*axes.patches, *axes.lines):
            artist.set_in_layout(False)  # all is inside the axes; measuring each letter takes long

    def _draw_box(self, axes: Axes, box: DrawnBox, rect: Rect) -> None:
        border = ":" if box.idle else "-"
        if not self.labels:
            dot = Circle((rect.x, rect.y), rect.height / 2, facecolor=box.face, edgecolor=INK)
            dot.set(zorder=4, linestyle=border)
            axes.add_patch(dot)
            return
        size = rect.width, rect.height
        patch = _draw_rounded(axes, rect, size, 0.07, facecolor=box.face, edgecolor=INK)
        patch.set(zorder=4, linewidth=0.9, linestyle=border)
        _draw_text(axes, box.text, rect, box.ink)


def _draw_rounded(
    axes: Axes, rect: Rect, size: tuple[float, float], rounding: float, **colors: Any
) -> FancyBboxPatch:
    """A rounded box of some size in the middle of a rectangle, below letters."""
    corner = (rect.x - size[0] / 2, rect.y - size[1] / 2)
    style = f"round,pad=0,rounding_size={rounding}"
    patch = FancyBboxPatch(corner, *size, boxstyle=style, zorder=3, **colors)
    axes.add_patch(patch)
    return patch


@cache
def _text_path(text: str) -> Path:
    """Letters as an outline, in inches from the origin."""
    return TextPath((0, 0), text, size=FONT_SIZE).transformed(Affine2D().scale(1 / 72))


def _label_size(text: str) -> tuple[float, float]:
    return (_text_path(text).get_extents().width + 2 * PAD, 0.19) if text else (0.0, 0.0)


def _draw_text(axes: Axes, text: str, rect: Rect, color: str) -> None:
    path = _text_path(text)
    box, x_height = path.get_extents(), _text_path("x").get_extents()
    middle = x_height.y1 / 2 if "$" in text or not text.isdigit() else box.y1 / 2
    centered = Affine2D().translate(rect.x - (box.x0 + box.x1) / 2, rect.y - middle)
    axes.add_patch(PathPatch(path.transformed(centered), facecolor=color, edgecolor="none", zorder=5))


def _draw_line(axes: Axes, line: DrawnLine, route: Route) -> None:
    """A thin line along a route, or a ribbon of strands as thick as their weights, with an arrow's head."""
    xs, ys = np.array(route.corners(HEAD)).T
    along = np.linspace(xs[0], xs[-1], 24 * len(xs))
    distinct = np.concatenate([[True], np.diff(xs) > 1e-9])
    # smooth, and between two corners never above or below both
    points = np.stack([along, PchipInterpolator(xs[distinct], ys[distinct])(along)], axis=1)
    if line.strands[0][1] is None:
        axes.plot(*points.T, color=line.color, linewidth=1.4, solid_capstyle="butt", zorder=1)
    else:
        top = line.thickness / 2
        for color, weight in line.strands:
            width = RIBBON * (weight or 0.0)
            upper, lower = points + np.array([0.0, top]), points + np.array([0.0, top - width])
            if width > 0:
                outline = np.concatenate([upper, lower[::-1]])
                axes.add_patch(Polygon(outline, facecolor=color, edgecolor="none", zorder=1))
            top -= width
    x, y = points[-1].tolist()
    tip = [(x + HEAD, y), (x, y + HEAD * 0.55), (x, y - HEAD * 0.55)]
    axes.add_patch(Polygon(tip, closed=True, facecolor=line.color, edgecolor="none", zorder=2))
