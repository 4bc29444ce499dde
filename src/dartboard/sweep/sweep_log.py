"""The log of a sweep, log.txt in its directory: what happened to its runs, what was decided, why it ended."""

import os
import shlex
import socket
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from signal import Signals
from typing import Any

import dartboard
from dartboard.errors import RunError, Stopped
from dartboard.jobs.executors import Executor
from dartboard.jobs.job import Job, JobResult, Monitor
from dartboard.runs.directory import LOG
from dartboard.sweep.grid import PlannedRun
from dartboard.utils.checksums import record_growing
from dartboard.utils.safe_files import open_handle
from dartboard.utils.text import printable, span


class SweepLog(Monitor):
    """Appends a line to log.txt for what happens in a sweep, and passes every callback on to a monitor.

    The file is opened for each line, so that a kill loses none. A line that cannot be written, for example
    because the disk is full, is left out: a sweep does not fail for its log.

    Args:
        folder: Directory of the sweep.
        monitor: Where callbacks go.
    """

    def __init__(self, folder: Path, monitor: Monitor) -> None:
        self.path, self.monitor = folder / LOG, monitor
        self._earlier: dict[str, Mapping[str, Any]] = {}
        self._busy = set[str]()

    def write(self, text: str, level: str = "INFO") -> None:
        """Appends a line with the time in UTC, in the format of the log of a run."""
        time = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
        line = f"{time}Z {level} dartboard.sweep: {printable(text)}\n".encode("utf-8", "replace")
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with suppress(OSError, RunError):
            handle = open_handle(self.path, flags, root=self.path.parent, limit=None)
            with os.fdopen(handle, "ab") as file:
                file.write(line)

    def start(
        self, executor: Executor, runs: Sequence[PlannedRun], earlier: Sequence[Mapping[str, Any]]
    ) -> None:
        """Says how the sweep was started; `earlier` are the rows of runs that ended in earlier sessions."""
        self._earlier = {row["name"]: row for row in earlier}
        verb = "resumed" if self.path.exists() else "started"
        machine = f"process {os.getpid()} on {socket.gethostname()}"
        self.write(f"{verb}: {shlex.join(sys.argv)} (dartboard {dartboard.__version__}, {machine})")
        known = sum(not run.is_placeholder for run in runs)
        more = ", and those of cells that are not found yet" if known < len(runs) else ""
        before = f"; ended before: {_count_states(earlier)}" if earlier else ""
        self.write(
            f"runs: {known}{more}{before}; executor: {type(executor).__name__}, {executor.capacity} at a time"
        )

    def end(
        self, rows: Iterable[Mapping[str, Any]], error: BaseException | None, signals: Sequence[Signals]
    ) -> None:
        """Says why the sweep has ended: all runs have, or this error, or these signals."""
        states = f"runs: {_count_states(rows) or 'none ended'}"
        cause = f"interrupted by {', '.join(signal.name for signal in signals)}" if signals else "interrupted"
        if error is None:
            self.write(f"finished; {states}")
        elif isinstance(error, Stopped | KeyboardInterrupt):
            self.write(f"{cause}: {str(error) or 'ended at once'}; {states}", "WARNING")
        else:
            self.write(f"ended by an error: {type(error).__name__}: {error}; {states}", "ERROR")
        record_growing(self.path)

    def on_stage(self, name: str, runs: Sequence[str]) -> None:
        self.write(f"stage {name}: {len(runs)} run{'' if len(runs) == 1 else 's'}")
        self.monitor.on_stage(name, runs)

    def on_start(self, job: Job) -> None:
        self.monitor.on_start(job)

    def on_end(self, result: JobResult, again: bool) -> None:
        name, reason = result.job.name, result.error or "no reason given"
        if result.state == "busy":
            if name not in self._busy:
                self.write(f"{name} waits: {reason}")
            self._busy.add(name)
        elif again:
            self.write(f"{name} {result.state}, retried: {reason}", "WARNING")
        elif result.state == "lost":
            self.write(f"{name} lost: {reason}", "WARNING")
        elif result.state == "paused":
            self.write(f"{name} paused after epoch {result.job.until}, to be compared")
        elif result.state == "stopped":
            self.write(f"{name} interrupted; its state is saved")
        self.monitor.on_end(result, again)

    def on_row(self, row: Mapping[str, Any]) -> None:
        if row["state"] == "failed":
            self.write(f"{row['name']} failed: {row['reason']}", "ERROR")
        elif row != self._earlier.get(row["name"]):  # else it ended in an earlier session, which logged it
            if row["state"] == "finished":
                self.write(f"{row['name']} finished: {row['epochs']} epochs in {span(row['seconds'])}")
            else:
                self.write(f"{row['name']} pruned: {row['reason']}")
        self.monitor.on_row(row)

    def on_poll(self, running: Sequence[Job]) -> None:
        self.monitor.on_poll(running)

    def message(self, text: str) -> None:
        self.write(text)
        self.monitor.message(text)


def _count_states(rows: Iterable[Mapping[str, Any]]) -> str:
    """Numbers of runs by state, in words."""
    counts = Counter("pruned" if row["state"] == "dropped" else row["state"] for row in rows)
    return ", ".join(
        f"{counts[state]} {state}" for state in ("finished", "pruned", "failed") if counts[state]
    )
