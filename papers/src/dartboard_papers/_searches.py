"""Small searches for reproductions: ordinary runs, kept and gone on with, several at a time."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch

from dartboard.engine.rng_scope import unheard
from dartboard.jobs.inner import Inner, Job
from dartboard.runs import Run
from dartboard.search.config import SearchConfig, build, build_space, resolved
from dartboard.search.hooks import AnyHook
from dartboard.search.method import make_method
from dartboard.search.searcher import Searcher
from dartboard.search.settings import merge
from dartboard.utils.parallel import in_processes
from dartboard_papers.base import RunOptions

RUNS = "runs"
"""The folder of the runs, inside the setting's."""


@dataclass(frozen=True)
class Search:
    """A search as it travels to another process.

    Args:
        name: Of its run.
        config: What it does.
        folder: The folder that its run is in.
        device: Where it computes.
    """

    name: str
    config: SearchConfig
    folder: Path
    device: str


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
    folder, device = options.folder / RUNS, str(options.device)
    asked = {label: Search(_name(label, own), own, folder, device) for label, own in configs.items()}
    folder.mkdir(parents=True, exist_ok=True)
    options.tell(what, 0, len(asked))
    for done, _ in enumerate(in_processes(finish, list(asked.values()), options.jobs), 1):
        options.tell(what, done, len(asked))
    return {label: Run.read(folder / own.name) for label, own in asked.items()}


def _name(label: str, config: SearchConfig) -> str:
    text = json.dumps(resolved(config), sort_keys=True)
    return f"{label}-{sha256(text.encode()).hexdigest()[:8]}"


def finish(search: Search) -> None:
    """Does a search to its end, or what is left of it, in its run."""
    config, device = search.config, torch.device(search.device)

    def make(hooks: Sequence[AnyHook]) -> Searcher:
        return Searcher(*build(config), device=device, hooks=hooks)

    with unheard():
        job = Job(search.name, resolved(config), build_space(config.space), make)
        Inner(search.folder, device).finish(job)
