"""Base class of the relaxations, with the mixtures and random numbers they share, and the fixed one."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random

import torch
from torch import Tensor, nn

from dartboard.errors import CompositionError, RelaxationError, UnknownNameError
from dartboard.nn.mixture import Blend, Live, Mixture, SlotMixture, all_live, uniform
from dartboard.space.spec import SearchSpace


@dataclass(frozen=True)
class Strength:
    """The weights of one group, as selectors and reports read them.

    Args:
        ops: Weights of the candidates [E, N], rows on the simplex; zero where an edge has no such
            candidate, or it has been removed.
        edges: Weights of the edges [E]; one for edges without a weight.
    """

    ops: Tensor
    edges: Tensor


@dataclass(frozen=True)
class Feedback:
    """The gradient of a loss in the weights of one group, for every slot that reads it and every example.

    Args:
        ops: In the weights of the candidates [S, B, E, N]; zero for those that took no part.
        edges: In the weights of the edges [S, B, E]; None where edges have none.
    """

    ops: Tensor
    edges: Tensor | None


class PerExample(SlotMixture):
    """A mixture with weights for every example and every slot (rewards per feedback, xnas 3.1).

    The weights [B, E, N] of each slot are leaves, equal in value and not connected with the relaxation's
    parameters. In evaluation mode an example's gradient is that of its own loss. In training mode
    batch-norms couple the examples, as they do in the paper's setting: then an example's gradient is that of
    the loss of the batch in the example's weights, and only the sum over examples is the batch's.

    Made from the blend of each group, which has no batch axis, for `batch` examples.
    """

    def __init__(self, space: SearchSpace, blends: Mapping[str, Blend], batch: int) -> None:
        if batch < 1:
            raise RelaxationError(f"a batch has at least one example, not {batch}")

        def expand(weights: Tensor | None) -> Tensor | None:
            if weights is None:
                return None
            return weights.detach().expand(batch, *weights.shape).clone().requires_grad_()

        self._slots: dict[str, list[int]] = {}
        by_slot = {}
        for group, blend in blends.items():
            self._slots[group] = [index for index, slot in enumerate(space.slots) if slot.group == group]
            for slot in self._slots[group]:
                by_slot[slot] = replace(blend, ops=expand(blend.ops), edges=expand(blend.edges))
        super().__init__(by_slot)

    def leaves(self) -> list[Tensor]:
        """All leaves: of each slot in order the weights of the candidates, then those of the edges if any."""
        blends = [self._blends[slot] for slot in sorted(self._blends)]
        return [leaf for blend in blends for leaf in (blend.ops, blend.edges) if leaf is not None]

    def gather(self, grads: Sequence[Tensor]) -> Mapping[str, Feedback]:
        """The gradients of all `leaves`, by group."""
        by_leaf = {id(leaf): grad for leaf, grad in zip(self.leaves(), grads, strict=True)}
        feedback = {}
        for group, slots in self._slots.items():
            blends = [self._blends[slot] for slot in slots]
            ops = torch.stack([by_leaf[id(blend.ops)] for blend in blends])
            edges = [by_leaf[id(blend.edges)] for blend in blends if blend.edges is not None]
            feedback[group] = Feedback(ops, torch.stack(edges) if edges else None)
        return feedback


class Relaxation(nn.Module, ABC):
    """A continuous relaxation of the choices of a space.

    Calling it gives the mixture for ONE forward pass of the network. All its state is in `state_dict`.
    What a relaxation can do is in its attributes, so that a composition asks for a capability and not for
    a class.
    """

    stochastic = False
    """Whether mixtures are sampled, so that two of them differ though no parameter has changed."""
    on_simplex = False
    """Whether the architecture parameters are themselves weights on the simplex."""
    has_edge_weights = False
    """Whether edges that compete have weights besides those of their candidates."""
    has_examples = False
    """Whether `per_example` gives a mixture."""
    has_temperature = False
    """Whether there is a `temperature` that can be set."""
    has_exploration = False
    """Whether there is an `exploration` that can be set."""
    has_attention = False
    """Whether weights depend on the outputs of the candidates, averaged by `collecting`."""
    _no_examples = "its weights are not parameters"

    def __init__(self, space: SearchSpace) -> None:
        super().__init__()
        self.space = space

    @abstractmethod
    def forward(self) -> Mixture:
        """A fresh mixture for one forward pass."""

    @abstractmethod
    def strengths(self) -> Mapping[str, Strength]:
        """The strength of every group, detached; later steps do not change it."""

    def arch_parameters(self) -> list[nn.Parameter]:
        """Parameters for the architecture optimizer."""
        return []

    def weight_parameters(self) -> list[nn.Parameter]:
        """Parameters for the weight optimizer, besides the network's."""
        return []

    def running_means(self) -> list[Tensor]:
        """Buffers that average over training batches; ranks average them, each having its part of a batch."""
        return []

    def live(self, group: str) -> Live:
        """The candidates of a group that have not been removed."""
        self._check_group(group)
        return all_live(self.space.cells[group])

    def kill(self, group: str, edge: int, place: int) -> None:
        """Removes a candidate for good: it is never computed, and its weight goes to the others.

        Args:
            group: The group.
            edge: The position of the edge in its cell.
            place: The position of the candidate in the edge's ops.

        Raises:
            CompositionError: If candidates of this relaxation cannot be removed.
            RelaxationError: If there is no such candidate, or it is the last of its edge.
            UnknownNameError: If there is no such group.
        """
        raise CompositionError(
            f"{type(self).__name__} samples architectures and cannot lose the candidate {place} of edge "
            f"{edge} of {group}; leave the op out of the space, or use a softmax or simplex relaxation"
        )

    def per_example(self, batch: int) -> PerExample:
        """A mixture that gives every example and every slot weights of its own, with equal values.

        Args:
            batch: How many examples the forward pass has.

        Raises:
            CompositionError: If the relaxation has no weights that could differ by example.
        """
        raise CompositionError(
            f"{type(self).__name__} has no gradient of its own for each of {batch} examples: "
            f"{self._no_examples}; use a softmax or simplex relaxation"
        )

    def _check_group(self, group: str) -> None:
        if group not in self.space.cells:
            raise UnknownNameError("decision group", group, self.space.cells)


