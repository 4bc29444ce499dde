"""The scoreboard of a bench, laid out for people."""

import sys
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.terminal import Terminal

if TYPE_CHECKING:
    from dartboard.scoreboard.table import Scoreboard

Columns = list[tuple[str, ...]]
"""Each column from its name down."""

GAP = 2
COLOURS = {"better": "green", "worse": "red"}
"""Of the names of methods, by what is said of them."""


def print_table(table: "Scoreboard") -> None:
    """Prints the scoreboard and its remarks.

    On a terminal that is too narrow the columns go on below, again with the names of the methods; in a pipe
    every row is one line.
    """
    terminal = Terminal()
    terminal.write(table_lines(table, terminal.width if terminal.is_terminal else sys.maxsize))


def table_lines(table: "Scoreboard", width: int) -> Iterator[Text | str]:
    """The scoreboard in lines of at most `width` characters, where single columns are no wider."""
    said = f"{table.oracle}, {table.architectures:,} architectures; accuracies, regrets and differences in %"
    yield Text(said, "bold")
    names, *others = zip(*table.cells(), strict=True)
    styles = ["dim", *(COLOURS.get(row.verdict, "cyan") for row in table.rows)]
    for place, block in enumerate(_blocks(others, width - _wide(names))):
        yield from [""] if place else []
        yield from _lines(names, block, styles)
    yield ""
    for remark in table.remarks:
        yield from wrap(remark, width, subsequent_indent=" " * GAP, break_on_hyphens=False)


def _blocks(columns: Sequence[tuple[str, ...]], room: int) -> Iterator[Columns]:
    """The columns in groups that have room beside each other, each of one at least."""
    block: Columns = []
    for column in columns:
        if block and sum(map(_wide, [*block, column])) + GAP * (len(block) + 1) > room:
            yield block
            block = []
        block.append(column)
    yield block


def _lines(names: Sequence[str], block: Columns, styles: Sequence[str]) -> Iterator[Text]:
    rows = zip(names, styles, *block, strict=True)
    for place, (name, style, *cells) in enumerate(rows):
        numbers = [cell.rjust(_wide(own) + GAP) for cell, own in zip(cells, block, strict=True)]
        yield Text.assemble((name.ljust(_wide(names)), style), ("".join(numbers), "" if place else "dim"))


def _wide(column: Sequence[str]) -> int:
    return max(map(len, column))
