"""What is shown of a sweep while it runs: lines, bars, or nothing."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from dartboard.cli.render import Terminal
from dartboard.errors import RunError
from dartboard.jobs.job import Job, JobResult
from dartboard.jobs.monitor import Monitor
from dartboard.runs.directory import METRICS
from dartboard.runs.text_files import rows_from_end
from dartboard.utils.text import printable, span

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from dartboard.sweep.plan import SweepPlanner


REPORT = "report.html"


REFRESH = 1.0
"""Seconds between two looks at how far runs are."""


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
            self.message(f"{name}  {result.state}, begun again: {reason}")
        elif result.state == "paused":
            self.message(f"{name}  paused after epoch {result.job.until}")

    def on_row(self, row: Mapping[str, Any]) -> None:
        self._left.discard(row["name"])
        if self._reports and row["state"] == "finished":
            self._report(Path(row["path"]))
        if self._done or row["state"] != "finished":
            self.message(f"{row['name']}  {_ended(row)}  {self._ahead()}")

    def _ahead(self) -> str:
        if not self._left:
            return "none left"
        pace = (monotonic() - self._start) / max(self._done, 1)
        return f"{len(self._left)} left, {span(pace * len(self._left))}"

    def _report(self, path: Path) -> None:
        """Writes the page of a run that has none yet."""
        from dartboard.report import try_report

        if not (path / REPORT).is_file() and (mistake := try_report(path)) is not None:
            self.message(f"{path.name}  {mistake}")


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
            self._bars.update(self._tasks[job.name], completed=_epochs(job))


def _epochs(job: Job) -> int:
    """Complete epochs of a run; 0 if they cannot be read, which the end of the run reports."""
    with suppress(RunError, OSError):
        row: Mapping[str, Any] = next(rows_from_end(job.path / METRICS), {"epoch": -1})
        return int(row["epoch"]) + 1
    return 0


def _ended(row: Mapping[str, Any]) -> str:
    if row["state"] != "finished":
        return f"{row['state']}: {row['reason']}"
    parts = [("test", row.get("test_accuracy")), ("valid", row.get("valid_accuracy"))]
    known = next((f"{part} {value:.2%}  " for part, value in parts if value is not None), "")
    return f"{known}{span(row['seconds'])}"


@contextmanager
def choose_monitor(planner: "SweepPlanner", *, quiet: bool, json: bool) -> Iterator[Monitor]:
    """Lends what shows a sweep where the program writes; JSON leaves standard output alone.

    Args:
        planner: The sweep.
        quiet: Whether nothing shall be seen.
        json: Whether standard output is for JSON.
    """
    terminal = Terminal(stderr=json)
    if quiet or (json and not sys.stderr.isatty()):
        yield SilentSweep(planner, terminal)
    elif not terminal.is_terminal:
        yield SweepLines(planner, terminal)
    else:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        with Progress(*columns, console=terminal, transient=True) as bars:
            yield SweepBars(planner, terminal, bars)
