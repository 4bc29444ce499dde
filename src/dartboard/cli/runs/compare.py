"""Compare runs: the settings that differ, their numbers, and their cells side by side."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from dartboard.cli.arguments import UsageError
from dartboard.cli.render import Terminal, table_lines
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
NOTHING = "-"
Rows = list[tuple[str, ...]]


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
        print(json.dumps(_facts(entries, cells, differing), default=str))
        return 0
    terminal = Terminal()
    head = ("", *(printable(str(path)) for path in paths))
    terminal.write(_table(head, [*_numbers(entries), *_settings(differing)]))
    terminal.write(_drawn(paths, cells, terminal))
    return 0


def differences(configs: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """By dotted name the settings that are not the same in all configurations; None where one has none."""
    flats = [flat(config) for config in configs]
    names = dict.fromkeys(name for config in flats for name in config)
    settings = {name: [config.get(name) for config in flats] for name in names}
    return {name: values for name, values in settings.items() if any(value != values[0] for value in values)}


def _facts(
    entries: Sequence[RunSummary], cells: Sequence[Genotype | None], differing: Mapping[str, list[Any]]
) -> dict[str, Any]:
    encode = GENOTYPE_FORMATS["json"].encode
    runs = [
        facts(entry) | {"genotype": None if cell is None else json.loads(encode(cell))}
        for entry, cell in zip(entries, cells, strict=True)
    ]
    return {"runs": runs, "settings": differing}


def _numbers(entries: Sequence[RunSummary]) -> Rows:
    results = [_result(entry) for entry in entries]
    return [
        ("state", *(entry.state for entry in entries)),
        ("epoch", *(_shorten(entry.epoch) for entry in entries)),
        ("accuracy", *(NOTHING if entry.accuracy is None else f"{entry.accuracy:.2%}" for entry in entries)),
        *_where_known("entropy", [result.get("entropy") for result in results], "{:.4f}".format),
        *_where_known("parameters", [result.get("parameters") for result in results], "{:,}".format),
        *_where_known("time", [result.get("seconds") for result in results], span),
    ]


def _result(entry: RunSummary) -> dict[str, Any]:
    return {} if entry.mistake is not None else RunReader.read(entry.path).result() or {}


def _where_known(name: str, values: Sequence[Any], form: Any) -> Rows:
    """A row of numbers, if one of them is known."""
    known = [isinstance(value, int | float) for value in values]
    cells = (form(value) if is_known else NOTHING for value, is_known in zip(values, known, strict=True))
    return [(name, *cells)] if any(known) else []


def _settings(differing: Mapping[str, list[Any]]) -> Rows:
    return [(name, *map(_shorten, values)) for name, values in differing.items() if name != CELL]


def _shorten(value: object) -> str:
    text = NOTHING if value is None else printable(str(value))
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 3]}..."


def _table(head: tuple[str, ...], rows: Rows) -> list[Text]:
    lines = table_lines([head, *rows])
    return [Text(lines[0], "bold"), *map(Text, lines[1:])]


def _drawn(paths: Sequence[Path], cells: Sequence[Genotype | None], terminal: Terminal) -> list[Text]:
    """The cells of all runs, side by side as far as the terminal is wide, or that they are the same."""
    known = [(path, genotype) for path, genotype in zip(paths, cells, strict=True) if genotype is not None]
    if len(known) > 1 and all(genotype == known[0][1] for _, genotype in known):
        known = [(Path(f"the same in {'both' if len(known) == 2 else 'all'}"), known[0][1])]
    blocks = [
        [Text(f"{printable(str(path))}: {group}", "bold"), *draw_cell(cell, terminal.glyphs)]
        for path, genotype in known
        for group, cell in genotype.groups
    ]
    return [Text(), *side_by_side(blocks, terminal.width)] if blocks else []
