"""From the configuration of a run, as plain values, to the loop that does it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from dartboard.engine.schedule import SCHEDULES
from dartboard.plugins import check_plugins
from dartboard.search import Searcher
from dartboard.search import config as search_config
from dartboard.search.config import KeptImages, build
from dartboard.search.hooks import AnyHook
from dartboard.search.settings import SEARCH
from dartboard.space import SearchSpace, adopt, decode, load_space
from dartboard.train import Trainer
from dartboard.train import config as train_config
from dartboard.train.config import TRAIN, train_options

Values = Mapping[str, Any]
"""A configuration as plain values."""


def filled(kind: str, config: Values) -> dict[str, Any]:
    """A configuration that was written earlier, with defaults for settings that were not there then.

    Raises:
        DartboardError: If it is none of this kind.
    """
    if kind == "search":
        return search_config.resolved(SEARCH.validate(config))
    training = TRAIN.validate(config)
    space, cells = training.space.name, training.net.cells
    return train_config.resolved(training, space or "", cells or 0)


class Maker(KeptImages):
    """Makes loops; images that several have in common are loaded once.

    Args:
        device: Where to compute.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self.device = device

    def make(
        self,
        kind: str,
        config: Values,
        hooks: Sequence[AnyHook] = (),
        *,
        space: SearchSpace | None = None,
        test: bool = True,
    ) -> Searcher | Trainer:
        """The loop of a search or a training, without a run.

        Args:
            kind: `search` or `train`.
            config: All that it does.
            hooks: What else to do, and when.
            space: Taken in the place of the one that is named, if given.
            test: Whether test images may be measured on.

        Raises:
            DartboardError: If it cannot be made.
        """
        if kind == "search":
            return self._search(config, hooks, space)
        return self._training(config, hooks, space, test)

    def _search(self, values: Values, hooks: Sequence[AnyHook], space: SearchSpace | None) -> Searcher:
        config = SEARCH.validate(values)
        return Searcher(*build(config, space, images=self), device=self.device, hooks=hooks)

    def _training(
        self, values: Values, hooks: Sequence[AnyHook], space: SearchSpace | None, test: bool
    ) -> Trainer:
        config = TRAIN.validate(values)
        check_plugins(config.plugins)
        SCHEDULES[config.weights.schedule]  # a wrong name is better known before the first epoch
        space = adopt(space or load_space(config.space.name or ""), decode(config.cell))
        data = self.images(config.data)
        if not test:
            data = replace(data, test=None, known=data.moments)
        options, facts = train_options(config), train_config.facts(config)
        return Trainer(space, data, options, device=self.device, hooks=hooks, facts=facts)
