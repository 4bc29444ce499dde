"""Searches and trainings as jobs: from the configuration of a run to the loop that it needs."""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from dartboard.data import Dataset
from dartboard.engine.config import SCHEDULES
from dartboard.engine.hooks import AnyHook, LoopHook
from dartboard.engine.loop import Loop
from dartboard.engine.process import find_device, logged
from dartboard.errors import DartboardError, DataError, RunError, Stopped
from dartboard.jobs.job import Job, State
from dartboard.jobs.runner import KINDS, JobRunner
from dartboard.plugins import check_plugins
from dartboard.runs import SPACE, Run, RunReader, differences, is_run
from dartboard.search import Searcher
from dartboard.search import config as search_config
from dartboard.search.config import SEARCH, SOURCE, ImageCache, build
from dartboard.space import SearchSpace, adopt, decode, load_space, space_from_json
from dartboard.train import Trainer
from dartboard.train import config as train_config
from dartboard.train.config import TRAIN, train_options
from dartboard.utils import atomic, safe_files
from dartboard.utils.processes import using_threads

log = logging.getLogger(__name__)

IMAGES = "images"
"""Folder inside a client's, with a file for each set of images that says what they are."""


class Pause(LoopHook[Loop[Any, Any], Any, Any]):
    """Stops a search or a training after a number of epochs; its state is saved."""

    def __init__(self, epochs: int) -> None:
        self.epochs = epochs

    def on_epoch_end(self, loop: Loop[Any, Any], record: Any) -> None:  # noqa: ARG002
        if loop.epoch == self.epochs:
            loop.stop()


