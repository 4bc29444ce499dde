"""Relaxations that sample one op per edge for every forward pass: by Gumbel noise (GDAS), or uniformly.

Which candidates run must be known on the host, so a sample waits for the device: once a forward pass, for all
groups together.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from dartboard.errors import CompositionError, RelaxationError
from dartboard.nn.mixture import ArchMixture, Blend, Live, one_hot
from dartboard.relax.base import Relaxation, RngState, Strength
from dartboard.relax.categorical import Categorical, CellWeights, simplex
from dartboard.space.genotype import Genotype, sample
from dartboard.space.spec import SearchSpace

TRIES = 100
"""How often a sample that is not finite is drawn again before it is an error."""


class Gumbel(Relaxation):
    """Runs one op per edge, sampled from the weights u of a categorical relaxation (GDAS).

    With Gumbel noise g, the soft sample is s = softmax((log u + g) / temperature) and the op that runs is
    the k with the largest s: op i has probability u_i. The weight of the op that runs is one, exactly. Its
    gradient is straight-through: the network sees the one-hot vector, the parameters see s. As only op k is
    computed, only its weight has a gradient c = dL/dp . f_k, and what arrives in log u_j is
    c s_k (delta_jk - s_j) / temperature; nothing where `none` was sampled. On the simplex that is divided by
    u_j, which is large where u_j is small and the temperature above one: give the update a floor, or explore.
    Weights of edges, where there are any, stay soft.

    With exploration e, samples come from q = (1 - e) u + e / N in the place of u, as in EXP3 (Auer et al.
    2002): an op is never sampled less often than e / N, so that none starves for want of feedback, and what
    arrives in u_j is divided by q_j >= e / N.

    Args:
        inner: The categorical relaxation that is sampled from.
        generator: Random number generator; its state is saved with the relaxation.
        temperature: How soft the soft sample is; may be changed at any time.

    Attributes:
        exploration: The weight e of equal chances in what is sampled from; may be changed at any time.

    Raises:
        CompositionError: If the inner relaxation has no weights to sample from.
    """

    stochastic = True
    has_temperature = True
    has_exploration = True
    _no_examples = "only the op that was sampled is computed, so the others have no reward"

    def __init__(self, inner: Categorical, *, generator: torch.Generator, temperature: float = 10.0) -> None:
        if not isinstance(inner, Categorical):
            raise CompositionError(
                f"samples need weights that do not depend on the input, and {type(inner).__name__} has none; "
                "draw from a softmax or simplex relaxation"
            )
        super().__init__(inner.space)
        self.inner = inner
        self.on_simplex, self.has_edge_weights = inner.on_simplex, inner.has_edge_weights
        self.dice = RngState(generator)  # the attribute's name is a key of checkpoints
        self.temperature = temperature
        self.exploration = 0.0

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
        cells = dict(self.inner.named_cells())
        for _ in range(TRIES):
            soft = {}
            for group, cell in cells.items():
                logs = self._log_chances(cell)
                soft[group] = ((logs + self.dice.gumbel(logs)) / self.temperature).softmax(-1)
            finite = torch.stack([table.isfinite().all() for table in soft.values()]).all()
            strongest = [table.argmax(-1) for table in soft.values()]
            *places, ok = torch.cat([*strongest, finite.long()[None]]).tolist()  # the one time the host waits
            if not ok:
                continue
            rest, blends = iter(places), {}
            for group, cell in cells.items():
                live = tuple((next(rest),) for _ in soft[group])
                blends[group] = Blend(live, straight_through(soft[group]), cell.edge_weights())
            return ArchMixture(self.space, blends)
        raise RelaxationError(
            f"no finite sample in {TRIES} draws at temperature {self.temperature}; "
            "the architecture parameters are not finite, or the temperature is too close to zero"
        )

    def _log_chances(self, cell: CellWeights) -> Tensor:
        """The logarithm of the probability of each candidate [E, N]."""
        mask, form = cell.candidates.mask, cell.parametrization
        if not self.exploration:
            return form.log_weights(cell.ops, mask)
        equal = mask.to(cell.ops) / mask.sum(-1, keepdim=True)
        chances = (1 - self.exploration) * form.weights(cell.ops, mask) + self.exploration * equal
        return torch.where(mask, chances, 1.0).log().masked_fill(~mask, -torch.inf)

    def strengths(self) -> Mapping[str, Strength]:
        return self.inner.strengths()

    def arch_parameters(self) -> list[nn.Parameter]:
        return self.inner.arch_parameters()

    def live(self, group: str) -> Live:
        return self.inner.live(group)

    def kill(self, group: str, edge: int, place: int) -> None:
        self.inner.kill(group, edge, place)

    def get_extra_state(self) -> Tensor:
        """The temperature and, if there is any, the exploration; a number alone in runs of before."""
        values = [self.temperature, self.exploration] if self.exploration else self.temperature
        return torch.tensor(values, dtype=torch.float64)

    def set_extra_state(self, state: Tensor) -> None:
        self.temperature, *exploration = state.flatten().tolist()
        self.exploration = exploration[0] if exploration else 0.0


def straight_through(soft: Tensor) -> Tensor:
    """One where a row [..., N] is largest and zero elsewhere, exactly, with the gradient of `soft`."""
    hard = torch.zeros_like(soft).scatter(-1, soft.argmax(-1, keepdim=True), 1.0)
    return hard + (soft - soft.detach())


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
