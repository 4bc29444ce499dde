"""The driver of a sweep: runs its stages, prunes what is clearly worse, and writes the results.

In its directory are sweep.yaml, plan.json with the names of its runs, a folder for each stage with ordinary
runs, decisions.json with what was decided, and the tables results.csv, results.jsonl and summary.csv. Running
it again continues it.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import yaml

from dartboard.errors import RunError
from dartboard.jobs.executors.base import Executor
from dartboard.jobs.job import JobResult
from dartboard.jobs.monitor import Monitor
from dartboard.jobs.queue import JobQueue
from dartboard.runs import Lock
from dartboard.runs.directory import SWEEP as CONFIG
from dartboard.runs.directory import write_run_names
from dartboard.sweep.config import SweepConfig, load_sweep, plain
from dartboard.sweep.plan import PlannedRun, SweepPlanner
from dartboard.sweep.pruning import Pruner
from dartboard.sweep.results import End, RunRow, read_results, row_of, write_results
from dartboard.utils import atomic

log = logging.getLogger(__name__)

WRITE_INTERVAL = 10.0
"""Seconds between two writes of the tables while runs go on."""


def is_sweep(path: Path) -> bool:
    """True if a directory is that of a sweep."""
    return (path / CONFIG).is_file()


def read_sweep(folder: Path) -> SweepConfig:
    """The configuration of the sweep in a directory.

    Raises:
        DartboardError: If there is none, or its configuration is damaged.
    """
    if not is_sweep(folder):
        raise RunError(f"{folder} is no sweep: it has no {CONFIG}")
    return load_sweep(folder / CONFIG)


@dataclass
class Sweep:
    """Runs the stages of a sweep.

    Args:
        planner: Plans its runs.
        executor: Where they run; closed at the end.
        monitor: Callbacks.
    """

    planner: SweepPlanner
    executor: Executor
    monitor: Monitor = field(default_factory=Monitor)
    _rows: dict[str, RunRow | None] = field(default_factory=dict, init=False)
    _names: dict[str, list[str]] = field(default_factory=dict, init=False)
    _written: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.folder, self.planner.message = self.planner.folder, self._message
        self.queue = JobQueue(
            self.executor, tries=self.planner.config.tries, retry_failed=True, monitor=self.monitor
        )
        self.pruner = Pruner(self.planner, self._run, self._message)

    def stop(self) -> None:
        """Asks all runs to save their states and to stop; for signal handlers."""
        self.queue.stop()

    def run(self) -> list[RunRow]:
        """Results of all runs, in the order of the plan; those that failed do not stop others.

        Raises:
            Stopped: If `stop` was called; all states have been saved.
            RunError: If another process drives this sweep, or no run of a stage came to its end that others
                take cells from.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with Lock(self.folder):
                atomic.remove_leftovers(self.folder)
                planned = self.planner.check_again()
                self._rows = read_known_rows(self.folder, planned)
                write_config(self.folder, self.planner.config)
                self._write_names(planned)
                try:
                    for name in self.planner.stages:
                        self._stage(name)
                finally:
                    self._write()
        finally:
            self.executor.close()
        return self.rows

    @property
    def rows(self) -> list[RunRow]:
        """Rows of the runs that have ended, now or earlier, in the order of the plan."""
        stages = list(self.planner.stages)
        rows = [row for row in self._rows.values() if row is not None]
        return sorted(rows, key=lambda row: stages.index(row["name"].partition("/")[0]))

    def _stage(self, name: str) -> None:
        runs = {run.name: run for run in self.planner.plan(name)}
        self._rows |= {run: self._rows.get(run) for run in runs}
        self._write_names({name: list(runs.values())})
        self.monitor.on_stage(name, list(runs))
        for epochs in self.planner.stages[name].stop.after:
            for run, (state, reason) in self.pruner.prune(name, epochs, runs).items():
                self._end(runs.pop(run), state, reason)
        for result in self._run(runs, None):
            ended: End = "finished" if result.state == "finished" else "failed"
            self._end(runs[result.job.name], ended, result.error)

    def _write_names(self, planned: Mapping[str, Sequence[PlannedRun]]) -> None:
        """Records the names of the runs, as far as they are known."""
        known = {
            stage: [run.name for run in runs if not run.is_placeholder] for stage, runs in planned.items()
        }
        self._names |= known
        write_run_names(self.folder, [name for names in self._names.values() for name in names])

    def _run(self, runs: Mapping[str, PlannedRun], until: int | None) -> Iterator[JobResult]:
        return self.queue.run([self.planner.job(run, until) for run in runs.values()])

    def _end(self, run: PlannedRun, state: End, reason: str = "") -> None:
        """Records the result of a run that has ended."""
        self._rows[run.name] = row = row_of(run, self.folder, state, reason)
        self.monitor.on_row(row)
        if monotonic() - self._written > WRITE_INTERVAL:
            self._write()

    def _write(self) -> None:
        write_results(self.folder, self.rows)
        self._written = monotonic()

    def _message(self, text: str) -> None:
        log.info("%s", text)
        self.monitor.message(text)


def read_known_rows(folder: Path, planned: Mapping[str, Sequence[PlannedRun]]) -> dict[str, RunRow | None]:
    """By name, the runs of a plan with their rows in the tables, None for those without."""
    try:
        known = {row["name"]: row for row in read_results(folder)}
    except RunError:  # there is none yet, or it is damaged: it is written anew
        known = {}
    return {run.name: known.get(run.name) for runs in planned.values() for run in runs}


def write_config(folder: Path, config: SweepConfig) -> None:
    """Writes the configuration of the sweep to its directory."""
    atomic.write_changed(folder / CONFIG, yaml.safe_dump(plain(config), sort_keys=False))


def failures(rows: Sequence[RunRow]) -> dict[str, str]:
    """Error messages of the runs that failed, by name."""
    return {row["name"]: row["reason"] for row in rows if row["state"] == "failed"}
