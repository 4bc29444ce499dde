"""What every executor is: jobs are submitted to it, and it reports which have completed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from pydantic import ValidationError

from dartboard.config.loader import explain
from dartboard.config.schema import Options
from dartboard.jobs.job import Job, JobResult
from dartboard.registry import Registry

O = TypeVar("O", bound=Options)  # noqa: E741


class Executor(Protocol):
    """Runs jobs somewhere; knows nothing of sweeps, retries or pruning.

    Attributes:
        capacity: Number of jobs that it takes at a time; clients have no more submitted and not completed.
    """

    capacity: int

    def submit(self, job: Job) -> None:
        """Starts a job without waiting for it.

        A job that an earlier client submitted and that is still running is adopted, not started twice.
        """
        ...

    def completed(self, seconds: float) -> Sequence[JobResult]:
        """Results of the jobs that have ended since the last call; waits at most so long for the first."""
        ...

    def stop(self) -> None:
        """Asks all jobs to save their state after the current step and to stop; for signal handlers."""
        ...

    def close(self) -> None:
        """Ends everything that would outlive the client, at once where it is busy."""
        ...


EXECUTORS: Registry[Callable[..., Executor]] = Registry("executor", "dartboard.executors")


def register_executor(name: str) -> Callable[[Callable[..., Executor]], Callable[..., Executor]]:
    """Decorator that registers a class, or a function from options to an executor, as the executor `name`.

    Examples:
        >>> from dartboard import register_executor
        >>> from dartboard.jobs.executors import make_executor
        >>> @register_executor("in-turn")
        ... def in_turn():
        ...     '''One job at a time, in this process.'''
        ...     return make_executor("here", {})
        >>> make_executor("in-turn", {}).capacity
        1
    """
    return EXECUTORS.register(name, stacklevel=2)


def with_defaults(job: Job, *, threads: int | None, device: str | None) -> Job:
    """The job with these threads and this device where it names none itself."""
    return replace(job, threads=job.threads or threads, device=job.device or device)


def parse_options(schema: type[O], values: Mapping[str, Any]) -> O:
    """Options of an executor from plain values.

    Raises:
        UnknownNameError: If there is no such option.
        OptionError: If a value cannot be used; says which.
    """
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        raise explain(error, schema) from None
