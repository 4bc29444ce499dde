"""Say what a run is: its settings, its last epochs, what came out, and the commands that can follow."""

import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from dartboard.cli.render import Terminal, draw_cells, labeled, print_json
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
        print_json(facts(entry) | more)
        return 0
    terminal = Terminal()
    terminal.write(_head(entry, reading.config, terminal.width))
    if entry.mistake is None:
        lines = epoch_lines(reading.metrics()[-EPOCHS:], reading.config.get("epochs"))
        terminal.write([Text(), *map(Text, lines)] if lines else [])
        terminal.write(_result(reading.result() or {}, entry.accuracy))
    if genotype is not None:
        terminal.write(["", *draw_cells(genotype.groups, terminal), ""])
    for line in following:
        terminal.write(labeled("next", line))
    return 0


def genotype_of(path: Path) -> Genotype | None:
    """The genotype that a run has found or trains; None if there is none yet, or it cannot be read."""
    try:
        return find_genotype(str(path.absolute()))
    except (DartboardError, TypeError, AttributeError):  # the latter two of files that were edited
        return None


def _head(entry: RunSummary, config: Mapping[str, Any], width: int) -> Iterator[Text]:
    """The path, the state and the settings of a run."""
    age = f"{entry.state}, last changed {span(time.time() - entry.changed)} ago"
    values = [("state", age, STYLES[entry.state])]
    if entry.mistake is not None:
        values.append(("damaged", entry.mistake, "red"))
    names = ("kind", "method", "space", "data", "seed")
    values += [(name, str(getattr(entry, name)), "") for name in names if getattr(entry, name) is not None]
    for name in SETTINGS:
        if name in config:
            pairs = config[name].items() if isinstance(config[name], dict) else ()
            text = ", ".join(f"{key} {value}" for key, value in pairs) or str(config[name])
            values.append((name, text, ""))
    values += [(name, text, "") for name, text in _origins(config)]
    yield Text(printable(str(entry.path)), "bold")
    for name, text, style in values:
        for line in labeled(name, printable(text), width):
            line.stylize(style)
            yield line


def _origins(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The weights that a run started from, and the lengths that its schedules have had."""
    init, history = config.get("init"), config.get("schedule_history")
    if isinstance(init, Mapping) and init.get("weights"):
        checksum = f", sha256 {init['sha256']}" if init.get("sha256") else ""
        yield "from", f"{init['weights']}{checksum}"
    if isinstance(history, list) and all(isinstance(entry, Mapping) for entry in history) and history:
        parts = [f"for {entry.get('epochs')} epochs until epoch {entry.get('until')}" for entry in history]
        yield "schedule", ", then ".join([*parts, f"for {config.get('epochs')}"])


def _result(result: Mapping[str, Any], accuracy: float | None) -> Iterator[Text]:
    if result and accuracy is not None:
        alone = result.get("discrete_accuracy")
        more = f"; {alone:.2%} with the cell alone" if isinstance(alone, int | float) else ""
        yield from labeled("accuracy", f"{accuracy:.2%}{more}")
    if isinstance(entropy := result.get("entropy"), int | float):
        yield from labeled("entropy", f"{entropy:.3f}")
    if isinstance(seconds := result.get("seconds"), int | float):
        yield from labeled("time", span(seconds))
    for warning in result.get("warnings") or ():
        yield from labeled("warning", printable(str(warning)))
    if isinstance(verdict := result.get("verdict"), str):
        yield from labeled("verdict", printable(verdict))


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
