"""The searches and trainings of a protocol: their configurations, and the loops that do them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import torch

from dartboard.data import Dataset
from dartboard.engine.schedule import SCHEDULES
from dartboard.jobs.inner import Job
from dartboard.plugins import check_plugins
from dartboard.search import Searcher, make_method
from dartboard.search import config as search_config
from dartboard.search.config import build_space, load_images, search_options
from dartboard.search.hooks import AnyHook
from dartboard.search.settings import SEARCH
from dartboard.space import GENOTYPE_FORMATS, Genotype, SearchSpace, adopt, load_space, sample
from dartboard.sweep.protocol.config import ProtocolConfig
from dartboard.train import config as train_config
from dartboard.train.build import SHARE, VALID
from dartboard.train.config import TRAIN, TrainConfig, train_options
from dartboard.train.trainer import Trainer
from dartboard.utils.progress import Progress


@dataclass(frozen=True, eq=False)
class Material:
    """What the jobs of a protocol share.

    Args:
        space: What is searched.
        stack: Whose stack the cells go into.
        searched: The images of the searches.
        trained: Those of the trainings.
        chosen: The same without test images, to choose networks with.
    """

    space: SearchSpace
    stack: SearchSpace
    searched: Dataset
    trained: Dataset
    chosen: Dataset


def gather(
    config: ProtocolConfig,
    space: SearchSpace | None = None,
    stack: SearchSpace | None = None,
    progress: Progress | None = None,
) -> Material:
    """What a configuration names; images that are named twice are loaded once.

    Args:
        config: What is asked for.
        space: Searched in the place of the one that is named, if given.
        stack: Takes the cells in the place of the one that is named, if given.
        progress: Is told how far the loading of images is.

    Raises:
        DartboardError: If there is no such thing.
    """
    search, train = config.search, config.train
    check_plugins((*search.plugins, *train.plugins))
    for schedule in (search.weights.schedule, train.weights.schedule):
        SCHEDULES[schedule]  # a wrong name is better known before the first epoch
    space = space or build_space(search.space)
    if stack is None:
        stack = space if train.space.name is None else load_space(train.space.name)
    asked, other = ((own.data.name, own.data.loading(progress)) for own in (search, train))
    searched = load_images(*asked)
    trained = searched if other == asked else load_images(*other)
    return Material(space, stack, searched, trained, replace(trained, test=None, known=trained.moments))


@dataclass(frozen=True, eq=False)
class Jobs:
    """Makes the jobs of a protocol.

    Args:
        config: What is asked for.
        material: What it names.
        device: Where to compute.
    """

    config: ProtocolConfig
    material: Material
    device: torch.device

    def search(self, number: int) -> Job:
        """A search of stage 1, by its number from 0."""
        seed = self.config.search.seed + number
        config = SEARCH.validate(self.config.search.model_dump() | {"seed": seed})

        def make(hooks: Sequence[AnyHook]) -> Searcher:
            method = make_method(config.method.name, config.method.options)
            parts = self.material.space, method, self.material.searched, search_options(config)
            return Searcher(*parts, device=self.device, hooks=hooks)

        return Job(f"search/s{seed}", search_config.resolved(config), self.material.space, make)

    def choosing(self, name: str, genotype: Genotype) -> Job:
        """A training of stage 2: measured on images held out of the training images, never on test images.

        Its seed is none of stage 3, so that the luck by which a network is chosen is not counted again.
        """
        train, data = self.config.train, self.material.chosen
        values = train.model_dump()
        values["data"]["valid"] = train.data.valid or (SHARE if data.valid is None else None)
        values["evaluation"]["every"] = math.gcd(train.evaluation.every, self.config.short)
        seed = train.seed + self.config.seeds
        return self._training(f"train/{name}", _config(values, genotype, seed), genotype, data)

    def final(self, arm: str, genotype: Genotype, number: int) -> Job:
        """A training of stage 3, with the settings as they are, by its number from 0."""
        train = self.config.train
        seed = train.seed + number
        config = _config(train.model_dump(), genotype, seed)
        return self._training(f"final/{arm}-s{seed}", config, genotype, self.material.trained)

    def _training(self, name: str, config: TrainConfig, genotype: Genotype, data: Dataset) -> Job:
        space = adopt(self.material.stack, genotype)
        options, facts = train_options(config), train_config.facts(config)

        def make(hooks: Sequence[AnyHook]) -> Trainer:
            return Trainer(space, data, options, device=self.device, hooks=hooks, facts=facts)

        recorded = space if options.net.cells is None else space.resized(options.net.cells)
        home = config.space.name or self.config.search.space.name
        return Job(name, train_config.resolved(config, home, recorded.stack.cells), recorded, make)

    def rehearse(self) -> int:
        """Makes one job of each stage, to know what is wrong before the first one begins.

        Returns:
            How many images are held out to choose networks with.

        Raises:
            DartboardError: If one of them cannot be made.
        """
        genotype = sample(self.material.space, Random(0))
        for job in (self.search(self.config.searches - 1), self.final("any", genotype, 0)):
            job.make(())
        trainer = self.choosing("any", genotype).make(())
        assert isinstance(trainer, Trainer)  # noqa: S101
        return len(trainer.supply.held_out[VALID])


def _config(values: dict[str, Any], genotype: Genotype, seed: int) -> TrainConfig:
    return TRAIN.validate(values | {"cell": GENOTYPE_FORMATS["json"].encode(genotype), "seed": seed})
