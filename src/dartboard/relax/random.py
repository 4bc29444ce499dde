"""Random search with weight sharing: a uniformly sampled architecture for every forward pass."""

from collections.abc import Mapping

import torch
from torch import Tensor

from dartboard.nn.mixture import ArchMixture, one_hot
from dartboard.relax.base import Relaxation, RngState, Strength
from dartboard.relax.categorical import simplex
from dartboard.space.genotype import Genotype, sample
from dartboard.space.spec import SearchSpace


class RandomArchitecture(Relaxation):
    """Runs one architecture of the space, each as likely as any other (random search with weight sharing).

    There are no parameters; the shared weights are trained on the sampled architectures. A contest keeps as
    many edges as it should, with weight one each.

    Args:
        space: The space that is sampled from.
        generator: Random number generator; its state is saved with the relaxation.
    """

    stochastic = True
    like: Tensor

    def __init__(self, space: SearchSpace, *, generator: torch.Generator) -> None:
        super().__init__(space)
        self.dice = RngState(generator)  # the attribute's name is a key of checkpoints
        self.register_buffer("like", torch.empty(0), persistent=False)

    def draw(self) -> Genotype:
        """The next architecture."""
        return sample(self.space, self.dice.random())

    def forward(self) -> ArchMixture:
        return one_hot(self.space, self.draw(), like=self.like)

    def strengths(self) -> Mapping[str, Strength]:
        """Equal weights, whatever has been sampled."""
        return simplex(self.space).to(self.like).strengths()
