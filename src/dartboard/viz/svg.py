"""Cells laid out in pixels for a page, with room for any candidate: weights can change and nothing moves."""

from itertools import pairwise
from typing import Any

from dartboard.space import Cell
from dartboard.viz.cell_graph import cell_graph, op_label
from dartboard.viz.layout import LayoutEdge, Route, layered_layout

LETTER_WIDTH, LABEL_HEIGHT, BOX_HEIGHT = 7.0, 20.0, 30.0
GAP, LAYER_GAP, BEND = 8.0, 24.0, 10.0
MARGIN = 6.0
ARROW = 7.0
"""Length of an arrow's head."""
NAMES = {"c(k-2)": "c(k\u22122)", "c(k-1)": "c(k\u22121)", "c(k)": "out"}


def svg_cell(cell: Cell) -> dict[str, Any]:
    """Boxes, lines and labels of a cell with their positions, ready for JSON."""
    graph = cell_graph(cell)
    # as wide as the longest label among the candidates
    widths = [LETTER_WIDTH * max(len(op_label(op, short=True)) for op in edge.ops) for edge in cell.edges]
    names = [
        "" if vertex.edge is not None else NAMES.get(vertex.name, vertex.name) for vertex in graph.vertices
    ]
    sizes = [
        (max((LETTER_WIDTH * len(name) if vertex.edge is None else widths[vertex.edge]) + 16, BOX_HEIGHT),
         BOX_HEIGHT)
        for vertex, name in zip(graph.vertices, names, strict=True)
    ]  # fmt: skip
    edges = [
        LayoutEdge(link.source, link.target, (widths[link.edge] + 12, LABEL_HEIGHT))
        if link.has_ops and link.edge is not None
        else LayoutEdge(link.source, link.target)
        for link in graph.connections
    ]
    layout = layered_layout(sizes, edges, gap=GAP, bend=BEND, layer_gap=LAYER_GAP)
    top = layout.height + MARGIN  # y grows downwards on pages
    boxes = [
        {"x": round(rect.x - rect.width / 2 + MARGIN, 1), "y": round(top - rect.y - rect.height / 2, 1),
         "w": round(rect.width, 1), "h": round(rect.height, 1),
         "words": name, "edge": vertex.edge, "outside": vertex.external}
        for vertex, name, rect in zip(graph.vertices, names, layout.vertices, strict=True)
    ]  # fmt: skip
    lines = []
    for link, route in zip(graph.connections, layout.routes, strict=True):
        line: dict[str, Any] = {"edge": link.edge, "d": _svg_path(route, top), "lx": None}
        if link.has_ops and route.label is not None:
            center = route.rects[route.label]
            line |= {"lx": round(center.x + MARGIN, 1), "ly": round(top - center.y, 1)}
        lines.append(line)
    return {
        "width": round(layout.width + 2 * MARGIN, 1),
        "height": round(layout.height + 2 * MARGIN, 1),
        "boxes": boxes,
        "lines": lines,
    }


def _svg_path(route: Route, top: float) -> str:
    """An edge as the `d` of an SVG path: level where it passes a layer, Bézier curves in between."""
    points = [(round(x + MARGIN, 1), round(top - y, 1)) for x, y in route.corners(ARROW)]
    commands = [f"M{points[0][0]} {points[0][1]}"]
    for (left, start), (right, end) in pairwise(points):
        middle = round((left + right) / 2, 1)
        commands.append(f"C{middle} {start} {middle} {end} {right} {end}")
    return "".join(commands)
