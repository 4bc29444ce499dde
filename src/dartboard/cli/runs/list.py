"""List runs as a table, the last changed first.

Runs in folders inside DIR are found too, those of benches among them; the runs of a protocol are in its one
row unless DIR is the protocol itself or --all is given. A run whose files are damaged is listed as such. On a
narrow terminal columns are left out and long names are cut; a pipe gets all of them.
"""

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.text import Text

from dartboard.cli.arguments import RUNS, UsageError
from dartboard.cli.render import GAP, Terminal, print_json, shorten, table_lines
from dartboard.runs.directory import is_run
from dartboard.runs.listing import STATES, RunSummary, find_runs, summarize_run
from dartboard.utils.text import printable, span

STYLES = {"running": "green", "finished": "", "stopped": "yellow", "damaged": "red"}
COLUMNS = ("run", "state", "kind", "method", "space", "data", "seed", "epoch", "accuracy", "age")
LEFT_OUT = ("kind", "seed", "space", "data", "method")
"""Columns that a narrow terminal does without, the first of them first: most names of runs say the same."""
MIN_NAME, MIN_CUT = 30, 12
"""Characters of a name that are worth a column, and that are shown even where they do not fit."""
NOTHING = "-"


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("dir", nargs="?", type=Path, default=RUNS, metavar="DIR", help=f"where to look (default: {RUNS})")
    add("--state", choices=STATES, help="only runs in this state")
    add("--method", metavar="M", help="only runs of this method")
    add("--all", action="store_true", help="also the runs inside of protocols")
    add("--json", action="store_true", help="print one JSON object instead")


def run(args: Namespace) -> int:
    """Print the runs that there are."""
    folder: Path = args.dir
    if not folder.is_dir():
        hint = "" if folder == RUNS else "; the actions are list, show, compare, tail, check and rm"
        raise UsageError(f"there is no folder {folder} to list runs of{hint}")
    summaries = map(summarize_run, find_runs(folder, inside=args.all or is_run(folder)))
    entries = [
        entry
        for entry in sorted(summaries, key=lambda entry: entry.changed, reverse=True)
        if args.state in (None, entry.state) and args.method in (None, entry.method)
    ]
    if args.json:
        print_json({"runs": [facts(entry) for entry in entries]})
        return 0
    terminal = Terminal()
    if not entries:
        state = "" if args.state is None else f"{args.state} "
        method = "" if args.method is None else f" of {args.method}"
        terminal.write([f"no {state}runs{method} in {printable(str(folder))}"])
        return 0
    now = time.time()
    cells = [COLUMNS, *(_cells(entry, folder, now) for entry in entries)]
    lines = table_lines(fit_columns(cells, terminal.table_width))
    styles = ["bold", *(STYLES[entry.state] for entry in entries)]
    terminal.write(Text(line, style) for line, style in zip(lines, styles, strict=True))
    damaged = [entry for entry in entries if entry.mistake is not None]
    mistakes = (f"{_name(entry.path, folder)}: {printable(entry.mistake or '')}" for entry in damaged)
    terminal.write([Text(), *(Text(line, "red") for line in mistakes)] if damaged else [])
    return 0


def fit_columns(rows: Sequence[Sequence[str]], width: int) -> list[tuple[str, ...]]:
    """The rows without the columns that do not fit into `width`; then names are cut in the middle.

    A name keeps up to `MIN_NAME` characters as long as there are columns to leave out.
    """
    columns = dict(zip(rows[0], zip(*rows, strict=True), strict=True))
    wide = {name: GAP + max(map(len, column)) for name, column in columns.items()}
    first = rows[0][0]
    names = wide.pop(first) - GAP
    for name in LEFT_OUT:
        if min(names, MIN_NAME) + sum(wide.values()) <= width:
            break
        del wide[name], columns[name]
    room = max(width - sum(wide.values()), MIN_CUT)
    columns[first] = tuple(shorten(name, room) for name in columns[first])
    return list(zip(*columns.values(), strict=True))


def facts(entry: RunSummary) -> dict[str, Any]:
    """The summary of a run, ready for JSON."""
    changed = datetime.fromtimestamp(entry.changed, UTC).isoformat(timespec="seconds")
    return asdict(entry) | {"path": str(entry.path), "changed": changed}


def _cells(entry: RunSummary, folder: Path, now: float) -> tuple[str, ...]:
    done = NOTHING if entry.epoch is None else f"{entry.epoch}"
    values = (entry.kind, entry.method, entry.space, entry.data, entry.seed)
    return (
        _name(entry.path, folder),
        entry.state,
        *(NOTHING if value is None else printable(str(value)) for value in values),
        done if entry.epochs is None else f"{done} of {entry.epochs}",
        NOTHING if entry.accuracy is None else f"{entry.accuracy:.2%}",
        " ".join(span(now - entry.changed).split()[:2]),  # the largest unit alone
    )


def _name(path: Path, folder: Path) -> str:
    """The name of a run relative to a folder."""
    return printable(str(path.relative_to(folder) if path != folder else path))
