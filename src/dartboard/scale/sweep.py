"""The driver of a sweep: has the runs of its stages done, compares them, and keeps what came of it.

In its directory are sweep.yaml, a folder for each stage with ordinary runs, decisions.json with what was
decided, and the tables results.csv, results.jsonl and summary.csv. Whoever runs it again goes on with it.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import yaml

from dartboard import atomic
from dartboard.errors import RunError
from dartboard.runs import Lock, Reading
from dartboard.runs._directory import SWEEP as CONFIG
from dartboard.scale.config import SweepConfig, load_sweep, plain
from dartboard.scale.course import Course
from dartboard.scale.executors.base import Executor
from dartboard.scale.jobs import Outcome
from dartboard.scale.plan import Planned
from dartboard.scale.queue import Queue, Watch
from dartboard.scale.results import End, Row, row_of, write_results
from dartboard.train.build import VALID
from dartboard.train.protocol.compare import sift

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
    _written: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.folder = self.course.folder
        self.queue = Queue(self.executor, self.course.config.tries, self.watch)

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
                keep_config(self.folder, self.course.config)
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
        """What came of the runs that have ended, in the order of the plan."""
        return [row for row in self._rows.values() if row is not None]

    def _stage(self, name: str) -> None:
        runs = {run.name: run for run in self.course.plan(name)}
        self._rows |= dict.fromkeys(runs)
        self.watch.on_stage(name, list(runs))
        for epochs in self.course.stages[name].stop.after:
            self._compare(name, epochs, runs)
        for outcome in self._do(runs, None):
            self._note(runs[outcome.job.name], outcome)
        self.course.rest()

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

    def _compare(self, name: str, epochs: int, runs: dict[str, Planned]) -> None:
        """Takes those out of `runs` that go no further than so many epochs; decided once, for all of them."""
        key = f"{name} after {epochs}"
        taken = self.course.decisions.get(key) or self._decide(name, epochs, runs)
        if taken["accuracies"]:  # where all failed there was nothing to decide
            taken = self.course.decisions.once(key, lambda: taken)
        _check_known(taken, name, epochs, runs)
        ends: tuple[End, ...] = ("failed", "dropped")
        for state in ends:
            for own, reason in taken[state].items():
                self._end(runs.pop(own), state, reason)

    def _decide(self, name: str, epochs: int, runs: Mapping[str, Planned]) -> dict[str, Any]:
        failed: dict[str, str] = {}
        groups: dict[str, list[Planned]] = {}
        for outcome in self._do(runs, epochs):
            if outcome.state == "failed":
                failed[outcome.job.name] = outcome.error
        for run in runs.values():
            if run.name not in failed:
                groups.setdefault(repr(run.config["data"]), []).append(run)
        accuracies: dict[str, float | None] = {}
        dropped: dict[str, str] = {}
        for group in groups.values():
            found = {run.name: self._accuracy(run, epochs) for run in group}
            accuracies |= found
            dropped |= self._sift(name, found, group[0])
        for own, reason in dropped.items():
            self._say(f"{own} is dropped at epoch {epochs}: {reason}")
        return {"accuracies": accuracies, "dropped": dropped, "failed": failed}

    def _sift(self, name: str, found: Mapping[str, float | None], one: Planned) -> dict[str, str]:
        """Why runs on the same images go no further; those that have no accuracy have ended already."""
        known = {own: accuracy for own, accuracy in found.items() if accuracy is not None}
        if not known:
            return {}
        reasons = sift(known, self.course.examples(one), self.course.stages[name].stop.keep)
        return {own: reason for own, reason in reasons.items() if reason is not None}

    def _accuracy(self, run: Planned, epochs: int) -> float | None:
        """On held-out images, after so many epochs; None where a method trains nothing."""
        rows = Reading.read(self.folder / run.name).metrics()[epochs - 1 : epochs]
        return float(rows[0][f"{VALID}_accuracy"]) if rows else None

    def _say(self, words: str) -> None:
        log.info("%s", words)
        self.watch.say(words)


def _check_known(taken: Mapping[str, Any], name: str, epochs: int, runs: Mapping[str, Planned]) -> None:
    """Refuses runs that were not there when the others were compared."""
    new = [own for own in runs if own not in taken["accuracies"] and own not in taken["failed"]]
    gone = [own for own in [*taken["accuracies"], *taken["failed"]] if own not in runs]
    if new or gone:
        raise RunError(
            f"the runs of {name} were compared after {epochs} epochs already, and {[*new, *gone][0]} makes a "
            "difference to that; name another directory with --out"
        )


def keep_config(folder: Path, config: SweepConfig) -> None:
    """Writes down what the sweep of a directory is."""
    text = yaml.safe_dump(plain(config), sort_keys=False)
    path = folder / CONFIG
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        atomic.write_text(path, text)


def failures(rows: Sequence[Row]) -> dict[str, str]:
    """By name, why runs failed."""
    return {row["name"]: row["reason"] for row in rows if row["state"] == "failed"}
