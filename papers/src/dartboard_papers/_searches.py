"""Small searches for reproductions: ordinary runs, which are reused and resumed, several at a time."""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from dartboard.jobs.job import Job
from dartboard.runs import Run
from dartboard.search.config import SearchConfig, build_space, merge, resolved
from dartboard.search.method import make_method
from dartboard_papers._jobs import run_jobs
from dartboard_papers.base import RunOptions

RUNS = "runs"
"""Folder of the runs, inside that of the options."""


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
    jobs = {label: _job(label, config, folder, options) for label, config in configs.items()}
    run_jobs(list(jobs.values()), options, what)
    return {label: Run.read(job.path) for label, job in jobs.items()}


def _job(label: str, config: SearchConfig, folder: Path, options: RunOptions) -> Job:
    values = resolved(config)
    digest = sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]
    name, device = f"{label}-{digest}", str(options.device)
    return Job(name, str(folder.resolve()), "search", values, device=device, plugins=config.plugins)
