"""The jobs of a sweep that wait, are under way, or must be begun again."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic, sleep
from typing import Any

from dartboard.errors import DartboardError, Stopped
from dartboard.jobs.executors.base import Executor
from dartboard.jobs.job import Job, Outcome
from dartboard.jobs.runner import standing
from dartboard.runs import list_checkpoints
from dartboard.runs.directory import CHECKPOINTS, METRICS

LOOK = 0.2
"""Seconds between two looks at whether to stop."""
PATIENCE = 2.0
"""Seconds before a run is tried again that somebody else was at."""


class Watch:
    """Is told what happens to a sweep; does nothing by itself."""

    def on_stage(self, name: str, runs: Sequence[str]) -> None:
        """When a stage begins, with the names of its runs, finished ones among them."""

    def on_begin(self, job: Job) -> None:
        """When a job is begun, or begun again."""

    def on_end(self, outcome: Outcome, again: bool) -> None:
        """When a job has ended; `again` says whether it will be begun again."""

    def on_row(self, row: Mapping[str, Any]) -> None:
        """When a run is over for good, one that was so before among them; with its row of the results."""

    def on_look(self, running: Sequence[Job]) -> None:
        """Several times a second, with the jobs that are under way."""

    def say(self, words: str) -> None:
        """When something is decided."""


@dataclass
class Queue:
    """Has jobs done, and begins those again that fail or are lost.

    Args:
        executor: Does them.
        tries: A job that has failed so often is not begun again; one that is lost counts where it has not got
            further since it was begun.
        watch: Is told what happens.
    """

    executor: Executor
    tries: int
    watch: Watch
    _waiting: deque[Job] = field(default_factory=deque, init=False)
    _later: list[tuple[float, Job]] = field(default_factory=list, init=False)
    _begun: dict[str, tuple[Job, object]] = field(default_factory=dict, init=False)
    _failures: Counter[str] = field(default_factory=Counter, init=False)
    _stopping: bool = field(default=False, init=False)

    @property
    def running(self) -> list[Job]:
        """The jobs that are under way."""
        return [job for job, _ in self._begun.values()]

    def stop(self) -> None:
        """Asks all jobs to save their states and to stop; for signal handlers."""
        self._stopping = True
        self.executor.stop()

    def do(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """What comes of each job in the end, as they end: `finished`, `paused` or `failed`.

        Raises:
            Stopped: If `stop` was called; all states have been saved.
        """
        self._waiting = deque()
        for job in jobs:
            outcome = _already(job)
            if outcome is None:
                self._waiting.append(job)
            else:
                yield outcome
        while self._give():
            for outcome in self._ended():
                yield from self._hear(outcome)
            self.watch.on_look(self.running)
        self.check()

    def check(self) -> None:
        """Raises Stopped if that was asked."""
        if self._stopping:
            raise Stopped(f"stopped; runs not begun: {len(self._waiting) + len(self._later)}")

    def _give(self) -> bool:
        """Begins as many jobs as there is room for; whether there is anything to wait for."""
        if self._stopping:
            return bool(self._begun)
        now = monotonic()
        self._waiting.extend(job for due, job in self._later if due <= now)
        self._later = [(due, job) for due, job in self._later if due > now]
        while self._waiting and len(self._begun) < self.executor.room:
            job = self._waiting.popleft()
            self._begun[job.name] = job, progress(job)
            self.watch.on_begin(job)
            self.executor.begin(job)
        return bool(self._begun or self._waiting or self._later)

    def _ended(self) -> Sequence[Outcome]:
        """What has ended; waits a moment if nothing has."""
        if self._begun:
            return self.executor.ended(LOOK)
        sleep(LOOK)  # others hold what is left
        return []

    def _hear(self, outcome: Outcome) -> Iterator[Outcome]:
        job, before = self._begun.pop(outcome.job.name)
        again = self._again(outcome, before)
        self.watch.on_end(outcome, again)
        if again or (outcome.state == "lost" and self._stopping):  # it goes on when the sweep does
            return
        if outcome.state == "lost":
            outcome = replace(outcome, state="failed", error=self._lost(outcome))
        if outcome.state != "stopped":
            yield replace(outcome, job=job)

    def _lost(self, outcome: Outcome) -> str:
        last = f"; the last time, {outcome.error}" if outcome.error else ""
        return f"lost {self.tries} times without getting further{last}"

    def _again(self, outcome: Outcome, before: object) -> bool:
        """Whether a job is begun again; puts it where it waits."""
        job, state = outcome.job, outcome.state
        if state in ("finished", "paused"):
            return False
        if state == "busy":
            self._later.append((monotonic() + PATIENCE, job))
            return True
        if state in ("lost", "stopped") and self._stopping:
            return False
        self._failures[job.name] += state == "failed" or progress(job) == before
        if self._failures[job.name] >= self.tries:
            return False
        self._waiting.appendleft(job)
        return True


def _already(job: Job) -> Outcome | None:
    """What came of a job before; None if something is left to do."""
    try:
        found = standing(job)
    except DartboardError as error:
        return Outcome(job, "failed", str(error))
    return None if found is None else Outcome(job, found)


def progress(job: Job) -> object:
    """Something that changes whenever the run of a job gets further."""
    metrics, saved = job.path / METRICS, ""
    with suppress(OSError):
        saved = max((own.name for own in list_checkpoints(job.path / CHECKPOINTS)), default="")
    return (metrics.stat().st_size if metrics.exists() else 0), saved
