"""How commands print: the terminal, numbers, tables, labelled lines and drawings of cells."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from rich.console import Console
from rich.text import Text

from dartboard.space import Cell
from dartboard.space.graph import has_node_ops
from dartboard.space.spec import NONE
from dartboard.viz.terminal import Glyphs, draw_cell, glyphs_for, side_by_side

LABELS = {
    "train_loss": "loss {:.3f}",
    "train_accuracy": "train {:.1%}",
    "valid_accuracy": "valid {:.1%}",
    "test_accuracy": "test {:.1%}",
    "entropy": "entropy {:.3f}",
}
"""How the numbers of an epoch are shown, by name."""


def size(count: int) -> str:
    """Bytes in the largest unit that leaves at least one."""
    units = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
    return next((f"{count / unit:.1f} {name}" for name, unit in units if count >= unit), f"{count} bytes")


def bars(values: Sequence[float], levels: str) -> str:
    """One character a value, the lowest of `levels` for the smallest and the highest for the largest."""
    low, high = min(values), max(values)
    scale = (len(levels) - 1) / (high - low) if high > low else 0.0
    return "".join(levels[round((value - low) * scale)] for value in values)


def numbers(metrics: Mapping[str, Any]) -> str:
    """The numbers of an epoch that are shown, as far as they are there."""
    return "  ".join(form.format(metrics[name]) for name, form in LABELS.items() if name in metrics)


class Terminal(Console):
    """Standard output, in colour where that is a terminal and NO_COLOR is not set.

    Args:
        stderr: Standard error instead.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, soft_wrap=True, stderr=stderr)

    @property
    def pen(self) -> Glyphs:
        """The finest glyphs for drawings that the encoding of the output allows."""
        return glyphs_for(self.encoding)

    def write(self, lines: Iterable[Text | str]) -> None:
        """Print lines as they are, however long."""
        for line in lines:
            self.print(line)

    def on_broken_pipe(self) -> None:
        """Let the error reach the caller, who knows that nobody reads on."""
        raise BrokenPipeError


def aligned(rows: Sequence[Sequence[str]], left: int) -> Iterator[tuple[str, ...]]:
    """The rows with columns that are as wide as their widest cell.

    Args:
        rows: All with the same number of cells.
        left: So many columns begin at the left, those after end at the right.
    """
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, wide, strict=True)
        yield tuple(
            text.ljust(own) if place < left else text.rjust(own) for place, (text, own) in enumerate(cells)
        )


LABEL = 15  # columns for what stands before a value


Archs = tuple[tuple[str, Cell], ...]
"""Cells by the names of their archs."""


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


def places(path: Path) -> list[Text]:
    """Where the run is, and the page about it if there is one."""
    from dartboard.report import REPORT

    report = path / REPORT
    return [*labelled("run", str(path)), *(labelled("report", str(report)) if report.is_file() else [])]
