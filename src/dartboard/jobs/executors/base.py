"""What all executors are: something that jobs are begun on, and that says which have ended."""

from collections.abc import Callable, Sequence
from typing import Protocol

from dartboard.jobs.job import Job, Outcome
from dartboard.registry import Registry


class Executor(Protocol):
    """Does jobs somewhere else; knows nothing of sweeps, tries or early stopping.

    Attributes:
        room: How many jobs it takes at a time; the driver has no more than that begun and not ended.
    """

    room: int

    def begin(self, job: Job) -> None:
        """Begins a job, and does not wait for it.

        A job that an earlier driver began and that is still under way is taken over, not begun twice.
        """
        ...

    def ended(self, seconds: float) -> Sequence[Outcome]:
        """The jobs that have ended since it was last asked; waits at most so long for the first."""
        ...

    def stop(self) -> None:
        """Asks all jobs to save their state after the current step and to stop; for signal handlers."""
        ...

    def close(self) -> None:
        """Ends everything that would outlive the driver, at once where it is at something."""
        ...


EXECUTORS: Registry[Callable[..., Executor]] = Registry("executor", "dartboard.executors")
