"""Do many searches and trainings, and compare them.

SWEEP is a YAML file with grids and lists over methods, spaces, seeds, images and any other setting, or the
directory of a sweep to resume. Runs are ordinary runs in DIR/STAGE, done on this machine, on Ray or on Slurm.
Settings such as epochs=25 are of all runs, screen.epochs=50 of a stage, tries=1, grid.seed=0..9 or
executor.partition=gpu of the sweep itself. Ctrl-C saves and stops; the same command resumes, and finished
runs are kept.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from dartboard.cli.arguments import RUNS, UsageError, add_plugins, load_plugins, positive
from dartboard.cli.exit_codes import FAILED
from dartboard.cli.processes import report_stop, stop_on_signals
from dartboard.cli.render import Terminal, labeled, print_json, progress, shorten, table_texts
from dartboard.errors import RunError, Stopped
from dartboard.jobs.job import Job, JobResult, Monitor
from dartboard.runs.directory import LOG, METRICS, is_run
from dartboard.runs.text_files import rows_from_end
from dartboard.utils.atomic import is_leftover
from dartboard.utils.text import command, printable, span

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from dartboard.sweep.config import SweepConfig
    from dartboard.sweep.grid import PlannedRun
    from dartboard.sweep.plan import SweepPlanner
    from dartboard.sweep.results import PointSummary, RunRow

SHOWN = 20
"""Runs of a stage that are listed before the rest is counted."""
NOTHING = "-"
MIN_LABEL = 20
"""Characters of the settings of a point that are shown on every terminal."""
EXECUTOR_FLAGS = ("jobs", "threads", "device")
"""Flags that are options of the executor."""
REFRESH = 1.0
"""Seconds between two looks at how far runs are."""
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
    add("--fall-back", action="store_true", help="resume from older checkpoints if the last are damaged")
    add("--dry-run", action="store_true", help="do nothing; list the runs that there would be")
    add("--show", action="store_true", help="do nothing; print the tables of what is there")
    add_plugins(parser)
    add("--json", action="store_true", help="print one JSON object instead of the tables")
    add("--quiet", action="store_true", help="show nothing while it runs")


def run(args: Namespace) -> int:
    """Do the runs that are missing, and print the tables."""
    from dartboard.jobs.executors import check_executor
    from dartboard.sweep.plan import SweepPlanner
    from dartboard.sweep.results import read_results

    if args.sweep.is_dir() and args.out is not None:
        raise UsageError(f"{args.sweep} is the directory of a sweep to resume; leave out --out {args.out}")
    ignored = [name for name in RUN_FLAGS if getattr(args, name) not in (None, False)]
    if args.show and ignored:
        raise UsageError(f"--show does no runs; leave out --{ignored[0].replace('_', '-')}")
    if args.show:
        folder = _folder(args)
        return _print_results(args, read_results(folder), folder)
    plugins = tuple(load_plugins(args.plugin))
    planner = SweepPlanner(_load(args), _folder(args), plugins, fall_back=args.fall_back)
    check_executor(planner.config.executor.name, planner.config.executor.options)
    _check_folder(planner.folder)
    with progress(quiet=args.quiet) as planner.progress:
        planner.release_images()
        planned = planner.rehearse()
    planner.progress = None
    planner.release_images()
    _check_others(args, planner.folder, planned)
    if args.dry_run:
        print_plan(planned, as_json=args.json)
        return 0
    return _run_sweep(args, planner)


def _folder(args: Namespace) -> Path:
    """The directory of the sweep."""
    if args.sweep.is_dir() or args.out is not None:
        return Path(args.out or args.sweep)
    return RUNS / (_load(args).name or args.sweep.stem)


def _load(args: Namespace) -> "SweepConfig":
    from dartboard.runs.directory import SWEEP
    from dartboard.sweep.config import load_sweep
    from dartboard.sweep.sweep import read_sweep

    file: Path = args.sweep
    if file.is_dir():
        read_sweep(file)  # raises if it is none
        file = file / SWEEP
    executor = {key: value for key in EXECUTOR_FLAGS if (value := getattr(args, key)) is not None}
    executor |= {"name": args.executor} if args.executor is not None else {}
    return load_sweep(file, args.overrides, {"executor": executor} if executor else {})


def _check_folder(folder: Path) -> None:
    """Raise RunError if a directory holds something that is not a sweep."""
    from dartboard.runs.lock import LOCK
    from dartboard.sweep.sweep import is_sweep
    from dartboard.utils.checksums import CHECKSUMS

    if folder.is_file():
        raise RunError(f"{folder} is a file; name another directory with --out")
    inner = folder.iterdir() if folder.is_dir() else ()
    ours = (LOCK, CHECKSUMS)
    names = sorted(path.name for path in inner if path.name not in ours and not is_leftover(path))
    if names and not is_sweep(folder):
        raise RunError(f"{folder} holds {names[0]} and no sweep; name another directory with --out")


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


def _run_sweep(args: Namespace, planner: "SweepPlanner") -> int:
    from dartboard.jobs.executors import make_executor
    from dartboard.sweep.sweep import Sweep

    executor = planner.config.executor
    with choose_monitor(planner, quiet=args.quiet, json=args.json) as monitor:
        sweep = Sweep(planner, make_executor(executor.name, executor.options), monitor)
        with stop_on_signals(sweep.stop) as sweep.signals:
            try:
                rows = sweep.run()
            except (Stopped, KeyboardInterrupt) as stop:
                resume = f"see {sweep.log.path}; run the same command to resume"
                return report_stop(stop, sweep.signals, resume)
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
        print_json(facts)
    else:
        print_rows(rows, folder, unended)
    for name, reason in failed.items():
        print(f"dartboard: {name} failed: {printable(reason)}", file=sys.stderr)
    return FAILED if failed else 0


def print_plan(planned: "Mapping[str, Sequence[PlannedRun]]", *, as_json: bool = False) -> None:
    """Print the runs that a sweep would have; cells that are not known yet are called any."""
    if as_json:
        every = [run for runs in planned.values() for run in runs]
        facts = [{"name": run.name, "stage": run.stage, "config": run.config} for run in every]
        print_json({"runs": facts})
        return
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
        longest = max(terminal.table_width // 3, MIN_LABEL)
        cells = [head, *(_point_cells(point, longest) for point in summary(rows))]
        terminal.write(["", *table_texts(cells, terminal.table_width, names=2, left=len(head), head="")])
    counts = Counter([*(row["state"] for row in rows), *("not ended" for _ in unended)])
    states = ", ".join(f"{count} {state}" for state, count in counts.items())
    terminal.write(["", *labeled("runs", states)])
    terminal.write(labeled("sweep", str(folder)))
    if (folder / LOG).is_file():
        terminal.write(labeled("log", str(folder / LOG)))
    if unended:
        terminal.write(labeled("next", command("sweep", folder)))
    elif any(is_run(Path(row["path"])) for row in rows):
        terminal.write(labeled("next", command("report", folder)))


def _point_cells(point: "PointSummary", longest: int) -> tuple[str, ...]:
    std = "" if point.deviation is None else f" +- {100 * point.deviation:.2f}"
    mean = NOTHING if point.mean is None else f"{100 * point.mean:.2f}{std}"
    interval = NOTHING
    if point.low is not None and point.high is not None:
        interval = f"{100 * point.low:.2f} to {100 * point.high:.2f}"
    runs = str(point.runs) if point.finished == point.runs else f"{point.finished} of {point.runs}"
    images = "test images" if point.measured_on == "test" else "held-out images"
    time = NOTHING if point.seconds is None else span(point.seconds)
    return (
        point.stage,
        shorten(printable(point.label), longest) or NOTHING,
        runs,
        mean,
        interval,
        images,
        time,
    )


class SweepLines(Monitor):
    """A line for each run that ends, with how many are left and for how long.

    Args:
        planner: The sweep.
        terminal: Where to write.
    """

    def __init__(self, planner: "SweepPlanner", terminal: Terminal) -> None:
        self.terminal, self._folder, self._reports = terminal, planner.folder, planner.config.reports
        self._left, self._busy = set[str](), set[str]()
        self._start, self._done = monotonic(), 0

    def message(self, text: str) -> None:
        self.terminal.write([printable(text)])

    def on_stage(self, name: str, runs: Sequence[str]) -> None:
        self._left, self._done, self._start = set(runs), 0, monotonic()
        self.message(f"{name}: {len(runs)} run{'' if len(runs) == 1 else 's'}, in {self._folder / name}")

    def on_end(self, result: JobResult, again: bool) -> None:
        name, reason = result.job.name, result.error or "no reason given"
        self._done += not again
        if result.state == "busy":
            if name not in self._busy:
                self.message(f"{name}  waits: {reason}")
            self._busy.add(name)
        elif again:
            self.message(f"{name}  {result.state}, retried: {reason}")
        elif result.state == "paused":
            self.message(f"{name}  paused after epoch {result.job.until}")

    def on_row(self, row: Mapping[str, Any]) -> None:
        self._left.discard(row["name"])
        path, finished = Path(row["path"]), row["state"] == "finished"
        if self._reports and finished:
            from dartboard.report import REPORT, try_report

            if not (path / REPORT).is_file() and (mistake := try_report(path)) is not None:
                self.message(f"{path.name}  {mistake}")
        if finished and not self._done:
            return  # before this sweep began
        outcome = f"{row['state']}: {row['reason']}"
        if finished:
            parts = [("test", row.get("test_accuracy")), ("valid", row.get("valid_accuracy"))]
            accuracy = next((f"{part} {value:.2%}  " for part, value in parts if value is not None), "")
            outcome = f"{accuracy}{span(row['seconds'])}"
        pace = (monotonic() - self._start) / max(self._done, 1)
        ahead = f"{len(self._left)} left, {span(pace * len(self._left))}" if self._left else "none left"
        self.message(f"{row['name']}  {outcome}  {ahead}")


class SilentSweep(SweepLines):
    """Shows nothing; pages of runs are written all the same."""

    def message(self, text: str) -> None:
        """Shows nothing."""


class SweepBars(SweepLines):
    """The lines, and below them a bar for each run under way."""

    def __init__(self, planner: "SweepPlanner", terminal: Terminal, bars: "Progress") -> None:
        super().__init__(planner, terminal)
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._next = 0.0

    def on_start(self, job: Job) -> None:
        self._tasks[job.name] = self._bars.add_task(job.name, total=job.config["epochs"])

    def on_end(self, result: JobResult, again: bool) -> None:
        self._bars.remove_task(self._tasks.pop(result.job.name))
        super().on_end(result, again)

    def on_poll(self, running: Sequence[Job]) -> None:
        if monotonic() < self._next:
            return
        self._next = monotonic() + REFRESH
        for job in running:
            epochs = 0
            with suppress(RunError, OSError):  # what cannot be read is reported when the run ends
                last: Mapping[str, Any] = next(rows_from_end(job.path / METRICS), {"epoch": -1})
                epochs = int(last["epoch"]) + 1
            self._bars.update(self._tasks[job.name], completed=epochs)


@contextmanager
def choose_monitor(planner: "SweepPlanner", *, quiet: bool, json: bool) -> Iterator[Monitor]:
    """Inside, what shows a sweep where the program writes; with `json` it leaves standard output alone."""
    terminal = Terminal(stderr=json)
    if quiet or (json and not sys.stderr.isatty()):
        yield SilentSweep(planner, terminal)
    elif not terminal.is_live:
        yield SweepLines(planner, terminal)
    else:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        with Progress(*columns, console=terminal, transient=True) as bars:
            yield SweepBars(planner, terminal, bars)
