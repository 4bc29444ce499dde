"""Selectors: from a trained supernet to a genotype."""

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Protocol, cast

from dartboard.arch.objective import Batch, Objective
from dartboard.errors import CompositionError, OptionError
from dartboard.nn.mixture import Blend, Mixture, one_hot_blend
from dartboard.relax.base import Strength
from dartboard.search.health import accuracy, discrete_accuracy
from dartboard.space.genotype import Genotype, decided, draw_connected, mutate, sample
from dartboard.space.graph import is_connected
from dartboard.space.spec import NONE, Cell, SearchSpace

if TYPE_CHECKING:
    from dartboard.relax.attention import Attention

Batches = Callable[[], Iterable[Batch]]
"""The held-out images, as often as one asks."""


class Selector(Protocol):
    """Takes all decisions of a space."""

    def __call__(self, objective: Objective, valid: Batches, rng: Random) -> Genotype:
        """The genotype.

        Args:
            objective: The trained network under its relaxation; nothing of it is changed.
            valid: Held-out images.
            rng: Source of random draws.
        """
        ...


@dataclass(frozen=True)
class FromStrengths:
    """Keeps what is strongest (DARTS' rule).

    An edge keeps its strongest op. A contest keeps the edges whose strongest op other than `none`, times the
    edge's own weight where it has one, is largest. Among equals the first wins. Where nothing would lead from
    the inputs to the output, the edges of one path keep their strongest op other than `none`: of the path
    that costs the smallest factor in the product of all strengths.
    """

    def __call__(self, objective: Objective, valid: Batches, rng: Random) -> Genotype:  # noqa: ARG002
        return strongest(objective.net.space, objective.relaxation.strengths())


def strongest(space: SearchSpace, strengths: Mapping[str, Strength]) -> Genotype:
    """The genotype that keeps what is strongest; see `FromStrengths`."""
    return Genotype(tuple((group, strongest_cell(cell, strengths[group])) for group, cell in space.groups))


def strongest_cell(cell: Cell, strength: Strength) -> Cell:
    """The cell with its strongest edges and ops alone."""
    ops, edges = strength.ops.tolist(), strength.edges.tolist()
    chosen = {index for index in range(len(cell.edges)) if cell.contest_of(index) is None}
    best = {index: _best(cell, index, ops[index], none=True) for index in chosen}
    for contest in cell.contests:
        able = [index for index in contest.edges if cell.edges[index].ops != (NONE,)]
        place = {index: _best(cell, index, ops[index], none=False) for index in able}
        score = {index: edges[index] * ops[index][place[index]] for index in able}
        ranked = sorted(able, key=score.__getitem__, reverse=True)
        best |= {index: place[index] for index in ranked[: contest.keep]}
    if not is_connected(_decide(cell, best)):
        best |= _strongest_path(cell, best, ops)
    return _decide(cell, best)


def _decide(cell: Cell, best: Mapping[int, int]) -> Cell:
    """The cell with the ops at these places of its edges."""
    return decided(cell, tuple((index, cell.edges[index].ops[best[index]]) for index in sorted(best)))


def _strongest_path(cell: Cell, best: Mapping[int, int], ops: Sequence[Sequence[float]]) -> dict[int, int]:
    """Places of the ops on the path from an input to the output that costs least strength; none if no path.

    The cost of an edge is the logarithm of the factor by which its op is weaker than the one that is best.
    """
    paths: dict[int, tuple[float, dict[int, int]]] = {node: (0.0, {}) for node in range(cell.inputs)}
    for index in sorted(best, key=lambda index: (cell.edges[index].source, cell.edges[index].target)):
        edge = cell.edges[index]
        if edge.source not in paths or edge.ops == (NONE,):
            continue
        place = _best(cell, index, ops[index], none=False)
        weakest = sys.float_info.min
        ratio = max(ops[index][best[index]], weakest) / max(ops[index][place], weakest)
        cost, places = paths[edge.source]
        path = cost + math.log(ratio), places | {index: place}
        paths[edge.target] = min(paths.get(edge.target, path), path, key=lambda found: found[0])
    return min((paths[node] for node in cell.output if node in paths), default=(0.0, {}), key=lambda p: p[0])[
        1
    ]


def _best(cell: Cell, edge: int, strengths: Sequence[float], *, none: bool) -> int:
    """The place of the strongest op of an edge, with or without `none` among them."""
    places = [place for place, op in enumerate(cell.edges[edge].ops) if none or op != NONE]
    return max(places, key=lambda place: strengths[place])


