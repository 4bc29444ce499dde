"""The executor that does jobs in this process, one after the other."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field

from dartboard.config.schema import Count, Options
from dartboard.jobs.device import find_device
from dartboard.jobs.executors.base import EXECUTORS
from dartboard.jobs.executors.remote import checked, fitted
from dartboard.jobs.job import Job, Outcome
from dartboard.jobs.runner import Desk


class HereOptions(Options):
    """What this process computes with."""

    threads: Count | None = Field(
        default=None, description="threads of new runs on CPUs; by default torch's own choice"
    )
    device: str | None = Field(
        default=None, description="where to compute; by default a GPU if there is one, else the CPU"
    )


@EXECUTORS.register("here")
class Here:
    """Does jobs in this process.

    Args:
        options: What it computes with; see `HereOptions`.
    """

    room = 1

    def __init__(self, **options: Any) -> None:
        self._options = self.check(options)
        self._desk = Desk()
        self._jobs: deque[Job] = deque()

    @staticmethod
    def check(options: Mapping[str, Any]) -> HereOptions:
        """What plain values ask for; raises a DartboardError if it cannot be."""
        own = checked(HereOptions, options)
        find_device(own.device)  # one that is not there is better known at once
        return own

    def begin(self, job: Job) -> None:
        """Takes a job, which is done when somebody asks what has ended."""
        self._jobs.append(job)

    def ended(self, seconds: float) -> Sequence[Outcome]:  # noqa: ARG002  # it takes as long as it takes
        """The next job, which is done now."""
        if not self._jobs:
            return []
        job, options = self._jobs.popleft(), self._options
        done = self._desk.attempt(fitted(job, threads=options.threads, device=options.device))
        return [replace(done, job=job)]

    def stop(self) -> None:
        """Asks the job to save its state after the current step and to stop."""
        self._desk.stop()

    def close(self) -> None:
        """Nothing outlives this process."""
