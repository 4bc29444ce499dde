"""Jobs of reproductions: run on the executor of the options, and small searches, reused and resumed."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from dartboard.errors import RunError
from dartboard.jobs.executors import Executor, make_executor
from dartboard.jobs.job import Job
from dartboard.jobs.queue import JobQueue
from dartboard.runs import Run
from dartboard.search.config import SearchConfig, build_space, merge, resolved
from dartboard.search.method import make_method
from dartboard_papers.base import RunOptions

RUNS = "runs"
"""Folder of the runs, inside that of the options."""


def open_executor(options: RunOptions, count: int) -> Executor:
    """The executor that the options name; by default a pool if several processes may work, else this process.

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


def configure(*layers: Mapping[str, Any]) -> SearchConfig:
    """Configuration of a search from nested settings, of which later ones win.

    Names alone will do for space, method and data: `configure({"space": "nano", "epochs": 5}, {"seed": 1})`.

    Raises:
        DartboardError: If there is no such setting, space or method, or a value cannot be used.
    """
    config = merge(layers)
    build_space(config.space)  # fail fast, before the first search
    make_method(config.method.name, config.method.options)
    return config


def searches(
    configs: Mapping[str, SearchConfig], options: RunOptions, what: str = "searches"
) -> dict[str, Run]:
    """Finished runs of searches by label; those that are missing or unfinished are run.

    Each is an ordinary run directory in `options.folder/runs`, named after its label and a digest of its
    settings, so that a search with other settings is another run. `options.jobs` of them run at a time,
    each in a process with one thread; interrupted ones resume from their last checkpoints. Records, strengths
    and checkpoints are read from the runs: `Run.metrics`, `Run.epoch`, `Run.result`, and
    `dartboard.search.searcher.load_searcher` for the supernet at the end.

    Args:
        configs: Configurations by label, seeds included; see `configure`.
        options: Folder, device, number of processes and progress callback.
        what: Name of the searches in progress reports.

    Raises:
        DartboardError: If a search fails.
    """
    folder = options.folder / RUNS
    folder.mkdir(parents=True, exist_ok=True)
    place, device = str(folder.resolve()), str(options.device)
    jobs = {}
    for label, config in configs.items():
        values = resolved(config)
        digest = sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]
        name = f"{label}-{digest}"
        jobs[label] = Job(name, place, "search", values, device=device, plugins=config.plugins)
    run_jobs(list(jobs.values()), options, what)
    return {label: Run.read(job.path) for label, job in jobs.items()}
