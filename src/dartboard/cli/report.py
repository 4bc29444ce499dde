"""What `info` says, laid out for people."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from textwrap import wrap

from rich.text import Text

from dartboard.cli.facts import Build, CellFacts, ChoiceFacts, NetworkFacts, SpaceFacts
from dartboard.cli.terminal import Terminal
from dartboard.space import PUBLISHED, Cell, SearchSpace, Stack
from dartboard.space.graph import has_node_ops
from dartboard.space.spec import NONE
from dartboard.viz.terminal import draw_cell, side_by_side

LABEL = 15  # columns for what stands before a value
LONGEST = 60  # digits of a number that is written in full

Archs = tuple[tuple[str, Cell], ...]
"""Cells by the names of their archs."""


def print_cell(
    name: str, space: SearchSpace, build: Build, network: NetworkFacts, cells: Mapping[str, CellFacts]
) -> None:
    """Print what a cell is and what its network comes to."""
    terminal = Terminal()
    if name in PUBLISHED:
        terminal.write([Text(name, "bold"), Text(PUBLISHED[name].paper, "dim"), ""])
    terminal.write(_network_lines(space, build, network))
    terminal.write(_shape_lines(cells, terminal.width))
    terminal.write(["", *draw_cells(space.archs, terminal)])


def draw_cells(archs: Archs, terminal: Terminal) -> list[Text]:
    """The drawings of all different cells, side by side as far as the terminal is wide."""
    blocks = [[Text(_names(names), "bold"), *draw_cell(cell, terminal.pen)] for cell, names in _same(archs)]
    return side_by_side(blocks, terminal.width)


def fit_cells(archs: Archs, terminal: Terminal, height: int) -> list[Text]:
    """The drawings of discrete cells where `height` lines hold them, else a line for each cell."""
    drawn = draw_cells(archs, terminal)
    if len(drawn) <= height and all(line.cell_len <= terminal.width for line in drawn):
        return drawn
    lines = _cell_lines(archs, terminal.width)
    room = max(height - 1, 0)
    return lines if len(lines) <= height else [*lines[:room], Text(f"and {len(lines) - room} more", "dim")]


def _cell_lines(archs: Archs, width: int) -> list[Text]:
    """How often each different cell has each op, the commonest first, cut at `width`."""
    cells = {
        _names(names): [f"{n} {op}" for op, n in _ops(cell).most_common()] for cell, names in _same(archs)
    }
    label = max(map(len, cells)) + 2
    lines = [
        Text.assemble((name.ljust(label), "bold"), _joined(ops or ["nothing"], width - label))
        for name, ops in cells.items()
    ]
    for line in lines:
        line.truncate(width, overflow="crop")
    return lines


def _ops(cell: Cell) -> Counter[str]:
    """How often a discrete cell has each op; plain wires between ops on vertices are none."""
    joins = has_node_ops(cell)
    kept = [edge for edge in cell.edges if edge.ops != (NONE,) and not (joins and edge.target % 2)]
    return Counter(edge.ops[0] for edge in kept)


def _joined(parts: list[str], width: int) -> str:
    """Parts with commas between them, the last ones left out where they do not fit."""
    whole = ", ".join(parts)
    while len(whole) > width and len(parts) > 1:
        parts = parts[:-1]
        whole = ", ".join([*parts, "..."])
    return whole


def print_space(space: SearchSpace, facts: SpaceFacts) -> None:
    """Print what there is to choose in a space."""
    terminal = Terminal()
    terminal.write([Text(f"space {space.name}", "bold")])
    terminal.write(labelled("architectures", _number(facts.architectures)))
    terminal.write(labelled("stack", _stack_words(space.stack)))
    terminal.write(labelled("ops", ", ".join(facts.ops), terminal.width))
    for cell, archs in _same(space.archs):
        drawing = draw_cell(cell, terminal.pen)
        terminal.write(["", _choice(archs, facts.cells[archs[0]]), *drawing])


def _network_lines(space: SearchSpace, build: Build, network: NetworkFacts) -> Iterator[Text]:
    shape = "x".join(map(str, build.input))
    auxiliary = network.parameters_auxiliary
    more = f" ({auxiliary:,} with the auxiliary head)" if auxiliary != network.parameters else ""
    yield from labelled("stack", f"{space.name}, {_stack_words(space.stack)}")
    yield from labelled("network", f"{build.channels} channels, {build.classes} classes, input {shape}")
    yield from labelled("parameters", f"{network.parameters:,}{more}")
    yield from labelled("FLOPs", f"{network.flops:,} an image, or {network.flops // 2:,} multiply-adds")


def _shape_lines(cells: Mapping[str, CellFacts], width: int) -> Iterator[Text]:
    shapes = {
        "width": {arch: f"{facts.width:g}c" for arch, facts in cells.items()},
        "depth": {arch: f"{facts.depth}" for arch, facts in cells.items()},
        "mean source": {arch: f"{facts.mean_source:g}" for arch, facts in cells.items()},
    }
    for label, values in shapes.items():
        each = ", ".join(f"{arch} {value}" for arch, value in values.items())
        yield from labelled(
            label, each if len(set(values.values())) > 1 else next(iter(values.values())), width
        )


def labelled(label: str, value: str, width: int = sys.maxsize) -> list[Text]:
    """A label and its value, the value in several lines where `width` asks for it."""
    lines = wrap(value, max(width - LABEL, LABEL)) or [""]
    labels = [label] + [""] * (len(lines) - 1)
    return [Text.assemble((own.ljust(LABEL), "dim"), line) for own, line in zip(labels, lines, strict=True)]


def _names(archs: list[str]) -> str:
    """Names in full, or the first and the last of many."""
    return ", ".join(archs) if len(archs) < 4 else f"{archs[0]} to {archs[-1]}"


def _same(archs: Archs) -> list[tuple[Cell, list[str]]]:
    """Each different cell, once, with the archs that have it."""
    groups: dict[Cell, list[str]] = {}
    for arch, cell in archs:
        groups.setdefault(cell, []).append(arch)
    return list(groups.items())


def _choice(archs: list[str], facts: ChoiceFacts) -> Text:
    each = "each " if len(archs) > 1 else ""
    words = f"  {each}{facts.nodes} nodes, {facts.edges} edges, {_number(facts.architectures)} ways to choose"
    return Text.assemble((_names(archs), "bold"), (words, "dim"))


def _number(number: int) -> str:
    """A count in full, with its size where that is hard to see; its size alone where it fills lines."""
    if number < 10**6:
        return f"{number:,}"
    size = f"about {Decimal(number):.1e}".replace("e+", "e")
    return f"{number:,} ({size})" if number < 10**LONGEST else size


def _stack_words(stack: Stack) -> str:
    between = {"cell": "reduction cells", "residual": "residual blocks", "pool": "max-pooling"}[stack.reduce]
    cells = f"{stack.cells} cell{'s' if stack.cells > 1 else ''}"
    each = "" if stack.reduce == "cell" else " a stage"
    unshared = "" if stack.shared else ", each with choices of its own"
    return f"{cells}{each}{unshared}, {stack.stages} stages joined by {between}"
