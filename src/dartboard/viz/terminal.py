"""Cells drawn as text.

Every vertex is a lane that runs down from its number to its last use. A connection leaves the lane of its
source at a dot, crosses the lanes in between and turns down into its target; the op stands at the turn.

      0 c(k-2)
      │   1 c(k-1)
      ●───┼───╮ skip_connect
      │   ●───┤ sep_conv_3x3
      │       2 ─▸ out
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.text import Text

from dartboard.space.graph import has_node_ops
from dartboard.space.spec import Cell
from dartboard.viz.cell_graph import cell_graph, shared_candidates

STEP = 4
"""Columns from lane to lane."""
STYLES = {"conv": "cyan", "pool": "green", "skip": "yellow"}
"""Styles of the terminal, by what the name of an op contains."""


@dataclass(frozen=True)
class Glyphs:
    """The characters of a drawing."""

    lane: str = "│"
    wire: str = "─"
    cross: str = "┼"
    dot: str = "●"
    turn: str = "╮"
    join: str = "┤"
    leave: str = "─▸ out"
    levels: str = "▁▂▃▄▅▆▇█"


UNICODE = Glyphs()
ASCII = Glyphs(lane="|", wire="-", cross="|", dot="*", turn="+", join="+", leave="-> out", levels="_.-~=+*#")


def glyphs_for(encoding: str) -> Glyphs:
    """The finest glyphs that an encoding can represent."""
    try:
        "".join(vars(UNICODE).values()).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


@dataclass(frozen=True)
class Row:
    """A vertex of the drawing: its number, what is written beside it, and whether it is part of the output.

    `inputs` has source and label of each connection that enters it, by source.
    """

    number: int
    inputs: tuple[tuple[int, str], ...] = ()
    label: str = ""
    output: bool = False


def cell_rows(cell: Cell) -> list[Row]:
    """The vertices of a cell in the order in which they are drawn."""
    graph, shared = cell_graph(cell), shared_candidates(cell)
    into_output = {link.source for link in graph.connections if link.edge is None}
    vertices = graph.vertices[:-1] if into_output else graph.vertices  # the output is a mark, not a lane
    outputs = into_output or {len(vertices) - 1}
    rows = [Row(number, label=vertex.name) for number, vertex in enumerate(vertices[: cell.inputs])]
    for number, vertex in enumerate(vertices[cell.inputs :], cell.inputs):
        links = [link for link in graph.connections if link.target == number]
        inputs = [
            (link.source, _candidates(cell, link.edge, shared) if link.has_ops else "") for link in links
        ]
        node = 2 * number - 1 if has_node_ops(cell) else number
        contests = dict.fromkeys(filter(None, map(cell.contest_of, cell.entering(node))))
        dropping = [contest for contest in contests if contest.keep < len(contest.edges)]
        keeps = "; ".join(f"keeps {contest.keep} of {len(contest.edges)}" for contest in dropping)
        parts = [_candidates(cell, vertex.edge), keeps]
        if not links and not has_node_ops(cell):
            parts = ["nothing enters"]
        inputs.sort(key=lambda pair: pair[0])
        rows.append(Row(number, tuple(inputs), ", ".join(filter(None, parts)), number in outputs))
    return rows


def _candidates(cell: Cell, edge: int | None, shared: tuple[str, ...] = ()) -> str:
    """The op of an edge, or how many candidates it has; nothing if these are the shared ones."""
    if edge is None or (ops := cell.edges[edge].ops) == shared:
        return ""
    return ops[0] if len(ops) == 1 else f"one of {len(ops)} ops"


def draw_cell(cell: Cell, glyphs: Glyphs = UNICODE) -> list[Text]:
    """The drawing of a cell, line by line, with styles for a terminal that has colors."""
    rows = cell_rows(cell)
    last_use = {source: row.number for row in rows for source, _ in row.inputs}
    lanes: dict[int, int] = {}  # column of each vertex that is still to be used
    lines: list[Text] = []
    for row in rows:
        column = 1 + max(lanes.values(), default=-1)
        for index, (source, label) in enumerate(row.inputs):
            turn = glyphs.join if index else glyphs.turn
            lines.append(_connection_line(lanes, lanes[source], column, glyphs).append(turn))
            lines[-1].append(f" {label}" if label else "", _style(label))
            further = [later for later, _ in row.inputs[index + 1 :]]
            if last_use[source] == row.number and source not in further:
                del lanes[source]
        taken = set(lanes.values())
        line = Text("".join((glyphs.lane if here in taken else " ").ljust(STEP) for here in range(column)))
        line.append(str(row.number), "bold")
        line.append(f" {row.label}" if row.label else "", _style(row.label))
        lines.append(line.append(f" {glyphs.leave}" if row.output else "", "bold"))
        if row.number in last_use:
            lanes[row.number] = column
    return lines


def _connection_line(lanes: dict[int, int], start: int, end: int, glyphs: Glyphs) -> Text:
    """The columns before a connection's turn: lanes, its dot, and the wire across the lanes after it."""
    taken = set(lanes.values())
    line = Text()
    for here in range(end):
        if here == start:
            mark = glyphs.dot
        elif here in taken:
            mark = glyphs.cross if here > start else glyphs.lane
        else:
            mark = glyphs.wire if here > start else " "
        line.append(mark + (glyphs.wire if here >= start else " ") * (STEP - 1))
    return line


def _style(label: str) -> str:
    return next((style for key, style in STYLES.items() if key in label), "dim")


def side_by_side(blocks: Iterable[Sequence[Text]], width: int, gap: int = 4) -> list[Text]:
    """Blocks of lines next to each other as far as `width` reaches, then in further rows."""
    rows: list[list[Sequence[Text]]] = []
    room = 0
    for block in blocks:
        block_width = max(line.cell_len for line in block)
        if not rows or block_width > room:
            rows.append([])
            room = width
        rows[-1].append(block)
        room -= block_width + gap
    lines: list[Text] = []
    for index, row in enumerate(rows):
        lines += [Text()] if index else []
        widths = [max(line.cell_len for line in block) + gap for block in row]
        for height in range(max(map(len, row))):
            line = Text()
            for block, block_width in zip(row, widths, strict=True):
                part = block[height].copy() if height < len(block) else Text()
                part.pad_right(block_width - part.cell_len)
                line.append_text(part)
            line.rstrip()
            lines.append(line)
    return lines
