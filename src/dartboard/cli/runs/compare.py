"""Compare runs: the settings that differ, their numbers, and their cells side by side."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from dartboard.cli.arguments import UsageError
from dartboard.cli.render import GAP, Terminal, print_json, shorten, table_texts
from dartboard.cli.runs.list import facts
from dartboard.cli.runs.show import genotype_of
from dartboard.runs.directory import RunReader
from dartboard.runs.listing import RunSummary, summarize_run
from dartboard.runs.text_files import flat
from dartboard.space import GENOTYPE_FORMATS, Genotype
from dartboard.utils.text import printable, span
from dartboard.viz.terminal import draw_cell, side_by_side

CELL = "cell"
"""The setting that is drawn instead of printed."""
MAX_VALUE = 40
"""Characters of a value."""
MIN_VALUE = 12
"""Characters of a value or a path that are shown on every terminal."""
NOTHING = "-"


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="RUN", help="the directory of a run")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def run(args: Namespace) -> int:
    """Print where the runs differ."""
    paths: list[Path] = list(dict.fromkeys(args.paths))
    if len(paths) < 2:
        raise UsageError("a comparison needs two runs or more; name another")
    differing = differences([RunReader.read(path).config for path in paths])
    entries, cells = [summarize_run(path) for path in paths], [genotype_of(path) for path in paths]
    if args.json:
        encode = GENOTYPE_FORMATS["json"].encode
        runs = [
            facts(entry) | {"genotype": None if cell is None else json.loads(encode(cell))}
            for entry, cell in zip(entries, cells, strict=True)
        ]
        print_json({"runs": runs, "settings": differing})
        return 0
    terminal = Terminal()
    settings = [(name, *map(_shorten, values)) for name, values in differing.items() if name != CELL]
    rows = [("", *(printable(str(path)) for path in paths)), *_numbers(entries), *settings]
    width = terminal.table_width
    room = max(width - max(len(row[0]) for row in rows) - GAP, MIN_VALUE)
    short = [(row[0], *(shorten(value, room) for value in row[1:])) for row in rows]
    lines = table_texts(short, width, left=len(rows[0]), styles=[""] * len(rows), head="bold")
    terminal.write([*lines, *_drawn(paths, cells, terminal)])
    return 0


def differences(configs: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """By dotted name the settings that are not the same in all configurations; None where one has none."""
    flats = [flat(config) for config in configs]
    names = dict.fromkeys(name for config in flats for name in config)
    settings = {name: [config.get(name) for config in flats] for name in names}
    return {name: values for name, values in settings.items() if any(value != values[0] for value in values)}


def _numbers(entries: Sequence[RunSummary]) -> list[tuple[str, ...]]:
    """State, epoch and accuracy of the runs, and those of their results that one of them has."""
    rows: list[tuple[str, ...]] = [
        ("state", *(entry.state for entry in entries)),
        ("epoch", *(_shorten(entry.epoch) for entry in entries)),
        ("accuracy", *(NOTHING if entry.accuracy is None else f"{entry.accuracy:.2%}" for entry in entries)),
    ]
    results = [
        {} if entry.mistake is not None else RunReader.read(entry.path).result() or {} for entry in entries
    ]
    forms: dict[str, tuple[str, Callable[[Any], str]]] = {
        "entropy": ("entropy", "{:.4f}".format),
        "parameters": ("parameters", "{:,}".format),
        "time": ("seconds", span),
    }
    for name, (key, form) in forms.items():
        values = [result.get(key) for result in results]
        if any(isinstance(value, int | float) for value in values):
            texts = (form(value) if isinstance(value, int | float) else NOTHING for value in values)
            rows.append((name, *texts))
    return rows


def _shorten(value: object) -> str:
    text = NOTHING if value is None else printable(str(value))
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 3]}..."


def _drawn(paths: Sequence[Path], cells: Sequence[Genotype | None], terminal: Terminal) -> list[Text]:
    """The cells of all runs, side by side as far as the terminal is wide, or that they are the same."""
    known = [(path, genotype) for path, genotype in zip(paths, cells, strict=True) if genotype is not None]
    if len(known) > 1 and all(genotype == known[0][1] for _, genotype in known):
        known = [(Path(f"the same in {'both' if len(known) == 2 else 'all'}"), known[0][1])]
    width = terminal.table_width
    blocks = [
        [
            Text(f"{shorten(printable(str(path)), max(width - len(group) - 2, MIN_VALUE))}: {group}", "bold"),
            *draw_cell(cell, terminal.glyphs),
        ]
        for path, genotype in known
        for group, cell in genotype.groups
    ]
    return [Text(), *side_by_side(blocks, terminal.width)] if blocks else []
