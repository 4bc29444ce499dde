"""The driver of a sweep: has the runs of its stages done, compares them, and keeps what came of it.

In its directory are sweep.yaml, plan.json with the names of its runs, a folder for each stage with ordinary
runs, decisions.json with what was decided, and the tables results.csv, results.jsonl and summary.csv. Whoever
runs it again goes on with it.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import yaml

from dartboard.errors import RunError
from dartboard.jobs.executors.base import Executor
from dartboard.jobs.job import Outcome
from dartboard.jobs.queue import Queue, Watch
from dartboard.runs import Lock
from dartboard.runs.directory import SWEEP as CONFIG
from dartboard.runs.directory import write_run_names
from dartboard.sweep.config import SweepConfig, load_sweep, plain
from dartboard.sweep.plan import Planned
from dartboard.sweep.planner import Course
from dartboard.sweep.pruning import Rungs
from dartboard.sweep.results import End, Row, read_results, row_of, write_results
from dartboard.utils import atomic

log = logging.getLogger(__name__)

BETWEEN = 10.0
"""Seconds between two times that the tables are written while runs go on."""


def is_sweep(path: Path) -> bool:
    """Whether a directory is a sweep's."""
    return (path / CONFIG).is_file()


def read_sweep(folder: Path) -> SweepConfig:
    """The sweep that is in a directory.

    Raises:
        DartboardError: If there is none, or its configuration is damaged.
    """
    if not is_sweep(folder):
        raise RunError(f"{folder} is no sweep: it has no {CONFIG}")
    return load_sweep(folder / CONFIG)


@dataclass
class Sweep:
    """Goes through the stages of a sweep.

    Args:
        course: Which runs there are.
        executor: Does them; closed in the end.
        watch: Is told what happens.
    """

    course: Course
    executor: Executor
    watch: Watch = field(default_factory=Watch)
    _rows: dict[str, Row | None] = field(default_factory=dict, init=False)
    _names: dict[str, list[str]] = field(default_factory=dict, init=False)
    _written: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.folder, self.course.say = self.course.folder, self._say
        self.queue = Queue(self.executor, self.course.config.tries, self.watch)
        self.rungs = Rungs(self.course, self._do, self._say)

    def stop(self) -> None:
        """Asks all runs to save their states and to stop; for signal handlers."""
        self.queue.stop()

    def run(self) -> list[Row]:
        """What came of each run, in the order of the plan; those that failed do not stop others.

        Raises:
            Stopped: If `stop` was called; all states have been saved.
            RunError: If another process drives this sweep, or no run of a stage came to its end that others
                take cells from.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with Lock(self.folder):
                atomic.remove_leftovers(self.folder)
                planned = self.course.look_again()
                self._rows = known_rows(self.folder, planned)
                keep_config(self.folder, self.course.config)
                self._keep_names(planned)
                try:
                    for name in self.course.stages:
                        self._stage(name)
                finally:
                    self._write()
        finally:
            self.executor.close()
        return self.rows

    @property
    def rows(self) -> list[Row]:
        """What came of the runs that have ended, now or before, in the order of the plan."""
        stages = list(self.course.stages)
        rows = [row for row in self._rows.values() if row is not None]
        return sorted(rows, key=lambda row: stages.index(row["name"].partition("/")[0]))

    def _stage(self, name: str) -> None:
        runs = {run.name: run for run in self.course.plan(name)}
        self._rows |= {own: self._rows.get(own) for own in runs}
        self._keep_names({name: list(runs.values())})
        self.watch.on_stage(name, list(runs))
        for epochs in self.course.stages[name].stop.after:
            for own, (state, reason) in self.rungs.ends(name, epochs, runs).items():
                self._end(runs.pop(own), state, reason)
        for outcome in self._do(runs, None):
            self._note(runs[outcome.job.name], outcome)

    def _keep_names(self, planned: Mapping[str, Sequence[Planned]]) -> None:
        """Writes down which runs there are, as far as it is known."""
        known = {stage: [run.name for run in runs if not run.is_guess] for stage, runs in planned.items()}
        self._names |= known
        write_run_names(self.folder, [own for names in self._names.values() for own in names])

    def _do(self, runs: Mapping[str, Planned], until: int | None) -> Iterator[Outcome]:
        return self.queue.do([self.course.job(run, until) for run in runs.values()])

    def _note(self, run: Planned, outcome: Outcome) -> None:
        """Keeps what came of a run that has ended."""
        self._end(run, "finished" if outcome.state == "finished" else "failed", outcome.error)

    def _end(self, run: Planned, state: End, reason: str = "") -> None:
        self._rows[run.name] = row = row_of(run, self.folder, state, reason)
        self.watch.on_row(row)
        if monotonic() - self._written > BETWEEN:
            self._write()

    def _write(self) -> None:
        write_results(self.folder, self.rows)
        self._written = monotonic()

    def _say(self, words: str) -> None:
        log.info("%s", words)
        self.watch.say(words)


def known_rows(folder: Path, planned: Mapping[str, Sequence[Planned]]) -> dict[str, Row | None]:
    """By name, the runs of a plan with what the tables say of them, None where they say nothing."""
    try:
        known = {row["name"]: row for row in read_results(folder)}
    except RunError:  # there is none yet, or nothing in it is of use: it is written anew
        known = {}
    return {run.name: known.get(run.name) for runs in planned.values() for run in runs}


def keep_config(folder: Path, config: SweepConfig) -> None:
    """Writes down what the sweep of a directory is."""
    atomic.write_changed(folder / CONFIG, yaml.safe_dump(plain(config), sort_keys=False))


def failures(rows: Sequence[Row]) -> dict[str, str]:
    """By name, why runs failed."""
    return {row["name"]: row["reason"] for row in rows if row["state"] == "failed"}
