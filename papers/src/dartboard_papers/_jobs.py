"""Runs the jobs of a reproduction on the executor of its setting."""

from collections.abc import Sequence

from dartboard.errors import RunError
from dartboard.jobs.executors import Executor, make_executor
from dartboard.jobs.job import Job
from dartboard.jobs.queue import JobQueue
from dartboard_papers.base import Setting


def open_executor(setting: Setting, count: int) -> Executor:
    """The executor that a setting names; by default a pool if several processes may work, else this process.

    Args:
        setting: Names the executor, or the number of processes.
        count: Number of jobs.
    """
    if setting.executor is not None:
        return make_executor(setting.executor, setting.executor_options)
    if setting.jobs > 1 and count > 1:
        return make_executor("pool", {"jobs": min(setting.jobs, count), "threads": 1})
    return make_executor("here", {})


def run_jobs(jobs: Sequence[Job], setting: Setting, what: str) -> None:
    """Runs jobs to their ends, or what is left of them.

    Args:
        jobs: The jobs.
        setting: Where they run; reports how many are done.
        what: What the report calls them.

    Raises:
        RunError: If one of them fails.
    """
    setting.tell(what, 0, len(jobs))
    executor = open_executor(setting, len(jobs))
    try:
        for done, result in enumerate(JobQueue(executor).run(jobs), 1):
            if result.state != "finished":
                raise RunError(f"{result.job.name}: {result.error}")
            setting.tell(what, done, len(jobs))
    finally:
        executor.close()