class LoopBuilder(ImageCache):
    """Builds searchers and trainers; images that several have in common are loaded once.

    Args:
        device: Where to compute.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self.device = device

    def build(
        self,
        kind: str,
        config: Mapping[str, Any],
        hooks: Sequence[AnyHook] = (),
        *,
        space: SearchSpace | None = None,
        test: bool = True,
        run: Path | None = None,
    ) -> Searcher | Trainer:
        """The loop of a search or a training, without a run.

        Args:
            kind: `search` or `train`.
            config: Its whole configuration, as plain values.
            hooks: Hooks of the loop.
            space: In the place of the space that `config` names, if given.
            test: Whether test images may be measured on.
            run: The run that is resumed, which has the weights that a training started from.

        Raises:
            DartboardError: If it cannot be built.
        """
        if kind == "search":
            parts = build(SEARCH.validate(config), space, images=self)
            return Searcher(*parts, device=self.device, hooks=hooks)
        training = TRAIN.validate(config)
        check_plugins(training.plugins)
        SCHEDULES[training.weights.schedule]  # fail fast on an unknown schedule
        space = adopt(space or load_space(training.space.name or ""), decode(training.cell))
        data = self.images(training.data)
        if not test:
            data = replace(data, test=None, known=data.moments)
        options, facts = train_options(training), train_config.facts(training)
        init = train_config.initial_weights(training, run)
        return Trainer(space, data, options, init=init, device=self.device, hooks=hooks, facts=facts)

    def build_job(self, job: Job, hooks: Sequence[AnyHook] = ()) -> Searcher | Trainer:
        """The loop of a job; a run that exists already says what its space is."""
        recorded = job.path / SPACE
        space, run = None, job.path if is_run(job.path) else None
        if run is not None and recorded.is_file():
            space = load_space(recorded, root=job.path)
        elif job.space:
            space = space_from_json(job.space)
        return self.build(loop_kind(job), job.config, hooks, space=space, test=job.test, run=run)


def loop_kind(job: Job) -> str:
    """`search` or `train`, whichever the run of a job is."""
    return str(job.config.get("kind", "search"))


@KINDS.register("search")
@KINDS.register("train")
class LoopKind:
    """Jobs that run a searcher or a trainer in a run directory."""

    @staticmethod
    def status(job: Job) -> State | None:
        """`finished` or `paused` if nothing is left to do, else None.

        Raises:
            RunError: If the run exists with other settings; names them.
        """
        if not is_run(job.path):
            return None
        run = RunReader.read(job.path)
        check_settings(job, run)
        if run.result() is not None:
            return "finished"
        return "paused" if job.until is not None and len(run.metrics()) >= job.until else None

    @staticmethod
    def run(job: Job, runner: JobRunner) -> State:
        """Runs the loop of a job from where it was, or from the start.

        Raises:
            RunError: If the run does not say which device and threads it used.
        """
        resumed, name, threads = is_run(job.path), job.device, job.threads
        if resumed:  # with those that it had, on which its bits depend
            last = RunReader.read(job.path).environment()[-1]
            old_name, old_threads = last.get("device"), last.get("threads")
            if not isinstance(old_name, str | None) or not isinstance(old_threads, int | None):
                fault = "environment.json does not say device and threads; it was changed"
                raise RunError(f"{job.path}: {fault}")
            name, threads = old_name or name, old_threads or threads
        device = find_device(name)
        hooks = runner.hooks
        if job.until is not None and job.until < job.config["epochs"]:
            hooks = (*hooks, Pause(job.until))
        with using_threads(threads):
            with Run.resume(job.path, device=str(device)) if resumed else nullcontext() as run:
                loop = runner.builder(device).build_job(job, hooks)
                if run is not None:
                    return _fit(job, runner, loop, run)  # its state says which images it saw
            if job.same_images:
                check_images(job, loop.data)
            with Run.create(
                job.path, job.config, space=loop.space, device=str(device), initial=loop.initial
            ) as run:
                return _fit(job, runner, loop, run)


def _fit(job: Job, runner: JobRunner, loop: Loop[Any, Any], run: Run) -> State:
    loop.run = run
    try:
        with runner.stoppable(loop.stop):
            loop.fit(fall_back=job.fall_back)
    except Stopped:
        if runner.stopping:
            return "stopped"
        if job.until is not None and loop.epoch >= job.until:
            return "paused"
        raise RunError(
            f"{job.path} stopped by itself after {loop.epoch} epochs; does one of its hooks stop it?"
        ) from None
    except Exception:
        with logged(run):
            log.exception("%s failed", job.name)
        raise
    return "finished"


def check_settings(job: Job, run: RunReader) -> None:
    """Refuses a run with other settings than the job's.

    Raises:
        RunError: Names them.
    """
    if run.config == job.config:
        return
    try:  # it may have been written when some settings did not exist; these have their defaults
        if loop_kind(job) == "search":
            before = search_config.resolved(search_config.recorded_config(run.config))
        else:
            training = TRAIN.validate(run.config)
            before = train_config.resolved(training, training.space.name or "", training.net.cells or 0)
    except (DartboardError, AttributeError) as error:  # the latter where there are no settings at all
        raise RunError(f"{run.path} is a run of something else: {error}") from None
    if changes := differences(before, job.config):
        raise RunError(
            f"{run.path} is a run with other settings: {changes}; move it away, or name another directory "
            "with --out"
        )


def check_images(job: Job, data: Dataset) -> None:
    """Refuses images that are not those which earlier jobs of the folder saw under the same name.

    A folder of pictures can change while jobs run, or before they are run again. The first job that uses some
    images records what they are.

    Raises:
        DataError: If others were loaded before.
    """
    source = {name: value for name, value in job.config["data"].items() if name in SOURCE}
    text = json.dumps({**source, "test": job.test}, sort_keys=True, default=str)
    path = Path(job.folder) / IMAGES / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.txt"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_first(path, data.fingerprint + "\n")
    recorded = safe_files.read_file(path, root=Path(job.folder))
    if recorded.strip() != data.fingerprint.encode():
        raise DataError(
            f"the images of {job.config['data']['name']} are not those that earlier runs of this sweep saw; "
            "name another directory with --out, or bring those back"
        )
