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

METRICS = {
    "train_loss": "loss {:.3f}",
    "train_accuracy": "train {:.1%}",
    "valid_accuracy": "valid {:.1%}",
    "test_accuracy": "test {:.1%}",
    "entropy": "entropy {:.3f}",
}
"""Format of each metric of an epoch that is shown."""
LABEL_WIDTH = 15
"""Columns for the label before a value."""
Groups = tuple[tuple[str, Cell], ...]
"""Cells by the names of their groups."""


class Terminal(Console):
    """Standard output, in color where that is a terminal and NO_COLOR is not set.

    Args:
        stderr: Standard error instead.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, soft_wrap=True, stderr=stderr)

    @property
    def glyphs(self) -> Glyphs:
        """The finest glyphs for drawings that the encoding of the output allows."""
        return glyphs_for(self.encoding)

    def write(self, lines: Iterable[Text | str]) -> None:
        """Print lines as they are, however long."""
        for line in lines:
            self.print(line)

    def on_broken_pipe(self) -> None:
        """Raise instead of exiting, so that `main` returns the exit code."""
        raise BrokenPipeError


def format_bytes(count: int) -> str:
    """A number of bytes in the largest unit of which there is at least one."""
    units = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
    return next((f"{count / unit:.1f} {name}" for name, unit in units if count >= unit), f"{count} bytes")


def format_metrics(metrics: Mapping[str, Any]) -> str:
    """The metrics of an epoch that are shown, as far as they are present."""
    return "  ".join(form.format(metrics[name]) for name, form in METRICS.items() if name in metrics)


def sparkline(values: Sequence[float], levels: str) -> str:
    """One character a value, the first of `levels` for the smallest and the last for the largest."""
    low, high = min(values), max(values)
    scale = (len(levels) - 1) / (high - low) if high > low else 0.0
    return "".join(levels[round((value - low) * scale)] for value in values)


def align_columns(rows: Sequence[Sequence[str]], left: int) -> Iterator[tuple[str, ...]]:
    """The rows with every cell padded to the width of its column.

    Args:
        rows: Rows with the same number of cells.
        left: How many columns are aligned left; those after are aligned right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        yield tuple(text.ljust(width) if at < left else text.rjust(width) for at, (text, width) in cells)


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each row, with all columns aligned left."""
    return ["  ".join(row).rstrip() for row in align_columns(rows, len(rows[0]))]


def labelled(label: str, value: str, width: int = sys.maxsize) -> list[Text]:
    """A label and its value, wrapped to several lines of at most `width` characters."""
    lines = wrap(value, max(width - LABEL_WIDTH, LABEL_WIDTH)) or [""]
    labels = [label, *[""] * (len(lines) - 1)]
    return [
        Text.assemble((text.ljust(LABEL_WIDTH), "dim"), line)
        for text, line in zip(labels, lines, strict=True)
    ]


def run_lines(path: Path) -> list[Text]:
    """The directory of a run, and its report if there is one."""
    from dartboard.report import REPORT

    report = path / REPORT
    return [*labelled("run", str(path)), *(labelled("report", str(report)) if report.is_file() else [])]


def draw_cells(groups: Groups, terminal: Terminal) -> list[Text]:
    """The drawings of all different cells, side by side as far as the terminal is wide."""
    blocks = [
        [Text(join_names(names), "bold"), *draw_cell(cell, terminal.glyphs)]
        for cell, names in group_cells(groups)
    ]
    return side_by_side(blocks, terminal.width)


def fit_cells(groups: Groups, terminal: Terminal, height: int) -> list[Text]:
    """The drawings of discrete cells if they fit into `height` lines, else a line for each cell."""
    drawing = draw_cells(groups, terminal)
    if len(drawing) <= height and all(line.cell_len <= terminal.width for line in drawing):
        return drawing
    lines = _op_count_lines(groups, terminal.width)
    room = max(height - 1, 0)
    return lines if len(lines) <= height else [*lines[:room], Text(f"and {len(lines) - room} more", "dim")]


def _op_count_lines(groups: Groups, width: int) -> list[Text]:
    """How often each different cell has each op, the commonest first, cut at `width`."""
    counts = {join_names(names): _op_counts(cell) for cell, names in group_cells(groups)}
    label = max(map(len, counts)) + 2
    lines = []
    for name, ops in counts.items():
        parts = [f"{count} {op}" for op, count in ops.most_common()] or ["nothing"]
        text = ", ".join(parts)
        while len(text) > width - label and len(parts) > 1:
            parts = parts[:-1]
            text = ", ".join([*parts, "..."])
        line = Text.assemble((name.ljust(label), "bold"), text)
        line.truncate(width, overflow="crop")
        lines.append(line)
    return lines


def _op_counts(cell: Cell) -> Counter[str]:
    """How often a discrete cell has each op, not counting plain wires between ops on vertices."""
    on_vertices = has_node_ops(cell)
    edges = [edge for edge in cell.edges if edge.ops != (NONE,) and not (on_vertices and edge.target % 2)]
    return Counter(edge.ops[0] for edge in edges)


def join_names(groups: list[str]) -> str:
    """All names, or the first and the last of many."""
    return ", ".join(groups) if len(groups) < 4 else f"{groups[0]} to {groups[-1]}"


def group_cells(groups: Groups) -> list[tuple[Cell, list[str]]]:
    """Each different cell once, with the groups that have it."""
    names: dict[Cell, list[str]] = {}
    for name, cell in groups:
        names.setdefault(cell, []).append(name)
    return list(names.items())
