"""Runs the jobs of a reproduction on the executor of its options."""

from collections.abc import Sequence

from dartboard.errors import RunError
from dartboard.jobs.executors import Executor, make_executor
from dartboard.jobs.job import Job
from dartboard.jobs.queue import JobQueue
from dartboard_papers.base import RunOptions


def open_executor(options: RunOptions, count: int) -> Executor:
    """The executor that a options names; by default a pool if several processes may work, else this process.

    Args:
        options: Names the executor, or the number of processes.
        count: Number of jobs.
    """
    if options.executor is not None:
        return make_executor(options.executor, options.executor_options)
    if options.jobs > 1 and count > 1:
        return make_executor("pool", {"jobs": min(options.jobs, count), "threads": 1})
    return make_executor("here", {})


def run_jobs(jobs: Sequence[Job], options: RunOptions, what: str) -> None:
    """Runs jobs to their ends, or what is left of them.

    Args:
        jobs: The jobs.
        options: Where they run; reports how many are done.
        what: What the report calls them.

    Raises:
        RunError: If one of them fails.
    """
    options.tell(what, 0, len(jobs))
    executor = open_executor(options, len(jobs))
    try:
        for done, result in enumerate(JobQueue(executor).run(jobs), 1):
            if result.state != "finished":
                raise RunError(f"{result.job.name}: {result.error}")
            options.tell(what, done, len(jobs))
    finally:
        executor.close()
