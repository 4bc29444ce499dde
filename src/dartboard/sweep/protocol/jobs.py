"""The jobs of a protocol: its searches, the trainings that select networks, and the final trainings."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import torch

from dartboard.engine.config import SCHEDULES
from dartboard.jobs.job import Job
from dartboard.jobs.loops import LoopBuilder
from dartboard.plugins import check_plugins
from dartboard.search import config as search_config
from dartboard.search.config import SEARCH, build_space, check_names
from dartboard.search.searcher import Forecast, Searcher
from dartboard.search.searcher import forecast as forecast_search
from dartboard.space import (
    GENOTYPE_FORMATS,
    Genotype,
    SearchSpace,
    adopt,
    load_space,
    sample,
    space_to_json,
)
from dartboard.sweep.plan import hold_out
from dartboard.sweep.protocol.config import ProtocolConfig
from dartboard.train import config as train_config
from dartboard.train.build import VALID
from dartboard.train.config import TRAIN, TrainConfig
from dartboard.train.trainer import Trainer
from dartboard.train.trainer import forecast as forecast_training
from dartboard.utils.progress import Progress


@dataclass(eq=False)
class ProtocolJobs:
    """Makes the jobs of a protocol.

    Args:
        config: The protocol.
        space: Searched in the place of the one that `config` names, if given.
        stack: Space whose stack the cells go into, in the place of the one that `config` names, if given.
        device: Where to compute.
        progress: Reports how far the loading of images is.
        folder: Directory of the protocol.
        fall_back: Whether an older checkpoint will do where the last is damaged.

    Raises:
        DartboardError: If there is no such space, schedule or plugin.
    """

    config: ProtocolConfig
    space: SearchSpace | None = None
    stack: SearchSpace | None = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    progress: Progress | None = None
    folder: Path = Path()
    fall_back: bool = False

    def __post_init__(self) -> None:
        search, train = self.config.search, self.config.train
        check_plugins((*search.plugins, *train.plugins))
        for schedule in (search.weights.schedule, train.weights.schedule):
            SCHEDULES[schedule]  # fail fast on an unknown schedule
        for data in (search.data, train.data):
            check_names(None, data.name)  # with the name as it was given: jobs have full paths
        self.searched_space = self.space or build_space(search.space)
        if self.stack is not None:
            self.stack_space = self.stack
        elif train.space.name is not None:
            self.stack_space = load_space(train.space.name)
        else:
            self.stack_space = self.searched_space
        self.builder = LoopBuilder(self.device)
        self.builder.progress = self.progress

    def search(self, number: int) -> Job:
        """A search of stage 1, by its number from 0."""
        seed = self.config.search.seed + number
        config = SEARCH.validate(self.config.search.model_dump() | {"seed": seed})
        values = search_config.resolved(config)
        return self._job(f"search/s{seed}", "search", values, config.plugins, self.searched_space)

    def screening(self, name: str, genotype: Genotype) -> Job:
        """A training of stage 2: measured on images held out of the training images, never on test images.

        Its seed is none of stage 3, so that the luck by which a network is selected is not counted again.
        """
        train = self.config.train
        values = hold_out(train.model_dump(), [self.config.short], has_valid=self._has_valid)
        seed = train.seed + self.config.seeds
        return self._training(f"train/{name}", values, genotype, seed, test=False)

    @cached_property
    def _has_valid(self) -> bool:
        """True if the data set of the trainings comes with validation images."""
        return self.builder.images(self.config.train.data).valid is not None

    def final(self, arm: str, genotype: Genotype, number: int) -> Job:
        """A training of stage 3, with the settings as they are, by its number from 0."""
        seed = self.config.train.seed + number
        return self._training(f"final/{arm}-s{seed}", self.config.train.model_dump(), genotype, seed)

    def _training(
        self, name: str, values: dict[str, Any], genotype: Genotype, seed: int, *, test: bool = True
    ) -> Job:
        cell = {"cell": GENOTYPE_FORMATS["json"].encode(genotype), "seed": seed}
        config: TrainConfig = TRAIN.validate(values | cell)
        home = config.space.name or self.config.search.space.name
        cells = config.net.cells or adopt(self.stack_space, genotype).stack.cells
        resolved = train_config.resolved(config, home, cells)
        return self._job(name, "train", resolved, config.plugins, self.stack_space, test=test)

    def _job(
        self,
        name: str,
        kind: str,
        config: dict[str, Any],
        plugins: tuple[str, ...],
        space: SearchSpace,
        *,
        test: bool = True,
    ) -> Job:
        return Job(
            name,
            str(self.folder.resolve()),
            kind,
            config,
            device=str(self.device),
            plugins=plugins,
            test=test,
            fall_back=self.fall_back,
            space=space_to_json(space),
        )

    def rehearse(self) -> int:
        """Builds one job of each stage, so that what is wrong is known before the first one runs.

        Returns:
            Number of images that are held out to select networks with.

        Raises:
            DartboardError: If one of them cannot be built.
        """
        genotype = sample(self.searched_space, Random(0))
        for job in (self.search(self.config.searches - 1), self.final("any", genotype, 0)):
            self.builder.build_job(job)
        trainer = self.builder.build_job(self.screening("any", genotype))
        assert isinstance(trainer, Trainer)  # noqa: S101
        return len(trainer.loaders.held_out[VALID])


def forecast(jobs: ProtocolJobs) -> Forecast:
    """Time and memory of a protocol, from a few steps of a search and of a training.

    Every search is taken to find another network.
    """
    genotype = sample(jobs.searched_space, Random(0))
    searcher = jobs.builder.build_job(jobs.search(0))
    trainer = jobs.builder.build_job(jobs.final("any", genotype, 0))
    assert isinstance(searcher, Searcher)  # noqa: S101
    assert isinstance(trainer, Trainer)  # noqa: S101
    search, train = forecast_search(searcher), forecast_training(trainer)
    seconds = total_seconds(jobs.config, search.seconds, train.seconds)
    return Forecast(seconds, train.step_seconds, max(search.memory_bytes, train.memory_bytes))


def total_seconds(config: ProtocolConfig, search: float, train: float) -> float:
    """Upper bound of the duration of all stages, from the seconds of one search and of one training."""
    short = min(config.short / config.train.epochs, 1.0)
    survivors = min(config.keep, config.searches)
    arm = (config.searches * short + survivors * (1 - short) + config.seeds) * train
    searching = config.searches * search
    random = {"none": 0.0, "count": arm, "time": arm + searching}
    return searching + arm + random[config.random]
