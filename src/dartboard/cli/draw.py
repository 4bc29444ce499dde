"""Cells drawn as text.

Every vertex is a lane that runs down from its number to its last use. A wire leaves its source's lane
at a dot, crosses the lanes in between and turns down into its target; the op stands at the turn.

      0 c(k-2)
      │   1 c(k-1)
      ●───┼───╮ skip_connect
      │   ●───┤ sep_conv_3x3
      │       2 ─▸ out
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.text import Text

from dartboard.cli.sketch import Sketch, Vertex, Wire, sketch_cell
from dartboard.space.spec import Cell

STEP = 4  # columns from lane to lane
STYLES = {"conv": "cyan", "pool": "green", "skip": "yellow"}


@dataclass(frozen=True)
class Pen:
    """The characters of a drawing."""

    lane: str = "│"
    wire: str = "─"
    cross: str = "┼"
    dot: str = "●"
    turn: str = "╮"
    join: str = "┤"
    leave: str = "─▸ out"
    levels: str = "▁▂▃▄▅▆▇█"


UNICODE = Pen()
ASCII = Pen(lane="|", wire="-", cross="|", dot="*", turn="+", join="+", leave="-> out", levels="_.-~=+*#")


def pen_for(encoding: str) -> Pen:
    """The finest pen whose characters the encoding has."""
    try:
        "".join(vars(UNICODE).values()).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def draw_cell(cell: Cell, pen: Pen = UNICODE) -> list[Text]:
    """The drawing of a cell, line by line, with styles for a terminal that has colours."""
    return _Drawing(sketch_cell(cell), pen).lines()


class _Drawing:
    """A sketch being drawn from top to bottom."""

    def __init__(self, sketch: Sketch, pen: Pen) -> None:
        self.sketch = sketch
        self.pen = pen
        self.lanes: dict[int, int] = {}  # the column of each vertex that is still to be used

    def lines(self) -> list[Text]:
        drawn: list[Text] = []
        for place, vertex in enumerate(self.sketch.vertices):
            drawn += self._vertex(place, vertex)
        return drawn

    def _vertex(self, place: int, vertex: Vertex) -> list[Text]:
        column = 1 + max(self.lanes.values(), default=-1)
        rows = []
        for index, wire in enumerate(vertex.wires):
            rows.append(self._wire_row(wire, column, self.pen.join if index else self.pen.turn))
            further = (other.source for other in vertex.wires[index + 1 :])
            if self.sketch.last_use[wire.source] == place and wire.source not in further:
                del self.lanes[wire.source]
        rows.append(self._name_row(vertex, column))
        if self.sketch.last_use[place] > place:
            self.lanes[place] = column
        return rows

    def _wire_row(self, wire: Wire, column: int, end: str) -> Text:
        start = self.lanes[wire.source]
        taken = set(self.lanes.values())
        row = Text()
        for here in range(column):
            on_wire = here > start
            mark = self.pen.dot if here == start else self._crossing(here in taken, on_wire)
            row.append(mark + (self.pen.wire if here >= start else " ") * (STEP - 1))
        row.append(end)
        return row.append(f" {wire.text}" if wire.text else "", _style(wire.text))

    def _crossing(self, lane: bool, wire: bool) -> str:
        if lane:
            return self.pen.cross if wire else self.pen.lane
        return self.pen.wire if wire else " "

    def _name_row(self, vertex: Vertex, column: int) -> Text:
        taken = set(self.lanes.values())
        row = Text("".join((self.pen.lane if here in taken else " ").ljust(STEP) for here in range(column)))
        row.append(vertex.name, "bold")
        row.append(f" {vertex.text}" if vertex.text else "", _style(vertex.text))
        return row.append(f" {self.pen.leave}" if vertex.output else "", "bold")


def _style(words: str) -> str:
    return next((style for key, style in STYLES.items() if key in words), "dim")


def beside(blocks: Iterable[Sequence[Text]], width: int, gap: int = 4) -> list[Text]:
    """Blocks of lines laid side by side as far as `width` reaches, then in further rows."""
    rows: list[list[Sequence[Text]]] = []
    room = 0
    for block in blocks:
        need = max(line.cell_len for line in block) + gap
        if not rows or need - gap > room:
            rows.append([])
            room = width
        rows[-1].append(block)
        room -= need
    joined = [_row_of_blocks(row, gap) for row in rows]
    return [line for index, lines in enumerate(joined) for line in ([Text()] if index else []) + lines]


def _row_of_blocks(blocks: Sequence[Sequence[Text]], gap: int) -> list[Text]:
    widths = [max(line.cell_len for line in block) + gap for block in blocks]
    lines = []
    for index in range(max(map(len, blocks))):
        line = Text()
        for block, width in zip(blocks, widths, strict=True):
            part = block[index].copy() if index < len(block) else Text()
            part.pad_right(width - part.cell_len)
            line.append_text(part)
        line.rstrip()
        lines.append(line)
    return lines
