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
from dartboard.cli.render import Terminal, labelled, table_lines
from dartboard.cli.signals import report_stop, stop_on_signals
from dartboard.errors import RunError, Stopped
from dartboard.runs.directory import is_run
from dartboard.utils.atomic import is_leftover
from dartboard.utils.text import command, printable, span

if TYPE_CHECKING:
    from dartboard.sweep.config import SweepConfig
    from dartboard.sweep.plan import PlannedRun, SweepPlanner
    from dartboard.sweep.results import PointSummary, RunRow

SHOWN = 20
"""Runs of a stage that are listed before the rest is counted."""
NOTHING = "-"
FAILED = 1
EXECUTOR_FLAGS = ("jobs", "threads", "device")
"""Flags that are options of the executor."""
RUN_FLAGS = ("executor", *EXECUTOR_FLAGS, "dry_run", "fall_back")
"""Flags that only matter if runs are done."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("sweep", type=Path, metavar="SWEEP", help="a YAML file, or the directory of a sweep")
    add("overrides", nargs="*", metavar="KEY=VALUE", help="any setting, such as epochs=25 or grid.seed=0..9")
    add("--out", type=Path, metavar="DIR", help="directory of the sweep (default: runs/NAME)")
    add("--executor", metavar="E", help="where the runs are done: here, pool, ray, slurm (default: pool)")
    add("--jobs", type=positive, metavar="N", help="runs at a time (default: one a GPU, or as cores allow)")
    add("--threads", type=positive, metavar="N", help="threads of each run on a CPU (default: cores shared)")
    add("--device", metavar="D", help="device to compute on (default: cuda if there is one, else cpu)")
    add("--fall-back", action="store_true", help="go on from older checkpoints if the last are damaged")
    add("--dry-run", action="store_true", help="do nothing; list the runs that there would be")
    add("--show", action="store_true", help="do nothing; print the tables of what is there")
    add_plugins(parser)
    add("--json", action="store_true", help="print one JSON object instead of the tables")
    add("--quiet", action="store_true", help="show nothing while it runs")


def run(args: Namespace) -> int:
    """Do the runs that are missing, and print the tables."""
    from dartboard.jobs.executors import check_executor

    _check_flags(args)
    if args.show:
        from dartboard.sweep.results import read_results

        return _print_results(args, read_results(_folder(args)), _folder(args))
    planner = _make_planner(args)
    check_executor(planner.config.executor.name, planner.config.executor.options)
    _check_folder(planner.folder)
    planned = _rehearse(args, planner)
    _check_others(args, planner.folder, planned)
    return _print_planned(args, planned) if args.dry_run else _run_sweep(args, planner)


def _check_flags(args: Namespace) -> None:
    if args.sweep.is_dir() and args.out is not None:
        raise UsageError(f"{args.sweep} is a directory that a sweep goes on in; leave out --out {args.out}")
    ignored = [name for name in RUN_FLAGS if getattr(args, name) not in (None, False)]
    if args.show and ignored:
        raise UsageError(f"--show does no runs; leave out --{ignored[0].replace('_', '-')}")


def _file(args: Namespace) -> Path:
    from dartboard.runs.directory import SWEEP
    from dartboard.sweep.sweep import read_sweep

    if args.sweep.is_dir():
        read_sweep(args.sweep)  # raises if it is none
        return Path(args.sweep / SWEEP)
    return Path(args.sweep)


def _folder(args: Namespace) -> Path:
    """The directory of the sweep."""
    if args.sweep.is_dir() or args.out is not None:
        return Path(args.out or args.sweep)
    return RUNS / (_load(args).name or args.sweep.stem)


def _load(args: Namespace) -> "SweepConfig":
    from dartboard.sweep.config import load_sweep

    executor = {key: value for key in EXECUTOR_FLAGS if (value := getattr(args, key)) is not None}
    executor |= {"name": args.executor} if args.executor is not None else {}
    return load_sweep(_file(args), args.overrides, {"executor": executor} if executor else {})


def _make_planner(args: Namespace) -> "SweepPlanner":
    from dartboard.sweep.plan import SweepPlanner

    plugins = tuple(load_plugins(args.plugin))
    return SweepPlanner(_load(args), _folder(args), plugins, fall_back=args.fall_back)


def _check_folder(folder: Path) -> None:
    """Raise RunError if a directory holds something that is no sweep."""
    from dartboard.runs.lock import LOCK
    from dartboard.sweep.sweep import is_sweep

    if folder.is_file():
        raise RunError(f"{folder} is a file; name another directory with --out")
    inner = folder.iterdir() if folder.is_dir() else ()
    names = sorted(path.name for path in inner if path.name != LOCK and not is_leftover(path))
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
    """Warn of runs in the directory that the sweep does not have.

    Runs of stages whose cells are not known yet are left out.

    Raises:
        RunError: If it has none of the sweep's runs: then the directory is that of another sweep.
    """
    from dartboard.runs import find_runs

    names = {run.name for runs in planned.values() for run in runs}
    unknown = {stage for stage, runs in planned.items() if any(run.is_placeholder for run in runs)}
    paths = find_runs(folder) if folder.is_dir() else ()
    present = [str(path.relative_to(folder)) for path in paths]
    present = [name for name in present if name.partition("/")[0] not in unknown]
    others = [name for name in present if name not in names]
    if not others:
        return
    if len(others) == len(present) and not args.sweep.is_dir():
        reason = f"{folder} is another sweep, with runs such as {others[0]}"
        raise RunError(f"{reason}; name another directory with --out, or this one instead of {args.sweep}")
    notice = f"{folder} has {len(others)} more run{'' if len(others) == 1 else 's'} that this sweep has not"
    print(f"dartboard: {notice}, such as {printable(others[0])}; nothing is done with them", file=sys.stderr)


def _print_planned(args: Namespace, planned: "dict[str, list[PlannedRun]]") -> int:
    if args.json:
        runs = [run for runs in planned.values() for run in runs]
        facts = [{"name": run.name, "stage": run.stage, "config": run.config} for run in runs]
        print(json.dumps({"runs": facts}))
    else:
        print_plan(planned)
    return 0


def _run_sweep(args: Namespace, planner: "SweepPlanner") -> int:
    from dartboard.cli.sweep_display import choose_monitor
    from dartboard.jobs.executors import make_executor
    from dartboard.sweep.sweep import Sweep

    executor = planner.config.executor
    with choose_monitor(planner, quiet=args.quiet, json=args.json) as monitor:
        sweep = Sweep(planner, make_executor(executor.name, executor.options), monitor)
        with stop_on_signals(sweep.stop) as caught:
            try:
                rows = sweep.run()
            except (Stopped, KeyboardInterrupt) as stop:
                return report_stop(stop, caught)
    return _print_results(args, rows, planner.folder)


def _print_results(args: Namespace, rows: "list[RunRow]", folder: Path) -> int:
    from dartboard.runs.directory import read_run_names
    from dartboard.sweep.results import summary
    from dartboard.sweep.sweep import failures

    failed, ended = failures(rows), {row["name"] for row in rows}
    unended = [name for name in read_run_names(folder) or () if name not in ended]
    if args.json:
        points = [vars(point) for point in summary(rows)]
        facts = {"out": str(folder), "runs": rows, "summary": points, "failed": failed, "unended": unended}
        print(json.dumps(facts))
    else:
        print_rows(rows, folder, unended)
    for name, reason in failed.items():
        print(f"dartboard: {name} failed: {printable(reason)}", file=sys.stderr)
    return FAILED if failed else 0


def print_plan(planned: "Mapping[str, Sequence[PlannedRun]]") -> None:
    """Print the runs that a sweep would have; cells that are not known yet are called any."""
    terminal = Terminal()
    for stage, runs in planned.items():
        per_cell = " for each cell that is found" if any(run.is_placeholder for run in runs) else ""
        terminal.write([f"{stage}: {len(runs)} run{'' if len(runs) == 1 else 's'}{per_cell}"])
        terminal.write(f"  {printable(run.name)}" for run in runs[:SHOWN])
        terminal.write([f"  and {len(runs) - SHOWN} more"] if len(runs) > SHOWN else [])


def print_rows(rows: "Sequence[RunRow]", folder: Path, unended: Sequence[str] = ()) -> None:
    """Print a line for each point with means over seeds, and how many runs are in which state."""
    from dartboard.sweep.results import summary

    terminal = Terminal()
    if rows:
        head = ("stage", "settings", "runs", "accuracy", "95 % interval", "of", "time")
        terminal.write(["", *table_lines([head, *(_point_cells(point) for point in summary(rows))])])
    counts = Counter([*(row["state"] for row in rows), *("not ended" for _ in unended)])
    states = ", ".join(f"{count} {state}" for state, count in counts.items())
    terminal.write(["", *labelled("runs", states)])
    terminal.write(labelled("sweep", str(folder)))
    if unended:
        terminal.write(labelled("next", command("sweep", folder)))
    elif any(is_run(Path(row["path"])) for row in rows):
        terminal.write(labelled("next", command("report", folder)))


def _point_cells(point: "PointSummary") -> tuple[str, ...]:
    std = "" if point.deviation is None else f" +- {100 * point.deviation:.2f}"
    mean = NOTHING if point.mean is None else f"{100 * point.mean:.2f}{std}"
    interval = NOTHING
    if point.low is not None and point.high is not None:
        interval = f"{100 * point.low:.2f} to {100 * point.high:.2f}"
    runs = str(point.runs) if point.finished == point.runs else f"{point.finished} of {point.runs}"
    images = "test images" if point.measured_on == "test" else "held-out images"
    time = NOTHING if point.seconds is None else span(point.seconds)
    return point.stage, printable(point.label) or NOTHING, runs, mean, interval, images, time
