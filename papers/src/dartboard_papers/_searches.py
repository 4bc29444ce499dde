"""Small searches for reproductions: ordinary runs, kept and gone on with, several at a time."""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from dartboard.jobs.job import Job
from dartboard.runs import Run
from dartboard.search.config import SearchConfig, build_space, resolved
from dartboard.search.method import make_method
from dartboard.search.settings import merge
<<<<<<< HEAD:papers/src/dartboard_papers/_searches.py
from dartboard.utils.parallel import in_processes
from dartboard_papers.base import RunOptions
=======
from dartboard_papers._jobs import run_jobs
from dartboard_papers.base import Setting
>>>>>>> fe6694f (One engine for many runs: jobs, a queue, executors; protocol, bench, convergence, the exhaustive benchmark and the papers' searches are its clients, on one process pool):papers/src/dartboard_papers/_searching.py

RUNS = "runs"
"""The folder of the runs, inside the setting's."""


def configure(*layers: Mapping[str, Any]) -> SearchConfig:
    """What a search does, from nested settings of which later ones win.

    Names alone will do for space, method and data: `configure({"space": "nano", "epochs": 5}, {"seed": 1})`.

    Raises:
        DartboardError: If there is no such setting, space or method, or a value cannot be used.
    """
    config = merge(layers)
    build_space(config.space)  # what is wrong is better known before the first search
    make_method(config.method.name, config.method.options)
    return config


def searches(
    configs: Mapping[str, SearchConfig], options: RunOptions, what: str = "searches"
) -> dict[str, Run]:
    """The runs of searches, done to their ends unless they were before, to look at: by label, in order.

    Each is an ordinary run directory in `setting.folder/runs`, called by its label and a digest of its
    settings, so that a search with other settings is another run. `setting.jobs` of them are done at a time,
    each in a process with one thread; after a kill they go on from their last checkpoints. Records, strengths
    and checkpoints are read from the runs: `Run.metrics`, `Run.epoch`, `Run.result`, and
    `dartboard.search.revive.searcher_of` for the supernet at the end.

    Args:
        configs: What each does, seeds included; `configure` makes one.
        options: Where, with how many processes, and who is told how many are done.
        what: What the searches are called while they are done.

    Raises:
        DartboardError: If a search fails.
    """
<<<<<<< HEAD:papers/src/dartboard_papers/_searches.py
    folder, device = options.folder / RUNS, str(options.device)
    asked = {label: Search(_name(label, own), own, folder, device) for label, own in configs.items()}
    folder.mkdir(parents=True, exist_ok=True)
    options.tell(what, 0, len(asked))
    for done, _ in enumerate(in_processes(finish, list(asked.values()), options.jobs), 1):
        options.tell(what, done, len(asked))
    return {label: Run.read(folder / own.name) for label, own in asked.items()}
=======
    folder = setting.folder / RUNS
    folder.mkdir(parents=True, exist_ok=True)
    jobs = {label: _job(label, config, folder, setting) for label, config in configs.items()}
    run_jobs(list(jobs.values()), setting, what)
    return {label: Run.read(job.path) for label, job in jobs.items()}
>>>>>>> fe6694f (One engine for many runs: jobs, a queue, executors; protocol, bench, convergence, the exhaustive benchmark and the papers' searches are its clients, on one process pool):papers/src/dartboard_papers/_searching.py


def _job(label: str, config: SearchConfig, folder: Path, setting: Setting) -> Job:
    values = resolved(config)
    digest = sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]
    name, device = f"{label}-{digest}", str(setting.device)
    return Job(name, str(folder.resolve()), "search", values, device=device, plugins=config.plugins)
