"""How commands print: the terminal, progress, numbers, tables, labeled lines, drawings of cells, JSON."""

import json
import math
import os
import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from textwrap import wrap
from typing import IO, TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from dartboard.space import Cell
from dartboard.space.graph import has_node_ops
from dartboard.space.spec import NONE
from dartboard.utils.progress import Progress, no_progress
from dartboard.utils.text import visible
from dartboard.viz.terminal import Glyphs, draw_cell, glyphs_for, side_by_side

if TYPE_CHECKING:
    import rich.progress
    from matplotlib.figure import Figure

PATIENCE = 1.0
"""Seconds before progress is shown: shorter work needs no bar."""
BETWEEN = 5.0
"""Seconds between two lines of progress where there is no terminal."""
REFRESH = 0.1
"""Seconds between two changes of a bar."""

METRICS = {
    "train_loss": "loss {:.3f}",
    "train_accuracy": "train {:.1%}",
    "valid_accuracy": "valid {:.1%}",
    "test_accuracy": "test {:.1%}",
    "entropy": "entropy {:.3f}",
}
"""Format of each metric of an epoch that is shown."""
GAP = 2
"""Spaces between two columns of a table."""
CUT = "..."
"""What stands where a text is cut."""
LABEL_WIDTH = 15
"""Columns for the label before a value."""
Groups = tuple[tuple[str, Cell], ...]
"""Cells by the names of their groups."""


class Terminal(Console):
    """Standard output, in color where that is a terminal or FORCE_COLOR is set, and NO_COLOR is not.

    Args:
        stderr: Standard error instead.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=True,
            stderr=stderr,
            force_jupyter=False,
            color_system=None if os.environ.get("NO_COLOR") else "auto",
        )

    @property
    def is_live(self) -> bool:
        """True if what is written can be drawn again: a terminal with a cursor, and not a cell of a notebook.

        Notebooks run commands in a terminal of their own, but append everything to the cell.
        """
        return self.file.isatty() and not self.is_dumb_terminal and "JPY_PARENT_PID" not in os.environ

    @property
    def table_width(self) -> int:
        """Columns for a table; in a pipe or a file there is no limit, and a row is one line."""
        return self.width if self.file.isatty() else sys.maxsize

    @property
    def file(self) -> IO[str]:
        """The stream itself, past those that make control characters visible: colors consist of these."""
        stream = super().file
        while (inner := getattr(stream, "rich_proxied_file", stream)) is not stream:
            stream = inner
        return stream

    @file.setter
    def file(self, stream: IO[str]) -> None:
        self._file = stream

    @property
    def glyphs(self) -> Glyphs:
        """The finest glyphs for drawings that the encoding of the output allows."""
        return glyphs_for(self.encoding)

    def write(self, lines: Iterable[Text | str]) -> None:
        """Print lines as they are, however long; one with a line break in it stays one line."""
        for line in lines:
            one_line = line
            if "\n" in (line if isinstance(line, str) else line.plain):
                one_line = str(line).replace("\n", "\\n")
            self.print(one_line if isinstance(one_line, Text) else visible(one_line))

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of something to print, with control characters in texts made visible."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Raise instead of exiting, so that `main` returns the exit code."""
        raise BrokenPipeError


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Progress]:
    """Inside, a callback that shows progress on standard error once work takes a while, unless `quiet`."""
    if quiet:
        yield no_progress
        return
    terminal = Terminal(stderr=True)
    view: ProgressBar | ProgressLines = ProgressBar(terminal) if terminal.is_live else ProgressLines()
    started = time.monotonic()

    def report(what: str, done: int, total: int) -> None:
        if time.monotonic() - started >= PATIENCE:
            view.show(what, done, total)

    try:
        yield report
    finally:
        view.close()


class ProgressLines:
    """A line every few seconds."""

    def __init__(self) -> None:
        self._next = 0.0

    def show(self, what: str, done: int, total: int) -> None:
        """Print a line if the last is old enough."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + BETWEEN
            amount = f"{min(done / total, 1):.0%}" if total else f"{done:,}"
            print(f"{what}: {amount}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing is left open."""


