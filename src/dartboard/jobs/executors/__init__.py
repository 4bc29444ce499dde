"""Executors: where jobs run. In this process, in a pool of processes, on Ray, on Slurm.

Every module of this folder without an underscore registers executors; so may a plugin.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol, TypeVar

from pydantic import ValidationError

from dartboard.config.loader import explain
from dartboard.config.schema import Options
from dartboard.jobs.job import Job, JobResult
from dartboard.registry import Registry

__all__ = ["EXECUTORS", "Executor", "check_executor", "list_executors", "make_executor", "register_executor"]

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


@cache
def _registry() -> Registry[Callable[..., Executor]]:
    """All executors, of which those of this folder are imported first."""
    for module in iter_modules(__path__):
        if not module.name.startswith("_"):
            import_module(f"{__name__}.{module.name}")
    return EXECUTORS


def list_executors() -> list[str]:
    """Names of the executors."""
    return list(_registry())


def make_executor(name: str, options: Mapping[str, Any]) -> Executor:
    """The executor of a name such as `here`, `pool`, `ray` or `slurm`.

    Raises:
        DartboardError: If there is none of this name, an option does not fit, or a package is missing.
    """
    return _registry()[name](**options)


def check_executor(name: str, options: Mapping[str, Any]) -> None:
    """Checks the options of an executor without making it, so that one of a cluster can be checked elsewhere.

    Raises:
        DartboardError: If there is none of this name, or an option does not fit.
    """
    check = getattr(_registry()[name], "check", None)
    if check is not None:
        check(options)
