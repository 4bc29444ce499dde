"""Helpers of the tests of sweeps: jobs that take a moment, and the digests of their runs."""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import yaml

from dartboard.jobs.executors import make_executor
from dartboard.jobs.job import Job, JobResult
from dartboard.jobs.runner import JobRunner
from dartboard.runs import Run, find_runs
from dartboard.search import config as search_config
from dartboard.search.config import load_config
from dartboard.space import GENOTYPE_FORMATS, get_space, sample
from dartboard.sweep.config import validate
from dartboard.sweep.plan import SweepPlanner
from dartboard.sweep.sweep import Sweep
from dartboard.train import config as train_config
from dartboard.train.config import TRAIN

SEARCH = ("batch=16", "net.channels=4", "health.examples=16", "weights.lr=0.1")
TRAINING = (
    "batch=16",
    "net.channels=4",
    "net.auxiliary=0",
    "net.drop_path=0",
    "data.cutout=0",
    "data.flip=false",
    "data.pad=1",
    "weights.lr=0.1",
)


def search_job(folder: Path, data: str, *words: str, name: str = "search/darts-s0", **given: Any) -> Job:
    """A search of few digits."""
    config = load_config(flags={"data": data}, words=[*SEARCH, "epochs=2", *words])
    return Job(name, str(folder), "search", search_config.resolved(config), **given)


def train_job(folder: Path, data: str, *words: str, name: str = "train/any-s0", **given: Any) -> Job:
    """A training of a random cell."""
    cell = GENOTYPE_FORMATS["json"].encode(sample(get_space("nano"), Random(1)))
    config = TRAIN.load(flags={"data": data, "cell": cell}, words=[*TRAINING, "epochs=2", *words])
    cells = get_space("nano").stack.cells
    return Job(name, str(folder), "train", train_config.resolved(config, "nano", cells), **given)


def run_job(job: Job) -> JobResult:
    """How a job ends that runs in this process."""
    return JobRunner().run(job)


def digest(path: Path) -> str:
    """Digest of a finished run."""
    return str((Run.read(path).result() or {})["digest"])


def sweep(folder: Path, values: Mapping[str, Any], executor: str = "here", **given: Any) -> Sweep:
    """A sweep in a directory, one thread a run."""
    options = {"threads": 1, **given.pop("options", {})}
    planner = SweepPlanner(validate(values), folder, **given)
    planner.rehearse()
    return Sweep(planner, make_executor(executor, options))


def tiny(data: str, **more: Any) -> dict[str, Any]:
    """Searches of few digits with two seeds."""
    settings = {**dict(word.split("=") for word in SEARCH), "epochs": 2, "data": data}
    plain = {key: yaml.safe_load(str(value)) for key, value in settings.items()}
    return {"settings": {**plain, **more.pop("settings", {})}, "grid": {"seed": "0..1"}, **more}


def digests(folder: Path) -> dict[str, str]:
    """By name, the digests of the finished runs of a sweep."""
    results = {str(path.relative_to(folder)): Run.read(path).result() for path in find_runs(folder)}
    return {name: str(result["digest"]) for name, result in results.items() if result is not None}
