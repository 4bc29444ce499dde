"""Redo figures and tables of the papers, and set what comes out beside what they report.

Each finishes in minutes by default, and says before how many; --full takes the paper's own numbers, for
a GPU. Numbers, pictures and a page are written to OUT/NAME. The same command again goes on where it was
stopped. Words such as epochs=5 change how large it is; --list says what there is.
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dartboard.cli.arguments import RUNS, UsageError, positive
from dartboard.cli.signals import SIGNALLED
from dartboard.errors import DartboardError, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dartboard_papers import Reproduction, Setting

ALL = "all"
FAILED = 1
DOING = ("overrides", "full", "data", "table", "out", "jobs", "threads", "device", "quiet")
"""Arguments that matter only where something is done."""


def configure(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add = parser.add_argument
    add("name", nargs="?", metavar="NAME", help="which one, such as xnas-figure-3; all for every one")
    add("overrides", nargs="*", metavar="KEY=VALUE", help="how large it is, such as epochs=5 seeds=2")
    add("--list", action="store_true", help="say what there is; with a NAME, the numbers that it takes")
    add("--full", action="store_true", help="the paper's own numbers")
    add("--data", metavar="D", help="images in the place of its own; see dartboard list datasets")
    add("--table", type=Path, metavar="PATH", help="the file of the benchmark that it asks, or its folder")
    add("--out", type=Path, metavar="DIR", help="where folders of reproductions are (default: runs/papers)")
    add("--jobs", type=positive, metavar="N", help="processes that work (default: 1)")
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
    if args.name == ALL and args.overrides:
        raise UsageError(f"all of them have no {args.overrides[0]!r} in common; name one")
    from dartboard.cli.arguments import prepare_device
    from dartboard.cli.signals import interrupt_on_signals
    from dartboard_papers import REPRODUCTIONS, Setting, in_order

    chosen = in_order() if args.name == ALL else [REPRODUCTIONS[args.name]]
    device = prepare_device(args.device, args.threads)
    out = args.out or RUNS / "papers"
    setting = Setting(out, args.data, args.table, device, args.jobs or 1, full=args.full)
    with interrupt_on_signals() as caught:
        try:
            return _do_all(args, chosen, setting) if args.name == ALL else _do(args, chosen[0], setting)
        except KeyboardInterrupt:
            print("interrupted; the same command goes on", file=sys.stderr)
            return SIGNALLED + caught[0]


def _do_all(args: Namespace, chosen: "Sequence[Reproduction[Any]]", setting: "Setting") -> int:
    """Does one after the other; one that cannot be done does not stop the others."""
    failed = 0
    for told in chosen:
        if missing := _missing(args, told, setting):
            print(f"dartboard: {told.name} is left out: it needs {missing}", file=sys.stderr)
            continue
        try:
            _do(args, told, _fitting(told, setting))
        except (DartboardError, OSError) as error:
            failed = FAILED
            print(f"dartboard: {told.name} failed: {one_line(error)}", file=sys.stderr)
    return failed


def _missing(args: Namespace, told: "Reproduction[Any]", setting: "Setting") -> str:
    """What is not given and one cannot do without, as it is typed; nothing where all is there."""
    from dartboard_papers.doing import choose_scale

    return " and ".join(f"--{key}" for key in told.lacks(setting, choose_scale(told, full=args.full)))


def _fitting(told: "Reproduction[Any]", setting: "Setting") -> "Setting":
    """The setting without what this one does not look at."""
    left_out: dict[str, Any] = dict.fromkeys({"data", "table"} - set(told.takes))
    return replace(setting, **left_out)


def _do(args: Namespace, told: "Reproduction[Any]", setting: "Setting") -> int:
    """Does one, and prints what came of it."""
    from dartboard.cli.progress import progress
    from dartboard_papers.cli.render import print_heading, print_record
    from dartboard_papers.doing import check_given, choose_scale, reproduce

    scale, folder = choose_scale(told, args.overrides, full=args.full), setting.folder / told.name
    check_given(told, scale, setting)
    if not args.json:
        print_heading(told, scale, setting)
    with progress(quiet=args.quiet) as tell:
        record = reproduce(told.name, scale, replace(setting, tell=tell), folder)
    if args.json:
        print(json.dumps({"out": str(folder)} | record.facts(), ensure_ascii=False), flush=True)
    else:
        print_record(record, folder)
    return 0


def _list(args: Namespace) -> int:
    from dartboard_papers import REPRODUCTIONS, in_order
    from dartboard_papers.cli.render import facts, print_list, print_one

    given = [name for name in DOING if getattr(args, name) not in (None, False, [])]
    if given:
        words = args.overrides[0] if given[0] == "overrides" else f"--{given[0]}"
        raise UsageError(f"--list does nothing but say what there is; leave out {words}")
    every = args.name in (None, ALL)
    chosen = in_order() if every else [REPRODUCTIONS[args.name]]
    if args.json:
        print(json.dumps({told.name: facts(told) for told in chosen}, ensure_ascii=False))
    elif every:
        print_list(chosen)
    else:
        print_one(chosen[0])
    return 0
