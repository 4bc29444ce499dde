"""The executor that runs jobs in this process, one after the other."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field

from dartboard.config.schema import Count, Options
from dartboard.jobs.device import find_device
from dartboard.jobs.executors.base import EXECUTORS, parse_options, with_defaults
from dartboard.jobs.job import Job, JobResult
from dartboard.jobs.runner import JobRunner
from dartboard.search.hooks import LoopHook


class InlineOptions(Options):
    """What this process computes with."""

    threads: Count | None = Field(
        default=None, description="threads of new runs on CPUs; by default torch's own choice"
    )
    device: str | None = Field(
        default=None, description="where to compute; by default a GPU if there is one, else the CPU"
    )


class _Poll(LoopHook[Any, Any, Any]):
    """Calls a function after every epoch."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function

    def on_epoch_end(self, loop: Any, record: Any) -> None:  # noqa: ARG002
        self._function()


@EXECUTORS.register("here")
class InlineExecutor:
    """Runs jobs in this process.

    Args:
        runner: Runs them; by default a new one.
        options: See `InlineOptions`.
    """

    capacity = 1

    def __init__(self, runner: JobRunner | None = None, **options: Any) -> None:
        self._options = self.check(options)
        self._runner = runner or JobRunner()
        self._jobs: deque[Job] = deque()

    def on_epoch(self, function: Callable[[], None]) -> None:
        """Has a function called after every epoch: `completed` returns only when a job has ended."""
        self._runner.hooks += (_Poll(function),)

    @staticmethod
    def check(options: Mapping[str, Any]) -> InlineOptions:
        """Parsed options; raises a DartboardError if they cannot be used."""
        parsed = parse_options(InlineOptions, options)
        find_device(parsed.device)  # fail fast on a device that is not there
        return parsed

    def submit(self, job: Job) -> None:
        """Accepts a job, which runs when results are asked for."""
        self._jobs.append(job)

    def completed(self, seconds: float) -> Sequence[JobResult]:  # noqa: ARG002  # a job takes as long as it takes
        """Runs the next job."""
        if not self._jobs:
            return []
        job, options = self._jobs.popleft(), self._options
        result = self._runner.run(with_defaults(job, threads=options.threads, device=options.device))
        return [replace(result, job=job)]

    def stop(self) -> None:
        """Asks the job to save its state after the current step and to stop."""
        self._runner.stop()

    def close(self) -> None:
        """Nothing outlives this process."""
