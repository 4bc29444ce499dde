"""The job queue: submits jobs to an executor, and those again that fail or are lost.

It saves what is asked to stop, and passes over what is finished already, so that a plan in stages whose
decisions stand goes on where an earlier process left off.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic, sleep
from typing import Protocol

from dartboard.errors import DartboardError, Stopped
from dartboard.jobs.executors import Executor
from dartboard.jobs.executors.local import InlineExecutor
from dartboard.jobs.job import Job, JobResult, Monitor
from dartboard.jobs.runner import kind_of
from dartboard.runs import list_checkpoints
from dartboard.runs.directory import CHECKPOINTS, METRICS

POLL = 0.2
"""Seconds between two checks whether to stop."""
NAMED = 3
"""Number of stopped jobs that a message names."""
BUSY_DELAY = 2.0
"""Seconds before a job is submitted again whose run another process holds."""


class JobQueue:
    """Runs jobs on an executor.

    Args:
        executor: Where they run.
        tries: Number of failures after which a job is given up; a lost job counts if it has made no progress.
        retry_failed: Whether jobs that raise an error are submitted again, or only those that are lost.
        monitor: Called when jobs start and end; see `Monitor`.
    """

    def __init__(
        self,
        executor: Executor,
        *,
        tries: int = 3,
        retry_failed: bool = False,
        monitor: Monitor | None = None,
    ) -> None:
        self.executor, self.tries, self.retry_failed = executor, tries, retry_failed
        self.monitor = monitor or Monitor()
        self._waiting: deque[Job] = deque()
        self._delayed: list[tuple[float, Job]] = []
        self._running: dict[str, tuple[Job, object]] = {}
        self._failures: Counter[str] = Counter()
        self._saved: list[str] = []
        self._stopping = False
        if isinstance(executor, InlineExecutor):
            executor.on_epoch(lambda: self.monitor.on_poll(self.running))

    @property
    def running(self) -> list[Job]:
        """The jobs that are running."""
        return [job for job, _ in self._running.values()]

    def stop(self) -> None:
        """Asks all jobs to save their states and to stop; for signal handlers."""
        self._stopping = True
        self.executor.stop()

    def run(self, jobs: Sequence[Job]) -> Iterator[JobResult]:
        """Final result of each job, in the order of completion: `finished`, `paused` or `failed`.

        Raises:
            Stopped: If `stop` was called; all states have been saved.
        """
        self._waiting = deque()
        for job in jobs:
            try:
                done = kind_of(job).status(job)
            except DartboardError as error:
                yield JobResult(job, "failed", str(error), type(error).__name__)
                continue
            if done is None:
                self._waiting.append(job)
            else:
                yield JobResult(job, done)
        while self._submit_waiting():
            if self._running:
                for result in self.executor.completed(POLL):
                    yield from self._final(result)
            else:
                sleep(POLL)  # other processes hold what is left
            self.monitor.on_poll(self.running)
        if self._stopping:
            text = f"stopped; runs not begun: {len(self._waiting) + len(self._delayed)}"
            if self._saved:
                more = f" and {len(self._saved) - NAMED} more" if len(self._saved) > NAMED else ""
                text += f"; saved: {', '.join(self._saved[:NAMED])}{more}"
            raise Stopped(text)

    def _submit_waiting(self) -> bool:
        """Submits as many jobs as the executor takes; whether there is anything to wait for."""
        if self._stopping:
            return bool(self._running)
        now = monotonic()
        self._waiting.extend(job for due, job in self._delayed if due <= now)
        self._delayed = [(due, job) for due, job in self._delayed if due > now]
        while self._waiting and len(self._running) < self.executor.capacity:
            job = self._waiting.popleft()
            self._running[job.name] = job, progress(job)
            self.monitor.on_start(job)
            self.executor.submit(job)
        return bool(self._running or self._waiting or self._delayed)

    def _final(self, result: JobResult) -> Iterator[JobResult]:
        """The result, unless the job is submitted again or continues with the next invocation."""
        job, before = self._running.pop(result.job.name)
        again = self._retry(result, before)
        self.monitor.on_end(result, again)
        if again or (result.state == "lost" and self._stopping):
            return
        if result.state == "lost":
            last = f"; the last time, {result.error}" if result.error else ""
            error = f"lost {self.tries} times without getting further{last}"
            result = replace(result, state="failed", error=error)
        if result.state == "stopped":
            self._saved.append(job.name)
        else:
            yield replace(result, job=job)

    def _retry(self, result: JobResult, before: object) -> bool:
        """Puts a job where it waits to be submitted again, if it should be."""
        job, state = result.job, result.state
        if state in ("finished", "paused"):
            return False
        if state == "busy":
            self._delayed.append((monotonic() + BUSY_DELAY, job))
            return True
        if state in ("lost", "stopped") and self._stopping:
            return False
        if state == "failed" and not self.retry_failed:
            return False
        self._failures[job.name] += state == "failed" or progress(job) == before
        if self._failures[job.name] >= self.tries:
            return False
        self._waiting.appendleft(job)
        return True


def progress(job: Job) -> object:
    """A value that changes whenever the run of a job makes progress."""
    metrics, newest = job.path / METRICS, ""
    with suppress(OSError):
        newest = max((path.name for path in list_checkpoints(job.path / CHECKPOINTS)), default="")
    return (metrics.stat().st_size if metrics.exists() else 0), newest


class StagedPlan(Protocol):
    """Jobs in stages; what a stage has follows from the results of those before it."""

    @property
    def stages(self) -> Collection[str]:
        """Names of the stages, in their order."""
        ...

    def begin(self, stage: str) -> Sequence[Job]:
        """The jobs of a stage; those before it have been run."""
        ...

    def rungs(self, stage: str) -> Sequence[int]:
        """Numbers of epochs after which the jobs of a stage are compared."""
        ...

    def prune(self, stage: str, epochs: int, jobs: Mapping[str, Job], queue: JobQueue) -> Collection[str]:
        """Runs jobs up to a rung, unless they have been compared there; names of those that end there."""
        ...

    def end(self, result: JobResult) -> None:
        """Takes the result of a job that was run to its end; raises what must end the others, too."""
        ...


def run_stages(plan: StagedPlan, queue: JobQueue) -> None:
    """Runs the stages of a plan, each with its rungs.

    Raises:
        Stopped: If the queue was stopped; all states have been saved.
    """
    for stage in plan.stages:
        jobs = {job.name: job for job in plan.begin(stage)}
        queue.monitor.on_stage(stage, list(jobs))
        for epochs in plan.rungs(stage):
            for name in plan.prune(stage, epochs, dict(jobs), queue):
                del jobs[name]
        for result in queue.run(list(jobs.values())):
            plan.end(result)
