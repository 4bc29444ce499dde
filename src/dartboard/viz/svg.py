"""Cells laid out in pixels for a page, with room for any candidate: weights can change and nothing moves."""

from collections.abc import Mapping
from html import escape
from itertools import pairwise
from typing import Any

from dartboard.space import Cell, Genotype
from dartboard.viz.cell_graph import FAMILY_COLORS, cell_graph, op_family, op_label
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


def cell_svg(cell: Cell) -> str:
    """A discrete cell as an SVG element, with arrows in the colors of the families of ops."""
    layout = svg_cell(cell)
    ops = [edge.ops[0] for edge in cell.edges]
    parts = []
    for line in layout["lines"]:
        color = "#9AA3AB" if line["edge"] is None else FAMILY_COLORS[op_family(ops[line["edge"]])]
        parts.append(f'<path d="{line["d"]}" fill="none" stroke="{color}" stroke-width="2"/>')
        if line["lx"] is not None:
            label = op_label(ops[line["edge"]], short=True)
            parts.append(_svg_text(line["lx"], line["ly"], label, color, halo=True))
    for box in layout["boxes"]:
        named = box["edge"] is None
        fill = ("#E3E8ED" if box["outside"] else "#F4F6F8") if named else "#FFFFFF"
        label = box["words"] if named else op_label(ops[box["edge"]], short=True)
        corner, size = f'x="{box["x"]}" y="{box["y"]}"', f'width="{box["w"]}" height="{box["h"]}"'
        parts.append(f'<rect {corner} {size} rx="4" fill="{fill}" stroke="#9AA3AB"/>')
        parts.append(_svg_text(box["x"] + box["w"] / 2, box["y"] + box["h"] / 2, label, "#22282E"))
    size = f'width="{layout["width"]}" height="{layout["height"]}"'
    style = "background:#FFFFFF;max-width:none;font:12px sans-serif"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="{style}">{"".join(parts)}</svg>'


def _svg_text(x: float, y: float, text: str, color: str, *, halo: bool = False) -> str:
    outline = ' stroke="#FFFFFF" stroke-width="4" paint-order="stroke"' if halo else ""
    place = f'x="{round(x, 1)}" y="{round(y, 1)}" text-anchor="middle" dominant-baseline="central"'
    return f'<text {place} fill="{color}"{outline}>{escape(text)}</text>'


def cells_html(title: str, summary: Mapping[str, str], genotype: Genotype) -> str:
    """A title, lines by label and drawings of the different cells, as HTML for a notebook.

    Equal cells of the genotype are drawn once, under the names of all.
    """
    rows = "".join(
        f"<tr><th>{escape(label)}</th><td>{escape(text)}</td></tr>" for label, text in summary.items()
    )
    names: dict[Cell, list[str]] = {}
    for name, cell in genotype.groups:
        names.setdefault(cell, []).append(name)
    drawings = "".join(
        f"<figure><figcaption>{escape(', '.join(same))}</figcaption>{cell_svg(cell)}</figure>"
        for cell, same in names.items()
    )
    return f"<div><strong>{escape(title)}</strong><table>{rows}</table>{drawings}</div>"


def _svg_path(route: Route, top: float) -> str:
    """An edge as the `d` of an SVG path: level where it passes a layer, Bézier curves in between."""
    points = [(round(x + MARGIN, 1), round(top - y, 1)) for x, y in route.corners(ARROW)]
    commands = [f"M{points[0][0]} {points[0][1]}"]
    for (left, start), (right, end) in pairwise(points):
        middle = round((left + right) / 2, 1)
        commands.append(f"C{middle} {start} {middle} {end} {right} {end}")
    return "".join(commands)