@dataclass(frozen=True)
class CellByCell:
    """Decides cell by cell, front to back, each seen behind the ones decided before (asm-nas Algorithm 1).

    For each cell one pass over the held-out images: the mean attention over all of them decides. Cells that
    share their decisions are decided together, when the first of them is reached.
    """

    def __call__(self, objective: Objective, valid: Batches, rng: Random) -> Genotype:  # noqa: ARG002
        relaxation, space = objective.relaxation, objective.net.space
        if not relaxation.has_attention:
            raise CompositionError(f"cell by cell needs attention, not {type(relaxation).__name__}")
        attention = cast("Attention", relaxation)
        chosen: dict[str, Cell] = {}
        for group in dict.fromkeys(slot.group for slot in space.slots if slot.group):
            before = {name: buffer.clone() for name, buffer in attention.named_buffers()}
            with attention.collecting():
                accuracy(objective, lambda: PartlyDecided(objective, chosen), valid())
            strengths = attention.strengths()
            for name, buffer in attention.named_buffers():
                buffer.copy_(before[name])
            chosen[group] = strongest_cell(space.cells[group], strengths[group])
        return Genotype(tuple((group, chosen[group]) for group, _ in space.groups))


class PartlyDecided:
    """A fresh mixture of an objective's relaxation in which the groups of `chosen` are discrete cells."""

    def __init__(self, objective: Objective, chosen: Mapping[str, Cell]) -> None:
        space, like = objective.net.space, objective.net_weights[0]
        self._groups = [slot.group for slot in space.slots]
        self._mixture: Mixture = objective.relaxation()
        self._blends = {
            group: one_hot_blend(space.cells[group], cell, like) for group, cell in chosen.items()
        }

    def blend(self, slot: int) -> Blend:
        return self._blends.get(self._groups[slot]) or self._mixture.blend(slot)


@dataclass(frozen=True)
class BestOfSamples:
    """Draws architectures and keeps the one that does best with the shared weights (random search).

    Args:
        samples: How many are drawn.
    """

    samples: int = 100

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise OptionError(f"the best of samples needs at least 1 sample, got {self.samples}")

    def __call__(self, objective: Objective, valid: Batches, rng: Random) -> Genotype:
        space = objective.net.space
        drawn = [draw_connected(lambda: sample(space, rng)) for _ in range(self.samples)]
        scores = [discrete_accuracy(objective, genotype, valid()) for genotype in drawn]
        return max(zip(scores, drawn, strict=True), key=lambda pair: pair[0])[1]


@dataclass(frozen=True)
class DrawOne:
    """An architecture drawn uniformly from those that lead somewhere: the baseline of every method."""

    def __call__(self, objective: Objective, valid: Batches, rng: Random) -> Genotype:  # noqa: ARG002
        return draw_connected(lambda: sample(objective.net.space, rng))


Score = Callable[[Genotype], float]
"""How good an architecture is; more is better."""


@dataclass(frozen=True)
class Evolve:
    """Regularized evolution (Real et al. 2019): the best of a few has a child, the oldest leaves.

    Args:
        score: How good an architecture is: a benchmark's validation accuracy.
        population: How many live at a time.
        tournament: Of how many the best has a child.
        cycles: How many architectures are scored in all, the first population included.
    """

    score: Score
    population: int = 50
    tournament: int = 10
    cycles: int = 300

    def __post_init__(self) -> None:
        if not 1 <= self.tournament <= self.population <= self.cycles:
            raise CompositionError(
                "evolution needs 1 <= tournament <= population <= cycles, not "
                f"{self.tournament}, {self.population} and {self.cycles}"
            )

    def __call__(self, objective: Objective, valid: Batches, rng: Random) -> Genotype:  # noqa: ARG002
        return self.history(objective.net.space, rng)[-1][1]

    def history(self, space: SearchSpace, rng: Random) -> list[tuple[float, Genotype]]:
        """The best so far after each architecture that was scored, with its score."""
        living: list[tuple[float, Genotype]] = []
        best: list[tuple[float, Genotype]] = []
        for born in range(self.cycles):
            if born < self.population:
                child = draw_connected(lambda: sample(space, rng))
            else:
                rivals = rng.sample(living, self.tournament)
                parent = max(rivals, key=lambda scored: scored[0])[1]
                child = draw_connected(partial(mutate, space, parent, rng))
            living = [*living, (self.score(child), child)][-self.population :]
            best.append(max([*best[-1:], living[-1]], key=lambda scored: scored[0]))
        return best