class ProgressBar:
    """A bar that is removed when the work is done."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal, self._next = terminal, 0.0
        self._bars: rich.progress.Progress | None = None
        self._task: tuple[str, rich.progress.TaskID] | None = None

    def show(self, what: str, done: int, total: int) -> None:
        """Move the bar, or begin another one for other work."""
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        if self._bars is None:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
            )
            self._bars = Progress(*columns, console=self._terminal, transient=True)
            self._bars.start()
        if self._task is None or self._task[0] != what:
            if self._task is not None:
                self._bars.remove_task(self._task[1])
            self._task = what, self._bars.add_task(what)
        elif time.monotonic() < self._next:
            return
        self._next = time.monotonic() + REFRESH
        self._bars.update(self._task[1], completed=done, total=total or None)

    def close(self) -> None:
        """Remove the bar."""
        if self._bars is not None:
            self._bars.stop()


def format_bytes(count: int) -> str:
    """A number of bytes in the largest unit of which there is at least one."""
    units = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
    return next((f"{count / unit:.1f} {name}" for name, unit in units if count >= unit), f"{count} bytes")


def format_metrics(metrics: Mapping[str, Any]) -> str:
    """The metrics of an epoch that are shown, as far as they are present."""
    return "  ".join(form.format(metrics[name]) for name, form in METRICS.items() if name in metrics)


def align_columns(rows: Sequence[Sequence[str]], left: int) -> Iterator[tuple[str, ...]]:
    """The rows as columns of even width, the first `left` of them aligned left, the others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        yield tuple(text.ljust(width) if at < left else text.rjust(width) for at, (text, width) in cells)


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each row, with all columns aligned left."""
    return ["  ".join(row).rstrip() for row in align_columns(rows, len(rows[0]))]


def table_texts(
    rows: Sequence[Sequence[str]],
    width: int,
    *,
    names: int = 1,
    left: int = 1,
    styles: Sequence[str] = (),
    head: str = "dim",
) -> Iterator[Text]:
    """A table in lines of at most `width` characters, the first row as heads.

    Columns that do not fit go on below, again behind the names; a single column may be wider.

    Args:
        rows: The cells.
        width: Most characters of a line.
        names: Number of first columns that name the row, which are repeated.
        left: Number of first columns that are aligned left; the others are aligned right.
        styles: Styles of the names in each row; cyan by default.
        head: Style of the heads.
    """
    gap = " " * GAP
    labels = [gap.join(cells) for cells in align_columns([row[:names] for row in rows], names)]
    columns = list(zip(*align_columns([row[names:] for row in rows], left - names), strict=True))
    styles = styles or ["cyan"] * len(rows)
    first = True
    while columns:
        if not first:
            yield Text()
        first, room = False, width - len(labels[0])
        ends = accumulate(GAP + len(column[0]) for column in columns)
        count = max(sum(end <= room for end in ends), 1)
        lines = zip(labels, styles, zip(*columns[:count], strict=True), strict=True)
        for number, (label, style, cells) in enumerate(lines):
            line = Text.assemble(
                (label, style), ("".join(gap + cell for cell in cells), "" if number else head)
            )
            line.rstrip()
            yield line
        columns = columns[count:]


def shorten(text: str, length: int) -> str:
    """The text, cut in the middle if it has more than `length` characters."""
    if len(text) <= length:
        return text
    tail = max((length - len(CUT)) // 2, 0)
    return text[: max(length - len(CUT) - tail, 0)] + CUT + (text[-tail:] if tail else "")


def labeled(label: str, value: str, width: int = sys.maxsize) -> list[Text]:
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
    return [*labeled("run", str(path)), *(labeled("report", str(report)) if report.is_file() else [])]


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
    """How often each different discrete cell has each op, the commonest first, cut at `width`.

    Plain wires between ops on vertices are not counted.
    """
    counts = {}
    for cell, names in group_cells(groups):
        wires = has_node_ops(cell)
        edges = [edge for edge in cell.edges if edge.ops != (NONE,) and not (wires and edge.target % 2)]
        counts[join_names(names)] = Counter(edge.ops[0] for edge in edges)
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


def join_names(groups: list[str]) -> str:
    """All names, or the first and the last of many."""
    return ", ".join(groups) if len(groups) < 4 else f"{groups[0]} to {groups[-1]}"


def group_cells(groups: Groups) -> list[tuple[Cell, list[str]]]:
    """Each different cell once, with the groups that have it."""
    names: dict[Cell, list[str]] = {}
    for name, cell in groups:
        names.setdefault(cell, []).append(name)
    return list(names.items())


def print_results(
    args: Namespace,
    facts: Mapping[str, Any],
    lines: Iterable[Text | str],
    figures: "Callable[[], Mapping[str, Figure]]",
    file: str,
) -> None:
    """Print lines, or facts with `--json`; with `--out` write pictures and facts to that folder.

    `figures` draws the pictures, by name without endings; `file` is the name of the file for the facts.
    """
    if args.out is not None:
        write_all(args.out, figures(), file, facts)
    if args.json:
        print_json(facts)
    else:
        Terminal().write([*lines, *([] if args.out is None else [f"written to {args.out}"])])


def write_all(folder: Path, figures: "Mapping[str, Figure]", name: str, numbers: Mapping[str, Any]) -> None:
    """Write pictures as SVG and PNG, and numbers as JSON, to a folder that is made if need be.

    Figures are by name without endings; `name` is that of the file with the numbers.
    """
    from dartboard.utils.atomic import write_text
    from dartboard.viz.figures import save_figure

    folder.mkdir(parents=True, exist_ok=True)
    for stem, figure in figures.items():
        save_figure(figure, folder / stem)
    write_text(folder / name, as_json(numbers, indent=1) + "\n")


def print_json(facts: Mapping[str, Any]) -> None:
    """Print the result of a command as one JSON object in one line; docs/reference/json.md lists the keys."""
    print(as_json(facts), flush=True)


def as_json(numbers: Mapping[str, Any], indent: int | None = None) -> str:
    """The numbers in JSON, with null for those that are NaN or infinite."""
    return json.dumps(_finite(numbers), indent=indent, allow_nan=False, default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value
