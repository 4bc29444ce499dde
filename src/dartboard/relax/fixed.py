"""The relaxation of a space with nothing left to choose."""

from collections.abc import Mapping

import torch

from dartboard.errors import CompositionError
from dartboard.nn.mixture import Mixture, uniform
from dartboard.relax.base import Relaxation, Strength
from dartboard.space.spec import SearchSpace


class Fixed(Relaxation):
    """One op an edge, with weight one; no parameters.

    Args:
        space: A space with nothing left to choose.

    Raises:
        CompositionError: If there is a choice left.
    """

    def __init__(self, space: SearchSpace) -> None:
        super().__init__(space)
        open_archs = [group for group, cell in space.groups if not cell.discrete]
        if open_archs:
            raise CompositionError(
                f"space {space.name!r} leaves something to choose in {open_archs[0]!r}; "
                "restrict it to a genotype"
            )
        self._mixture = uniform(space)

    def forward(self) -> Mixture:
        return self._mixture

    def strengths(self) -> Mapping[str, Strength]:
        return {
            group: Strength(torch.ones(len(cell.edges), 1), torch.ones(len(cell.edges)))
            for group, cell in self.space.groups
        }
