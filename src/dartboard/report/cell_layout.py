"""Where things of a drawn cell are, in pixels, so that strengths can change and nothing moves."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from dartboard.report.words import brief
from dartboard.space import NONE, Cell
from dartboard.space.graph import has_node_ops
from dartboard.viz.layout import Arrangement, Route, Wire, arrange

LETTER, LABEL, BOX = 7.0, 20.0, 30.0
"""Width of a letter, height of a label and of a box."""
GAP, ROOM, BEND = 8.0, 24.0, 10.0
"""Between things of a layer, between layers, and the height of a line that passes a layer."""
MARGIN = 6.0
TIP = 7.0
"""The length of an arrow's head."""


@dataclass(frozen=True)
class Box:
    """A vertex: its words, and the edge whose op it shows where ops are on vertices."""

    words: str
    edge: int | None = None
    outside: bool = False


@dataclass(frozen=True)
class Link:
    """A connection between boxes: the edge that it shows, if any, and whether its op is written on it."""

    source: int
    target: int
    edge: int | None = None
    labelled: bool = False


def plan(cell: Cell) -> dict[str, Any]:
    """Boxes, lines and labels of a cell with their places, ready for JSON."""
    boxes, links = (_ops_on_boxes if has_node_ops(cell) else _ops_on_lines)(cell)
    wires = [Wire(own.source, own.target, _label(cell, own)) for own in links]
    sizes = [_size(cell, own) for own in boxes]
    places = arrange(sizes, wires, gap=GAP, bend=BEND, room=ROOM)
    flip = places.height + MARGIN
    return {
        "width": round(places.width + 2 * MARGIN, 1),
        "height": round(places.height + 2 * MARGIN, 1),
        "boxes": [
            {"x": _px(spot.x - spot.width / 2), "y": round(flip - spot.y - spot.height / 2, 1),
             "w": round(spot.width, 1), "h": round(spot.height, 1),
             "words": own.words, "edge": own.edge, "outside": own.outside}
            for own, spot in zip(boxes, places.vertices, strict=True)
        ],
        "lines": [
            {"edge": own.edge, "d": _path(places, route, flip), **_spot(own, route, flip)}
            for own, route in zip(links, places.routes, strict=True)
        ],
    }  # fmt: skip


def _px(x: float) -> float:
    return round(x + MARGIN, 1)


def _ops_on_lines(cell: Cell) -> tuple[list[Box], list[Link]]:
    names = ["c(k\u22122)", "c(k\u22121)"] if cell.inputs == 2 else ["in"]
    alone = cell.output == (cell.nodes - 1,)
    boxes = [Box(name, outside=True) for name in names] + [Box(str(node)) for node in cell.inner]
    if alone:
        boxes[-1] = Box("out", outside=True)
    links = [
        Link(edge.source, edge.target, index, labelled=True)
        for index, edge in enumerate(cell.edges)
        if edge.ops != (NONE,)
    ]
    if not alone:
        boxes.append(Box("out", outside=True))
        links += [Link(node, cell.nodes) for node in cell.output]
    return boxes, links


def _ops_on_boxes(cell: Cell) -> tuple[list[Box], list[Link]]:
    boxes = [Box("in", outside=True)]
    boxes += [Box("", cell.entering(join + 1)[0]) for join in range(1, cell.nodes - 1, 2)]
    boxes.append(Box("out", outside=True))
    links = [
        Link(edge.source // 2, (edge.target + 1) // 2, index)
        for index, edge in enumerate(cell.edges)
        if edge.target % 2 and edge.ops != (NONE,)
    ]
    return boxes, links


def _widest(ops: Sequence[str]) -> float:
    return LETTER * max(len(brief(op)) for op in ops)


def _label(cell: Cell, link: Link) -> tuple[float, float]:
    """Room for the longest name among the candidates, so that any of them can be written there."""
    if not link.labelled or link.edge is None:
        return 0.0, 0.0
    return _widest(cell.edges[link.edge].ops) + 12, LABEL


def _size(cell: Cell, box: Box) -> tuple[float, float]:
    wide = _widest(cell.edges[box.edge].ops) if box.edge is not None else LETTER * len(box.words)
    return max(wide + 16, BOX), BOX


def _spot(link: Link, route: Route, flip: float) -> dict[str, float | None]:
    """The middle and the size of a line's label; None where it has none."""
    if not link.labelled or route.label is None:
        return {"lx": None}
    spot = route.spots[route.label]
    return {"lx": _px(spot.x), "ly": round(flip - spot.y, 1)}


def _path(places: Arrangement, route: Route, flip: float) -> str:
    """A line as SVG writes it: level where it passes a layer, smooth in between."""
    first, *between, last = route.spots
    corners = [(first.x + first.width / 2, _port(places, route, 0))]
    for spot in between:
        corners += [(spot.x - spot.width / 2, spot.y), (spot.x + spot.width / 2, spot.y)]
    corners.append((last.x - last.width / 2 - TIP, _port(places, route, -1)))
    points = [(_px(x), round(flip - y, 1)) for x, y in corners]
    words = [f"M{points[0][0]} {points[0][1]}"]
    for (left, start), (right, end) in pairwise(points):
        middle = round((left + right) / 2, 1)
        words.append(f"C{middle} {start} {middle} {end} {right} {end}")
    return "".join(words)


def _port(places: Arrangement, route: Route, end: int) -> float:
    """Where on the side of a box a line begins or ends: in the order of where it goes."""
    near = 1 if end == 0 else -2
    own = [other for other in places.routes if other.spots[end] == route.spots[end]]
    order = sorted(own, key=lambda other: other.spots[near].y)
    place = next(index for index, other in enumerate(order) if other is route)
    spot = route.spots[end]
    step = spot.height * 0.7 / max(len(own), 4)
    return spot.y + (place - (len(own) - 1) / 2) * step