class Fixed(Relaxation):
    """One op per edge, with weight one; no parameters.

    Args:
        space: A space with nothing left to choose.

    Raises:
        CompositionError: If there is a choice left.
    """

    def __init__(self, space: SearchSpace) -> None:
        super().__init__(space)
        undecided = [group for group, cell in space.groups if not cell.discrete]
        if undecided:
            raise CompositionError(
                f"space {space.name!r} leaves something to choose in {undecided[0]!r}; "
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


class RngState(nn.Module):
    """A generator whose state is in the `state_dict` of the module that holds it."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.generator = generator

    def gumbel(self, like: Tensor) -> Tensor:
        """Gumbel noise -log(-log U), of the shape, type and device of `like`."""
        device = self.generator.device
        exponential = torch.empty(like.shape, device=device).exponential_(generator=self.generator)
        return -exponential.log().to(like)

    def random(self) -> Random:
        """A generator for Python, seeded by the next draw."""
        device = self.generator.device
        return Random(int(torch.randint(2**63 - 1, (), generator=self.generator, device=device)))

    def get_extra_state(self) -> Tensor:
        return self.generator.get_state()

    def set_extra_state(self, state: Tensor) -> None:
        self.generator.set_state(state.cpu())


@contextmanager
def fork_rng(module: nn.Module) -> Iterator[None]:
    """Inside, every `RngState` of a module draws as usual; afterwards its state is what it was before."""
    rngs = [child for child in module.modules() if isinstance(child, RngState)]
    states = [rng.generator.get_state() for rng in rngs]
    try:
        yield
    finally:
        for rng, state in zip(rngs, states, strict=True):
            rng.generator.set_state(state)
