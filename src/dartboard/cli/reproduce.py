"""Redo figures and tables of the papers, and set what comes out beside what they report.

Each finishes in minutes by default, and says before how many; --full takes the paper's own numbers, for
a GPU. Numbers, pictures and a page are written to OUT/NAME. The same command again goes on where it was
stopped. Words such as epochs=5 change how large it is; --list says what there is.
"""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from dartboard.cli.arguments import UsageError, positive
from dartboard.cli.places import RUNS
from dartboard.cli.progress import progress
from dartboard.cli.report import labelled
from dartboard.cli.terminal import Terminal

if TYPE_CHECKING:
    from dartboard.papers import Record, Reproduction, Setting

COLOURS = {"held": "green", "did not hold": "red", "not testable here": "yellow"}
"""Of verdicts."""


def configure(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add = parser.add_argument
    add("name", nargs="?", metavar="NAME", help="which one, such as xnas-figure-3; all for every one")
    add("overrides", nargs="*", metavar="KEY=VALUE", help="how large it is, such as epochs=5 seeds=2")
    add("--list", action="store_true", help="say what there is; with a NAME, the numbers that it takes")
    add("--full", action="store_true", help="the paper's own numbers")
    add("--data", metavar="D", help="images in the place of its own; see dartboard list datasets")
    add("--table", type=Path, metavar="PATH", help="the file of the benchmark that it asks")
    add("--out", type=Path, metavar="DIR", default=RUNS / "papers", help="default: runs/papers")
    add("--jobs", type=positive, default=1, metavar="N", help="processes that work (default: 1)")
    add("--threads", type=positive, metavar="N", help="threads of this process on a CPU")
    add("--device", metavar="D", help="where to compute (default: cuda if there is one, else cpu)")
    add("--json", action="store_true", help="print one JSON object for each instead")
    add("--quiet", action="store_true", help="show nothing while it runs")


def run(args: Namespace) -> int:
    """Say what there is, or do it."""
    if args.list:
        return _list(args)
    if args.name is None:
        raise UsageError("reproduce needs the NAME of a figure or table, or --list to see them")
    from dartboard.cli.machine import prepare
    from dartboard.papers import REPRODUCTIONS, Setting

    device = prepare(args.device, args.threads)
    every = args.name == "all"
    if every and args.overrides:
        raise UsageError(f"all of them have no {args.overrides[0]!r} in common; name one")
    for told in list(REPRODUCTIONS.values()) if every else [REPRODUCTIONS[args.name]]:
        setting = Setting(args.out / told.name, args.data, args.table, device, args.jobs)
        _do(args, told, _fitting(told, setting) if every else setting)
    return 0


def _fitting(told: "Reproduction[Any]", setting: "Setting") -> "Setting":
    """The setting without what this one does not look at."""
    left_out: dict[str, Any] = dict.fromkeys({"data", "table"} - set(told.takes))
    return replace(setting, **left_out)


def _do(args: Namespace, told: "Reproduction[Any]", setting: "Setting") -> None:
    from dartboard.papers.doing import WORK, check_given, choose_scale, reproduce

    scale = choose_scale(told, args.overrides, full=args.full)
    check_given(told, setting)
    folder = setting.folder
    if not args.json:
        Terminal().write(_heading(told, full=args.full))
    with progress(quiet=args.quiet) as tell:
        record = reproduce(told.name, scale, replace(setting, folder=folder / WORK, tell=tell), folder)
    if args.json:
        print(json.dumps(record.facts(), ensure_ascii=False))
    else:
        _print(record, folder)


def _heading(told: "Reproduction[Any]", *, full: bool) -> Iterator[Text | str]:
    yield Text.assemble((told.name, "bold"), f": {told.about}")
    if full and told.full is not None:
        yield Text("the paper's own numbers; takes long, and a GPU", "dim")
    else:
        yield Text(f"takes about {_minutes(told.minutes)} on two cores", "dim")


def _minutes(minutes: float) -> str:
    return f"{minutes * 60:.0f} s" if minutes < 1 else f"{minutes:.0f} min"


def _print(record: "Record", folder: Path) -> None:
    from dartboard.papers.record import said

    terminal, told = Terminal(), record.reproduction
    terminal.write(labelled("paper", told.claim, terminal.width))
    rows = [("", "paper", "here"), *((row.what, said(row.paper), said(row.here)) for row in record.rows)]
    wide = [max(len(row[place]) for row in rows) for place in range(3)]
    for what, paper, here in rows:
        terminal.write([f"  {what.ljust(wide[0])}  {paper.rjust(wide[1])}  {here.rjust(wide[2])}"])
    verdict = Text.assemble((str(record.verdict), COLOURS[record.verdict]))
    terminal.write([Text.assemble("here           ", verdict)])
    for words in (record.sentence, *record.remarks):
        terminal.write(labelled("", words, terminal.width))
    terminal.write(labelled("size", record.size, terminal.width))
    terminal.write([*labelled("written", str(folder)), ""])


def _list(args: Namespace) -> int:
    from dartboard.papers import REPRODUCTIONS

    if args.name is not None:
        return _list_one(REPRODUCTIONS[args.name])
    terminal = Terminal()
    wide = max(map(len, REPRODUCTIONS))
    for told in REPRODUCTIONS.values():
        time = _minutes(told.minutes).rjust(6)
        terminal.write([Text.assemble((told.name.ljust(wide), "cyan"), f"  {time}  {told.about}")])
    return 0


def _list_one(told: "Reproduction[Any]") -> int:
    from dartboard.cli.options import setting_entries, typed

    terminal = Terminal()
    terminal.write([Text(told.name, "bold"), told.about, told.claim, ""])
    for entry in setting_entries(type(told.laptop)):
        usual = typed(getattr(told.laptop, entry.key))
        full = "" if told.full is None else f" (paper: {typed(getattr(told.full, entry.key))})"
        terminal.write([f"{entry.key}={usual}{full}  {entry.about}"])
    return 0
