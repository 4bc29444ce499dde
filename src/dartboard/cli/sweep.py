"""Do many searches and trainings, and compare them.

SWEEP is a YAML file with grids and lists over methods, spaces, seeds, images and any other setting, or the
directory of a sweep that goes on. Runs are ordinary runs in DIR/STAGE, done on this machine, on Ray or on
Slurm. Words such as epochs=25 are settings of all runs, screen.epochs=50 those of a stage, tries=1,
grid.seed=0..9 or executor.partition=gpu the sweep's own. The same command again goes on: what is finished is
kept. Ctrl-C saves and stops.
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dartboard.cli.arguments import RUNS, UsageError, add_plugins, load_plugins, positive
from dartboard.cli.render import Terminal, labelled
from dartboard.cli.signals import SIGNALLED
from dartboard.errors import RunError, Stopped
from dartboard.runs.directory import is_run
from dartboard.utils.atomic import is_leftover
from dartboard.utils.text import command, printable, span

if TYPE_CHECKING:
    from dartboard.sweep.config import SweepConfig
    from dartboard.sweep.plan import PlannedRun
    from dartboard.sweep.planner import SweepPlanner
    from dartboard.sweep.results import PointSummary, RunRow


SHOWN = 20
"""Runs of a stage that are listed before the rest is counted."""
NOTHING = "-"


def print_plan(planned: "Mapping[str, Sequence[PlannedRun]]") -> None:
    """Prints the runs that a sweep would have; cells that are not known yet are called any."""
    terminal = Terminal()
    for stage, runs in planned.items():
        terminal.write([f"{stage}: {len(runs)} run{'' if len(runs) == 1 else 's'}{_unknown(runs)}"])
        terminal.write(f"  {printable(own.name)}" for own in runs[:SHOWN])
        terminal.write([f"  and {len(runs) - SHOWN} more"] if len(runs) > SHOWN else [])


def _unknown(runs: "Sequence[PlannedRun]") -> str:
    unknown = any(own.is_guess for own in runs)
    return " for each cell that is found" if unknown else ""


def print_rows(rows: "Sequence[RunRow]", folder: Path, unended: Sequence[str] = ()) -> None:
    """Prints a line a point with means over seeds, and how many runs ended in what way, or have not ended."""
    from dartboard.sweep.results import summary

    terminal = Terminal()
    if rows:
        _print_points(summary(rows), terminal)
    counts = Counter([*(row["state"] for row in rows), *("not ended" for _ in unended)])
    terminal.write(["", *labelled("runs", ", ".join(f"{own} {state}" for state, own in counts.items()))])
    terminal.write(labelled("sweep", str(folder)))
    if unended:
        terminal.write(labelled("next", command("sweep", folder)))
    elif any(is_run(Path(row["path"])) for row in rows):
        terminal.write(labelled("next", command("report", folder)))


def _print_points(points: "Sequence[PointSummary]", terminal: Terminal) -> None:
    head = ("stage", "settings", "runs", "accuracy", "95 % interval", "of", "time")
    table = [head, *(_cells(own) for own in points)]
    widths = [max(map(len, column)) + 2 for column in zip(*table, strict=True)]
    terminal.write([""])
    terminal.write("".join(map(str.ljust, line, widths)).rstrip() for line in table)


def _cells(own: "PointSummary") -> tuple[str, ...]:
    spread = "" if own.deviation is None else f" +- {100 * own.deviation:.2f}"
    mean = NOTHING if own.mean is None else f"{100 * own.mean:.2f}{spread}"
    ends = NOTHING if own.low is None or own.high is None else f"{100 * own.low:.2f} to {100 * own.high:.2f}"
    done = str(own.runs) if own.finished == own.runs else f"{own.finished} of {own.runs}"
    which = "test images" if own.measured_on == "test" else "held-out images"
    time = NOTHING if own.seconds is None else span(own.seconds)
    return own.stage, printable(own.label) or NOTHING, done, mean, ends, which, time


FAILED = 1
MACHINE = ("jobs", "threads", "device")
"""Flags that are options of the executor."""
DOING = ("executor", *MACHINE, "dry_run", "fall_back")
"""Flags that matter to who does runs alone."""


def configure(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add = parser.add_argument
    add("sweep", type=Path, metavar="SWEEP", help="a YAML file, or the directory of a sweep")
    add("overrides", nargs="*", metavar="KEY=VALUE", help="any setting, such as epochs=25 or grid.seed=0..9")
    add("--out", type=Path, metavar="DIR", help="directory of the sweep (default: runs/NAME)")
    add("--executor", metavar="E", help="where the runs are done: here, pool, ray, slurm (default: pool)")
    add("--jobs", type=positive, metavar="N", help="runs at a time (default: one a GPU, or as cores allow)")
    add("--threads", type=positive, metavar="N", help="threads of each run on a CPU (default: cores shared)")
    add("--device", metavar="D", help="where to compute (default: cuda if there is one, else cpu)")
    add("--fall-back", action="store_true", help="go on from older checkpoints if the last are damaged")
    add("--dry-run", action="store_true", help="do nothing; list the runs that there would be")
    add("--show", action="store_true", help="do nothing; print the tables of what is there")
    add_plugins(parser)
    add("--json", action="store_true", help="print one JSON object instead of the tables")
    add("--quiet", action="store_true", help="show nothing while it runs")


def run(args: Namespace) -> int:
    """Do what is missing, and print the tables."""
    from dartboard.jobs.executors import check_executor

    _check_flags(args)
    if args.show:
        from dartboard.sweep.results import read_results

        return _print(args, read_results(_folder(args)), _folder(args))
    planner = _course(args)
    check_executor(planner.config.executor.name, planner.config.executor.options)
    _check_place(planner.folder)
    planned = _rehearse(args, planner)
    _check_others(args, planner.folder, planned)
    return _list(args, planned) if args.dry_run else _work(args, planner)


def _check_flags(args: Namespace) -> None:
    if args.sweep.is_dir() and args.out is not None:
        raise UsageError(f"{args.sweep} is a directory that a sweep goes on in; leave out --out {args.out}")
    given = [name for name in DOING if getattr(args, name) not in (None, False)]
    if args.show and given:
        raise UsageError(f"--show does no runs; leave out --{given[0].replace('_', '-')}")


def _file(args: Namespace) -> Path:
    from dartboard.runs.directory import SWEEP
    from dartboard.sweep.sweep import read_sweep

    if args.sweep.is_dir():
        read_sweep(args.sweep)  # what is no sweep is told
        return Path(args.sweep / SWEEP)
    return Path(args.sweep)


def _folder(args: Namespace) -> Path:
    """The directory of the sweep."""
    if args.sweep.is_dir() or args.out is not None:
        return Path(args.out or args.sweep)
    return RUNS / (_load(args).name or args.sweep.stem)


def _load(args: Namespace) -> "SweepConfig":
    from dartboard.sweep.config import load_sweep

    chosen = {key: value for key in MACHINE if (value := getattr(args, key)) is not None}
    chosen |= {"name": args.executor} if args.executor is not None else {}
    return load_sweep(_file(args), args.overrides, {"executor": chosen} if chosen else {})


def _course(args: Namespace) -> "SweepPlanner":
    from dartboard.sweep.planner import SweepPlanner

    plugins = tuple(load_plugins(args.plugin))
    return SweepPlanner(_load(args), _folder(args), plugins, fall_back=args.fall_back)


def _check_place(folder: Path) -> None:
    """Refuses a directory with something else in it."""
    from dartboard.runs.lock import LOCK
    from dartboard.sweep.sweep import is_sweep

    if folder.is_file():
        raise RunError(f"{folder} is a file; name another directory with --out")
    inner = folder.iterdir() if folder.is_dir() else ()
    names = sorted(own.name for own in inner if own.name != LOCK and not is_leftover(own))
    if names and not is_sweep(folder):
        raise RunError(f"{folder} holds {names[0]} and no sweep; name another directory with --out")


def _rehearse(args: Namespace, planner: "SweepPlanner") -> "dict[str, list[PlannedRun]]":
    from dartboard.cli.progress import progress

    with progress(quiet=args.quiet) as planner.progress:
        planner.release_images()
        planned = planner.rehearse()
    planner.progress = None
    planner.release_images()
    return planned


def _check_others(args: Namespace, folder: Path, planned: "dict[str, list[PlannedRun]]") -> None:
    """Says that runs are there that are none of the sweep's; where all are, the directory is another's."""
    others, known = _others(folder, planned)
    if not others:
        return
    if not known and not args.sweep.is_dir():
        words = f"{folder} is another sweep, with runs such as {others[0]}"
        raise RunError(f"{words}; name another directory with --out, or this one instead of {args.sweep}")
    words = f"{folder} has {len(others)} more run{'' if len(others) == 1 else 's'} that this sweep has not"
    print(f"dartboard: {words}, such as {printable(others[0])}; nothing is done with them", file=sys.stderr)


def _others(folder: Path, planned: "dict[str, list[PlannedRun]]") -> tuple[list[str], list[str]]:
    """The runs in a directory that are not planned, and those that are; not of unknown cells."""
    from dartboard.runs import find_runs

    names = {own.name for runs in planned.values() for own in runs}
    unknown = {stage for stage, runs in planned.items() if any(run.is_guess for run in runs)}
    there = [str(path.relative_to(folder)) for path in find_runs(folder)] if folder.is_dir() else []
    sure = [own for own in there if own.partition("/")[0] not in unknown]
    return [own for own in sure if own not in names], [own for own in sure if own in names]


def _list(args: Namespace, planned: "dict[str, list[PlannedRun]]") -> int:

    if args.json:
        runs = [
            {"name": own.name, "stage": own.stage, "config": own.config}
            for runs in planned.values()
            for own in runs
        ]
        print(json.dumps({"runs": runs}))
    else:
        print_plan(planned)
    return 0


def _work(args: Namespace, planner: "SweepPlanner") -> int:
    from dartboard.cli.signals import stop_on_signals
    from dartboard.cli.sweep_display import choose_monitor
    from dartboard.jobs.executors import make_executor
    from dartboard.sweep.sweep import Sweep

    chosen = planner.config.executor
    with choose_monitor(planner, quiet=args.quiet, json=args.json) as monitor:
        sweep = Sweep(planner, make_executor(chosen.name, chosen.options), monitor)
        with stop_on_signals(sweep.stop) as caught:
            try:
                rows = sweep.run()
            except (Stopped, KeyboardInterrupt) as stopped:
                words = str(stopped) or "interrupted"
                print(f"{words}; the same command goes on", file=sys.stderr)
                return SIGNALLED + caught[0] if caught else 0
    return _print(args, rows, planner.folder)


def _print(args: Namespace, rows: "list[RunRow]", folder: Path) -> int:
    from dartboard.runs.directory import read_run_names
    from dartboard.sweep.results import summary
    from dartboard.sweep.sweep import failures

    failed, ended = failures(rows), {row["name"] for row in rows}
    unended = [name for name in read_run_names(folder) or () if name not in ended]
    if args.json:
        points = [vars(own) for own in summary(rows)]
        found = {"out": str(folder), "runs": rows, "summary": points, "failed": failed, "unended": unended}
        print(json.dumps(found))
    else:
        print_rows(rows, folder, unended)
    for name, reason in failed.items():
        print(f"dartboard: {name} failed: {printable(reason)}", file=sys.stderr)
    return FAILED if failed else 0
