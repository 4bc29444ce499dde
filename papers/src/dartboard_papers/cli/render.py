"""Reproductions for people: what there is, what is about to be done, and what came of it."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Any

from rich.text import Text

from dartboard.cli.list import setting_entries, typed
from dartboard.cli.render import Terminal, labelled
from dartboard.utils.text import span
from dartboard_papers import PAPERS, Record, Reproduction, Row, Scale, Setting
from dartboard_papers.words import repeated, said
from dartboard_papers.words import span as precise

COLOURS = {"held": "green", "did not hold": "red", "not testable here": "yellow"}
"""Of verdicts."""
NARROWEST = 20
"""Columns that words have at least, however narrow the terminal is."""


def print_heading(told: Reproduction[Any], scale: Scale, setting: Setting) -> None:
    """Prints what is about to be done, and how long it takes."""
    terminal = Terminal()
    terminal.write([Text.assemble((told.name, "bold"), f": {told.about}")])
    terminal.write([Text(_time(told, scale, setting), "dim")])


def _time(told: Reproduction[Any], scale: Scale, setting: Setting) -> str:
    """How long it takes, as far as that is known."""
    if setting.full and told.full is not None:
        return "the paper's own numbers; takes long and needs a GPU"
    usual = f"takes about {span(60 * told.minutes)} on two cores"
    own = scale == told.laptop and setting.data is None and setting.table is None
    return usual if own else f"{usual} with its own numbers and images"


def print_record(record: Record, folder: Path) -> None:
    """Prints the paper's claim and numbers, those of here beside them, and the verdict."""
    terminal = Terminal()
    width = terminal.width
    terminal.write(["", *labelled("paper", record.reproduction.claim, width), ""])
    terminal.write([*table(record.rows, width), ""])
    colour = COLOURS[record.verdict]
    terminal.write([Text.assemble(("here".ljust(15), "dim"), (str(record.verdict), colour))])
    for words in (record.sentence, *record.remarks):
        terminal.write(labelled("", words, width))
    size = f"{record.size}; {repeated(record.seeds)}; {precise(record.seconds)}"
    terminal.write(labelled("size", size, width))
    terminal.write([*labelled("written", str(folder)), ""])


def table(rows: Sequence[Row], width: int) -> list[str]:
    """The paper's numbers and those of here in columns; what they are of is broken where the room ends."""
    texts = [("", "paper", "here"), *((row.what, said(row.paper), said(row.here)) for row in rows)]
    wide = [max(len(row[place]) for row in texts) for place in range(3)]
    room = max(min(wide[0], width - wide[1] - wide[2] - 6), min(wide[0], NARROWEST))
    lines = []
    for what, paper, here in texts:
        first, *rest = wrap(what, room) or [""]
        lines.append(f"  {first.ljust(room)}  {paper.rjust(wide[1])}  {here.rjust(wide[2])}")
        lines += [f"    {more}" for more in rest]
    return lines


def print_list(chosen: Sequence[Reproduction[Any]]) -> None:
    """Prints names, minutes and what each is about, below the names of the papers."""
    terminal = Terminal()
    wide = max(len(told.name) for told in chosen)
    for paper, own in groupby(chosen, key=lambda told: told.paper):
        terminal.write([Text(PAPERS[paper], "bold")])
        for told in own:
            time = span(60 * told.minutes).rjust(7)
            about = told.about + (f"; needs {_flags(told.needs)}" if told.needs else "")
            first, *rest = wrap(about, max(terminal.width - wide - 13, NARROWEST))
            terminal.write([Text.assemble("  ", (told.name.ljust(wide), "cyan"), f"{time}  {first}")])
            terminal.write([" " * (wide + 11) + more for more in rest])


def print_one(told: Reproduction[Any]) -> None:
    """Prints what one is, what it can be given and the numbers that can be set."""
    terminal = Terminal()
    terminal.write([Text(told.name, "bold"), Text(PAPERS[told.paper], "dim")])
    facts = {"what": told.about, "paper": told.claim, "takes": _flags(told.takes) or "nothing"}
    facts |= {"needs": _flags(told.needs)} if told.needs else {}
    facts |= {"time": span(60 * told.minutes)}
    for label, words in facts.items():
        terminal.write(labelled(label, words, terminal.width))
    terminal.write([""])
    for entry in setting_entries(type(told.laptop)):
        usual, full = _values(told, entry.key)
        paper = "" if full in ("", usual) else f" (paper: {full})"
        terminal.write([f"{entry.key}={usual}{paper}  {entry.about}"])


def _flags(keys: Sequence[str]) -> str:
    return " and ".join(f"--{key}" for key in keys)


def _values(told: Reproduction[Any], key: str) -> tuple[str, str]:
    """A number of a laptop and the paper's, as they are typed; nothing where the paper's are the same."""
    found = []
    for scale in (told.laptop, told.full):
        value: Any = scale
        for part in key.split("."):
            value = getattr(value, part, None)
        found.append("" if scale is None else typed(value))
    return found[0], found[1]


def facts(told: Reproduction[Any]) -> dict[str, Any]:
    """What a reproduction is, ready for JSON."""
    full = None if told.full is None else told.full.model_dump(mode="json")
    return {
        "paper": PAPERS[told.paper],
        "part": told.part,
        "about": told.about,
        "claim": told.claim,
        "minutes": told.minutes,
        "takes": list(told.takes),
        "needs": list(told.needs),
        "laptop": told.laptop.model_dump(mode="json"),
        "full": full,
    }
