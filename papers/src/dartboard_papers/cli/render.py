"""Text output of `reproduce`: the list, the heading of a run, its result."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Any

from rich.text import Text

from dartboard.cli.render import Terminal, labeled
from dartboard.config.schema import format_default, setting_rows
from dartboard.utils.text import span
from dartboard_papers import PAPERS, Reproduction, ReproductionRecord, Row, RunOptions, Scale
from dartboard_papers.formatting import format_chance, format_seconds, format_seeds, format_value

COLORS = {"held": "green", "partly": "yellow", "did not hold": "red", "not testable here": "yellow"}
"""Colors of verdicts."""
NARROWEST = 20
"""Least width of texts, however narrow the terminal is."""


def print_heading(reproduction: Reproduction[Any], scale: Scale, options: RunOptions) -> None:
    """Prints what is about to be run and how long it takes, as far as that is known."""
    duration = f"takes about {span(60 * reproduction.minutes)} on two cores"
    if options.full and reproduction.full is not None:
        duration = "the paper's own numbers; takes long and needs a GPU"
    elif scale != reproduction.laptop or options.data is not None or options.table is not None:
        duration += " with its own numbers and images"
    terminal = Terminal()
    terminal.write([Text.assemble((reproduction.name, "bold"), f": {reproduction.about}")])
    terminal.write([Text(duration, "dim")])


def print_record(record: ReproductionRecord, folder: Path) -> None:
    """Prints the paper's claim, its numbers beside those measured here, and the verdict."""
    terminal = Terminal()
    width = terminal.width
    terminal.write(["", *labeled("paper", record.reproduction.claim, width), ""])
    terminal.write([*table(record.rows, width), ""])
    color = COLORS[record.verdict]
    terminal.write([Text.assemble(("here".ljust(15), "dim"), (str(record.verdict), color))])
    for name, part in record.parts.items():
        rule = f"rule: {record.reproduction.rules[name]}; {format_chance(part.chance)}"
        terminal.write(labeled("", f"{name}: {part.verdict}, {part.observed} ({rule})", width))
    for text in (record.sentence, *record.remarks):
        terminal.write(labeled("", text, width))
    size = f"{record.size}; {format_seeds(record.seeds)}; {format_seconds(record.seconds)}"
    terminal.write(labeled("size", size, width))
    terminal.write([*labeled("written", str(folder)), ""])


def table(rows: Sequence[Row], width: int) -> list[str]:
    """The paper's numbers and those measured here in columns; the first is wrapped to fit the width."""
    texts = [
        ("", "paper", "here"),
        *((row.what, format_value(row.paper), format_value(row.here)) for row in rows),
    ]
    widths = [max(len(row[column]) for row in texts) for column in range(3)]
    room = max(min(widths[0], width - widths[1] - widths[2] - 6), min(widths[0], NARROWEST))
    lines = []
    for what, paper, here in texts:
        first, *rest = wrap(what, room) or [""]
        lines.append(f"  {first.ljust(room)}  {paper.rjust(widths[1])}  {here.rjust(widths[2])}")
        lines += [f"    {more}" for more in rest]
    return lines


def print_list(reproductions: Sequence[Reproduction[Any]]) -> None:
    """Prints names, durations and short descriptions, grouped by paper."""
    terminal = Terminal()
    width = max(len(item.name) for item in reproductions)
    for paper, group in groupby(reproductions, key=lambda item: item.paper):
        terminal.write([Text(PAPERS[paper], "bold")])
        for item in group:
            duration = span(60 * item.minutes).rjust(7)
            about = item.about + (f"; needs {_flags(item.needs)}" if item.needs else "")
            first, *rest = wrap(about, max(terminal.width - width - 13, NARROWEST))
            terminal.write([Text.assemble("  ", (item.name.ljust(width), "cyan"), f"{duration}  {first}")])
            terminal.write([" " * (width + 11) + more for more in rest])


def print_one(reproduction: Reproduction[Any]) -> None:
    """Prints the description of a reproduction, its inputs and its settings."""
    terminal = Terminal()
    terminal.write([Text(reproduction.name, "bold"), Text(PAPERS[reproduction.paper], "dim")])
    facts = {
        "what": reproduction.about,
        "paper": reproduction.claim,
        "takes": _flags(reproduction.takes) or "nothing",
    }
    facts |= {"needs": _flags(reproduction.needs)} if reproduction.needs else {}
    facts |= {"differs": reproduction.setup} if reproduction.setup else {}
    facts |= {"time": span(60 * reproduction.minutes)}
    rules = [("rule", f"{name}: {rule}") for name, rule in reproduction.rules.items()]
    for label, text in (*facts.items(), *rules):
        terminal.write(labeled(label, text, terminal.width))
    terminal.write([""])
    for entry in setting_rows(type(reproduction.laptop)):
        default, full = (_typed(scale, entry.key) for scale in (reproduction.laptop, reproduction.full))
        paper = "" if full in ("", default) else f" (paper: {full})"
        terminal.write([f"{entry.key}={default}{paper}  {entry.about}"])


def _flags(keys: Sequence[str]) -> str:
    return " and ".join(f"--{key}" for key in keys)


def _typed(scale: Scale | None, key: str) -> str:
    """A setting of a scale as it is typed; empty if there is no scale."""
    value: Any = scale
    for part in key.split("."):
        value = getattr(value, part, None)
    return "" if scale is None else format_default(value)


def facts(reproduction: Reproduction[Any]) -> dict[str, Any]:
    """Description of a reproduction, ready for JSON."""
    full = None if reproduction.full is None else reproduction.full.model_dump(mode="json")
    return {
        "paper": PAPERS[reproduction.paper],
        "part": reproduction.part,
        "about": reproduction.about,
        "claim": reproduction.claim,
        "rules": dict(reproduction.rules),
        "setup": reproduction.setup,
        "minutes": reproduction.minutes,
        "takes": list(reproduction.takes),
        "needs": list(reproduction.needs),
        "laptop": reproduction.laptop.model_dump(mode="json"),
        "full": full,
    }
