"""The executor that does jobs in this process, one after the other."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from dartboard.scale.executors.base import EXECUTORS
from dartboard.scale.jobs import Job, Outcome
from dartboard.scale.work import Desk


@EXECUTORS.register("here")
class Here:
    """Does jobs in this process.

    Args:
        threads: Torch's, on a CPU, of runs that are new; None for torch's own choice.
        device: Where to compute; None for a GPU if there is one, else the CPU.
    """

    room = 1

    def __init__(self, *, threads: int | None = None, device: str | None = None) -> None:
        self._threads, self._device = threads, device
        self._desk = Desk()
        self._jobs: deque[Job] = deque()

    def begin(self, job: Job) -> None:
        """Takes a job, which is done when somebody asks what has ended."""
        self._jobs.append(job)

    def ended(self, seconds: float) -> Sequence[Outcome]:  # noqa: ARG002  # it takes as long as it takes
        """The next job, which is done now."""
        if not self._jobs:
            return []
        job = self._jobs.popleft()
        own = replace(job, threads=job.threads or self._threads, device=job.device or self._device)
        return [replace(self._desk.attempt(own), job=job)]

    def stop(self) -> None:
        """Asks the job to save its state after the current step and to stop."""
        self._desk.stop()

    def close(self) -> None:
        """Nothing outlives this process."""
