"""A sweep: its stages are run, what is clearly worse is pruned, and the results are written.

In its directory are sweep.yaml, plan.json with the names of its runs, a folder for each stage with ordinary
runs, decisions.json with what was decided, the tables results.csv, results.jsonl and summary.csv, and log.txt
with what happened and why it ended. Running it again continues it.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from signal import Signals
from time import monotonic

import yaml

from dartboard.errors import RunError
from dartboard.jobs.executors import Executor
from dartboard.jobs.job import Job, JobResult, Monitor
from dartboard.jobs.loops import IMAGES
from dartboard.jobs.queue import JobQueue, run_stages
from dartboard.runs import Lock
from dartboard.runs.directory import SWEEP as CONFIG
from dartboard.runs.directory import write_run_names
from dartboard.sweep.config import SweepConfig, load_sweep, plain
from dartboard.sweep.decision_log import read_cells
from dartboard.sweep.grid import PlannedRun
from dartboard.sweep.plan import SweepPlanner
from dartboard.sweep.pruning import Pruner
from dartboard.sweep.results import End, RunRow, read_results, row_of, write_results
from dartboard.sweep.sweep_log import SweepLog
from dartboard.utils import atomic
from dartboard.utils.checksums import settle, write_changed

log = logging.getLogger(__name__)

WRITE_INTERVAL = 10.0
"""Seconds between two writes of the tables while runs go on, at least."""
WRITE_SHARE = 0.01
"""Largest fraction of the time that writing the tables takes: each has all rows, so large ones are rarer."""


def is_sweep(path: Path) -> bool:
    """True if a directory is that of a sweep."""
    return (path / CONFIG).is_file()


def read_sweep(folder: Path) -> SweepConfig:
    """The configuration of the sweep in a directory.

    Raises:
        DartboardError: If there is none, or its configuration is damaged.
    """
    if not is_sweep(folder):
        raise RunError(f"{folder} is not a sweep: it has no {CONFIG}")
    return load_sweep(folder / CONFIG, root=folder)


@dataclass
class Sweep:
    """Runs the stages of a sweep.

    Args:
        planner: Plans its runs.
        executor: Where they run; closed at the end.
        monitor: Called when stages and runs begin and end; see `Monitor`.
        signals: The signals that have come, if a handler lists them here; its log names them.
    """

    planner: SweepPlanner
    executor: Executor
    monitor: Monitor = field(default_factory=Monitor)
    signals: list[Signals] = field(default_factory=list)
    _planned: dict[str, PlannedRun] = field(default_factory=dict, init=False)
    _rows: dict[str, RunRow | None] = field(default_factory=dict, init=False)
    _names: dict[str, list[str]] = field(default_factory=dict, init=False)
    _next_write: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.folder, self.planner.message = self.planner.folder, self._message
        self.stages = list(self.planner.stages)
        self.log = SweepLog(self.folder, self.monitor)
        self.queue = JobQueue(
            self.executor, tries=self.planner.config.tries, retry_failed=True, monitor=self.log
        )
        self.pruner = Pruner(self.planner, self.monitor.message)  # the log has it with the row of the run

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
                atomic.remove_leftovers(self.folder / IMAGES, older_than=atomic.SHARED)
                settle(self.folder)
                planned = self.planner.rehearse(build=False)
                try:
                    known = {row["name"]: row for row in read_results(self.folder)}
                except RunError:  # there is none yet, or it is damaged: it is written anew
                    known = {}
                self._rows = {run.name: known.get(run.name) for runs in planned.values() for run in runs}
                write_config(self.folder, self.planner.config)
                self._write_names(planned)
                self.log.start(self.executor, [run for runs in planned.values() for run in runs], self.rows)
                try:
                    try:
                        run_stages(self, self.queue)
                    finally:
                        self._write()
                except BaseException as error:
                    self.log.end(self.rows, error, self.signals)
                    raise
                self.log.end(self.rows, None, self.signals)
        finally:
            self.executor.close()
        return self.rows

    @property
    def rows(self) -> list[RunRow]:
        """Rows of the runs that have ended, now or earlier, in the order of the plan."""
        rows = [row for row in self._rows.values() if row is not None]
        return sorted(rows, key=lambda row: self.stages.index(row["stage"]))

    def begin(self, stage: str) -> list[Job]:
        """The jobs of a stage, planned now that those before it have ended."""
        runs = self.planner.plan(stage)
        self._planned |= {run.name: run for run in runs}
        self._rows |= {run.name: self._rows.get(run.name) for run in runs}
        self._write_names({stage: runs})
        if (decision := read_cells(self.planner.log, stage)) is not None:
            cells = ", ".join(cell.label for cell in decision.cells)
            among = f"{len(decision.finished)} finished of {len(decision.among)} runs"
            self.log.write(f"{stage} takes its cells from {among}: {cells}")
        return [self.planner.job(run) for run in runs]

    def rungs(self, stage: str) -> Sequence[int]:
        """Numbers of epochs after which the runs of a stage are compared."""
        return self.planner.stages[stage].stop.after

    def prune(self, stage: str, epochs: int, jobs: Mapping[str, Job], queue: JobQueue) -> Collection[str]:
        """Names of the jobs that end at a rung: pruned, or failed before it."""
        ends = self.pruner.prune(stage, epochs, jobs, queue)
        failed = sum(state == "failed" for state, _ in ends.values())
        self.log.write(
            f"{stage} after {epochs} epochs: continuing {len(jobs) - len(ends)} of {len(jobs)} runs, "
            f"pruned {len(ends) - failed}, failed {failed}"
        )
        for name, (state, reason) in ends.items():
            self._record(name, state, reason)
        return ends

    def end(self, result: JobResult) -> None:
        """Records the result of a job; one that failed does not end others."""
        state: End = "finished" if result.state == "finished" else "failed"
        self._record(result.job.name, state, result.error)

    def _write_names(self, planned: Mapping[str, Sequence[PlannedRun]]) -> None:
        """Records the names of the runs, as far as they are known."""
        known = {
            stage: [run.name for run in runs if not run.is_placeholder] for stage, runs in planned.items()
        }
        self._names |= known
        write_run_names(self.folder, [name for names in self._names.values() for name in names])

    def _record(self, name: str, state: End, reason: str) -> None:
        self._rows[name] = row = row_of(self._planned[name], self.folder, state, reason)
        self.log.on_row(row)
        if monotonic() > self._next_write:
            self._write()

    def _write(self) -> None:
        start = monotonic()
        write_results(self.folder, self.rows)
        end = monotonic()
        self._next_write = end + max(WRITE_INTERVAL, (end - start) / WRITE_SHARE)

    def _message(self, text: str) -> None:
        log.info("%s", text)
        self.log.message(text)


def write_config(folder: Path, config: SweepConfig) -> None:
    """Writes the configuration of the sweep to its directory."""
    write_changed(folder / CONFIG, yaml.safe_dump(plain(config), sort_keys=False))


def failures(rows: Sequence[RunRow]) -> dict[str, str]:
    """Error messages of the runs that failed, by name."""
    return {row["name"]: row["reason"] for row in rows if row["state"] == "failed"}
