"""Relaxations that draw: one op an edge (GDAS), or a whole architecture (random search).

Which candidates run must be known on the host, so a draw waits for the device: once a forward pass, for all
archs together. Noise comes from a generator whose state is part of the relaxation's state.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random

import torch
from torch import Tensor, nn

from dartboard.errors import CompositionError, RelaxationError
from dartboard.nn.mixture import ArchMixture, Blend, Live, one_hot
from dartboard.relax.base import Relaxation, Strength
from dartboard.relax.categorical import Categorical, CellWeights, simplex
from dartboard.space.genotype import Genotype, sample
from dartboard.space.spec import SearchSpace

TRIES = 100
"""So many draws that are not finite are no accident."""


class Dice(nn.Module):
    """A generator whose state is saved and restored with the module it is in.

    Args:
        generator: Where chance comes from.
    """

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.generator = generator

    def gumbel(self, like: Tensor) -> Tensor:
        """Noise -log(-log U), of the shape, type and device of `like`."""
        device = self.generator.device
        drawn = torch.empty(like.shape, device=device).exponential_(generator=self.generator)
        return -drawn.log().to(like)

    def random(self) -> Random:
        """A generator for Python, seeded by the next draw."""
        device = self.generator.device
        return Random(int(torch.randint(2**63 - 1, (), generator=self.generator, device=device)))

    def get_extra_state(self) -> Tensor:
        return self.generator.get_state()

    def set_extra_state(self, state: Tensor) -> None:
        self.generator.set_state(state.cpu())


@contextmanager
def aside(module: nn.Module) -> Iterator[None]:
    """Inside, all dice of a module roll as they would outside; afterwards they are as if they had not."""
    before = [(own, own.generator.get_state()) for own in module.modules() if isinstance(own, Dice)]
    try:
        yield
    finally:
        for own, state in before:
            own.generator.set_state(state)


class Gumbel(Relaxation):
    """Runs one op an edge, drawn from a categorical relaxation's weights u (GDAS).

    With Gumbel noise g, the soft sample is s = softmax((log u + g) / temperature) and the op that runs is
    the k with the largest s: op i has probability u_i. The weight of the op that runs is one, exactly. Its
    gradient is straight-through: the network sees the one-hot vector, the parameters see s. As only op k is
    computed, only its weight has a gradient c = dL/dp . f_k, and what arrives in log u_j is
    c s_k (delta_jk - s_j) / temperature; nothing where `none` was drawn. On the simplex that is divided by
    u_j, which is large where u_j is small and the temperature above one: give the update a floor. Weights of
    edges, where there are any, stay soft.

    Args:
        inner: The categorical relaxation that is drawn from.
        generator: Where chance comes from; its state is saved with the relaxation.
        temperature: How soft the soft sample is; may be changed at any time.

    Raises:
        CompositionError: If the inner relaxation has no weights to draw from.
    """

    draws = True
    _no_examples = "only the op that was drawn is computed, so the others have no reward"

    def __init__(self, inner: Categorical, *, generator: torch.Generator, temperature: float = 10.0) -> None:
        if not isinstance(inner, Categorical):
            raise CompositionError(
                f"samples need weights that do not depend on the input, and {type(inner).__name__} has none; "
                "draw from a softmax or simplex relaxation"
            )
        super().__init__(inner.space)
        self.inner = inner
        self.dice = Dice(generator)
        self.temperature = temperature

    @property
    def temperature(self) -> float:
        """How soft the soft sample is: near 0 it is the hard one, large it is uniform."""
        return self._temperature

    @temperature.setter
    def temperature(self, value: float) -> None:
        if not value > 0:
            raise RelaxationError(f"a temperature is positive, not {value}")
        self._temperature = value

    def forward(self) -> ArchMixture:
        for _ in range(TRIES):
            soft = {arch: self._soft(cell) for arch, cell in self.inner.named_cells()}
            places = _strongest(soft)
            if places is not None:
                return ArchMixture(self.space, self._blends(soft, places))
        raise RelaxationError(
            f"no finite sample in {TRIES} draws at temperature {self.temperature}; "
            "the architecture parameters are not finite, or the temperature is too close to zero"
        )

    def _soft(self, cell: CellWeights) -> Tensor:
        logs = cell.log_op_weights()
        return ((logs + self.dice.gumbel(logs)) / self.temperature).softmax(-1)

    def _blends(self, soft: Mapping[str, Tensor], places: Mapping[str, list[int]]) -> dict[str, Blend]:
        return {
            arch: Blend(
                tuple((place,) for place in places[arch]), straight_through(soft[arch]), cell.edge_weights()
            )
            for arch, cell in self.inner.named_cells()
        }

    def strengths(self) -> Mapping[str, Strength]:
        return self.inner.strengths()

    def arch_parameters(self) -> list[nn.Parameter]:
        return self.inner.arch_parameters()

    def live(self, arch: str) -> Live:
        return self.inner.live(arch)

    def kill(self, arch: str, edge: int, place: int) -> None:
        self.inner.kill(arch, edge, place)

    def get_extra_state(self) -> Tensor:
        return torch.tensor(self.temperature, dtype=torch.float64)

    def set_extra_state(self, state: Tensor) -> None:
        self.temperature = float(state)


def straight_through(soft: Tensor) -> Tensor:
    """One where a row [..., N] is largest and zero elsewhere, exactly, with the gradient of `soft`."""
    hard = torch.zeros_like(soft).scatter(-1, soft.argmax(-1, keepdim=True), 1.0)
    return hard + (soft - soft.detach())


def _strongest(soft: Mapping[str, Tensor]) -> dict[str, list[int]] | None:
    """For each arch the place of every row's largest entry, or None if something is not finite."""
    finite = torch.stack([table.isfinite().all() for table in soft.values()]).all()
    places = [table.argmax(-1) for table in soft.values()]
    *flat, ok = torch.cat([*places, finite.long()[None]]).tolist()  # the one time the host waits
    rest = iter(flat)
    return {arch: [next(rest) for _ in table] for arch, table in soft.items()} if ok else None


class RandomArchitecture(Relaxation):
    """Runs one architecture of the space, each as likely as any other (random search with weight sharing).

    It has nothing to learn; the shared weights are trained on whatever is drawn. A contest keeps as many
    edges as it should, with weight one each.

    Args:
        space: The space that is drawn from.
        generator: Where chance comes from; its state is saved with the relaxation.
    """

    draws = True
    like: Tensor

    def __init__(self, space: SearchSpace, *, generator: torch.Generator) -> None:
        super().__init__(space)
        self.dice = Dice(generator)
        self.register_buffer("like", torch.empty(0), persistent=False)

    def draw(self) -> Genotype:
        """The next architecture."""
        return sample(self.space, self.dice.random())

    def forward(self) -> ArchMixture:
        return one_hot(self.space, self.draw(), like=self.like)

    def strengths(self) -> Mapping[str, Strength]:
        """Equal weights, whatever has been drawn."""
        return simplex(self.space).to(self.like).strengths()
