"""What every relaxation is: parameters of its own, and a fresh mixture for each forward pass."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor, nn

from dartboard.errors import CompositionError, RelaxationError, UnknownNameError
from dartboard.nn.mixture import Live, Mixture, all_live
from dartboard.space.spec import SearchSpace

if TYPE_CHECKING:
    from dartboard.relax.per_example import PerExample


@dataclass(frozen=True)
class Strength:
    """What selectors and reports read of one arch: how strong its candidates and edges are.

    Args:
        ops: Weights of the candidates [E, N], rows on the simplex; zero where an edge has no such
            candidate, or has it no more.
        edges: Weights of the edges [E]; one where nothing weighs them.
    """

    ops: Tensor
    edges: Tensor


class Relaxation(nn.Module, ABC):
    """A continuous stand-in for the choices of a space.

    Calling it gives the mixture for ONE forward pass of the network. All its state is in `state_dict`.

    Args:
        space: The space whose choices it stands for.
    """

    draws = False
    """Whether mixtures depend on chance, so that two of them differ though nothing has been learnt."""

    def __init__(self, space: SearchSpace) -> None:
        super().__init__()
        self.space = space

    @abstractmethod
    def forward(self) -> Mixture:
        """A fresh mixture for one forward pass."""

    @abstractmethod
    def strengths(self) -> Mapping[str, Strength]:
        """The strength of every arch, detached and not changed by what comes later."""

    def arch_parameters(self) -> list[nn.Parameter]:
        """What the architecture optimizer gets."""
        return []

    def weight_parameters(self) -> list[nn.Parameter]:
        """What the weight optimizer gets besides the network's own."""
        return []

    def running_means(self) -> list[Tensor]:
        """Means over the examples of training batches, where ranks share these: each has its own part's."""
        return []

    def live(self, arch: str) -> Live:
        """The candidates of an arch that are alive."""
        self._check_arch(arch)
        return all_live(self.space.cells[arch])

    def keep(self, arch: str, edge: int, place: int) -> None:
        """Removes all candidates of an edge but one; see `kill`."""
        live = self.live(arch)[edge]
        if place not in live:
            raise RelaxationError(f"no candidate {place} on edge {edge} of {arch} to keep; there are {live}")
        for other in live:
            if other != place:
                self.kill(arch, edge, other)

    def kill(self, arch: str, edge: int, place: int) -> None:
        """Removes a candidate for good: no weight, never computed; the others share what it had.

        Args:
            arch: The arch.
            edge: The position of the edge in its cell.
            place: The place of the candidate in the edge's ops.

        Raises:
            CompositionError: If candidates of this relaxation cannot be removed.
            RelaxationError: If there is no such candidate, or it is the last of its edge.
            UnknownNameError: If there is no such arch.
        """
        raise CompositionError(
            f"{self._kind} draws whole architectures and cannot lose the candidate {place} of edge {edge} of "
            f"{arch}; leave the op out of the space, or use a softmax or simplex relaxation"
        )

    def per_example(self, batch: int) -> "PerExample":
        """A mixture that gives every example and every slot weights of its own, with equal values.

        Args:
            batch: How many examples the forward pass has.

        Raises:
            CompositionError: If the relaxation has no weights that could be told apart by example.
        """
        raise CompositionError(
            f"{self._kind} has no gradient of its own for each of {batch} examples: {self._no_examples}; "
            "use a softmax or simplex relaxation"
        )

    def _check_arch(self, arch: str) -> None:
        if arch not in self.space.cells:
            raise UnknownNameError("arch", arch, self.space.cells)

    _no_examples = "its weights are not parameters"

    @property
    def _kind(self) -> str:
        return type(self).__name__
