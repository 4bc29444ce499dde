"""Say what a run is: its settings, its last epochs, what came out, and the commands to go on with it."""

import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from dartboard.cli.render import Terminal, draw_cells, labelled
from dartboard.cli.runs.list import STYLES, facts
from dartboard.cli.runs.tail import epoch_lines
from dartboard.errors import DartboardError
from dartboard.runs.directory import RunReader
from dartboard.runs.listing import RunSummary, summarize_run
from dartboard.runs.lookup import find_genotype
from dartboard.space import GENOTYPE_FORMATS, Genotype
from dartboard.utils.text import command, printable, span

EPOCHS = 5
"""Epochs that are shown."""
SETTINGS = ("batch", "precision", "net", "weights")
"""Settings that are shown of searches and trainings, where there are such."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("path", type=Path, metavar="RUN", help="the directory of a run")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def run(args: Namespace) -> int:
    """Describe the run."""
    reading = RunReader.read(args.path)
    entry, genotype = summarize_run(args.path), genotype_of(args.path)
    plugins = reading.config.get("plugins")
    following = commands(entry, plugins if isinstance(plugins, list) else ())
    if args.json:
        cell = None if genotype is None else json.loads(GENOTYPE_FORMATS["json"].encode(genotype))
        more = {"config": reading.config, "genotype": cell, "next": following}
        print(json.dumps(facts(entry) | more, default=str))
        return 0
    terminal = Terminal()
    terminal.write(_head(entry, terminal))
    terminal.write(_settings(reading.config, terminal))
    if entry.mistake is None:
        terminal.write(_epochs(reading))
        terminal.write(_result(reading))
    if genotype is not None:
        terminal.write(["", *draw_cells(genotype.groups, terminal), ""])
    for line in following:
        terminal.write(labelled("next", line))
    return 0


def genotype_of(path: Path) -> Genotype | None:
    """The genotype that a run has found or trains; None if there is none yet, or it cannot be read."""
    try:
        return find_genotype(str(path.absolute()))
    except (DartboardError, TypeError, AttributeError):  # the latter two of files that were edited
        return None


def _head(entry: RunSummary, terminal: Terminal) -> Iterator[Text]:
    age = f"{entry.state}, last changed {span(time.time() - entry.changed)} ago"
    yield Text(printable(str(entry.path)), "bold")
    yield from _label("state", age, terminal, STYLES[entry.state])
    if entry.mistake is not None:
        yield from _label("damaged", entry.mistake, terminal, "red")
    for name in ("kind", "method", "space", "data", "seed"):
        if (value := getattr(entry, name)) is not None:
            yield from _label(name, str(value), terminal)


def _label(name: str, value: str, terminal: Terminal, style: str = "") -> list[Text]:
    lines = labelled(name, printable(value), terminal.width)
    for line in lines:
        line.stylize(style)
    return lines


def _settings(config: dict[str, Any], terminal: Terminal) -> Iterator[Text]:
    for name in SETTINGS:
        if name in config:
            value = config[name]
            pairs = value.items() if isinstance(value, dict) else ()
            text = ", ".join(f"{key} {inner}" for key, inner in pairs) or str(value)
            yield from _label(name, text, terminal)


def _epochs(reading: RunReader) -> list[Text]:
    lines = epoch_lines(reading.metrics()[-EPOCHS:], reading.config.get("epochs"))
    return [Text(), *map(Text, lines)] if lines else []


def _result(reading: RunReader) -> Iterator[Text]:
    result = reading.result() or {}
    accuracy = summarize_run(reading.path).accuracy
    if result and accuracy is not None:
        alone = result.get("discrete_accuracy")
        more = f"; {alone:.2%} with the cell alone" if isinstance(alone, int | float) else ""
        yield from labelled("accuracy", f"{accuracy:.2%}{more}")
    if isinstance(entropy := result.get("entropy"), int | float):
        yield from labelled("entropy", f"{entropy:.3f}")
    if isinstance(seconds := result.get("seconds"), int | float):
        yield from labelled("time", span(seconds))
    for warning in result.get("warnings") or ():
        yield from labelled("warning", printable(str(warning)))
    if isinstance(verdict := result.get("verdict"), str):
        yield from labelled("verdict", printable(verdict))


def commands(entry: RunSummary, plugins: Sequence[str] = ()) -> list[str]:
    """Commands that can follow, ready to be typed."""
    path, kind = entry.path, entry.kind or "search"
    if entry.state == "stopped":
        return [command(kind, "--resume", path, plugins=plugins)]
    if entry.state == "running":
        return [command("runs", "tail", path, "--follow")]
    if entry.state == "damaged":
        return [command("runs", "rm", path)]
    further: dict[str, list[tuple[object, ...]]] = {
        "search": [("train", path, "--recipe", "quick")],
        "train": [("evaluate", path), ("export", path, "--format", "onnx")],
    }
    lines = [command(*words, plugins=plugins) for words in further.get(kind, [])]
    return [*lines, command("report", path)]
