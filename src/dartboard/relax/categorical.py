"""Categorical relaxations: every edge has weights on a simplex over its candidates.

`softmax` holds logits (DARTS), `simplex` the weights themselves (GAEA, XNAS). Both can weigh edges too: those
of a contest that asks for it (NAS-Bench-1Shot1), or all that enter a node (PC-DARTS).
Nothing in a forward pass waits for the device.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import cast

import torch
from torch import Tensor, nn

from dartboard.errors import CompositionError, RelaxationError
from dartboard.nn.mixture import ArchMixture, Blend, Live, all_live
from dartboard.relax.base import PerExample, Relaxation, Strength
from dartboard.space.spec import Cell, SearchSpace

INITIAL_STD = 1e-3
"""Standard deviation of random logits at the start (DARTS)."""

Initialize = Callable[[Tensor], Tensor]
"""From the mask of a table to its initial values."""


class Logits:
    """Parameters [R, N] whose softmax is the weights, a simplex a row.

    A mask of the same shape says which entries take part. The others have weight zero and get no gradient; a
    row with one entry left has weight one there.
    """

    def initial(self, mask: Tensor) -> Tensor:
        """Values for equal weights."""
        return torch.zeros(mask.shape, device=mask.device)

    def weights(self, values: Tensor, mask: Tensor) -> Tensor:
        """The weights, rows on the simplex."""
        return values.masked_fill(~mask, -torch.inf).softmax(-1)

    def log_weights(self, values: Tensor, mask: Tensor) -> Tensor:
        """The logarithm of the weights, -inf where there is none."""
        return values.masked_fill(~mask, -torch.inf).log_softmax(-1)

    def renormalize(self, values: Tensor, mask: Tensor) -> Tensor:
        """The values after entries have left the mask."""
        return values.masked_fill(~mask, 0.0)


class Simplex:
    """Parameters that are the weights themselves; the update rule keeps the rows on the simplex (gaea 3.2).

    Same methods and masks as `Logits`.
    """

    def initial(self, mask: Tensor) -> Tensor:
        return mask / mask.sum(-1, keepdim=True)

    def weights(self, values: Tensor, mask: Tensor) -> Tensor:
        undecided = mask & (mask.sum(-1, keepdim=True) > 1)
        return torch.where(undecided, values, mask.to(values.dtype))

    def log_weights(self, values: Tensor, mask: Tensor) -> Tensor:
        weights = self.weights(values, mask)
        tiny = torch.finfo(weights.dtype).tiny  # a weight that has become zero has no gradient, not NaN
        return weights.clamp_min(tiny).log().masked_fill(~mask, -torch.inf)

    def renormalize(self, values: Tensor, mask: Tensor) -> Tensor:
        """The entries in the mask keep their proportions; equal weights where all of them are zero."""
        masked = values.masked_fill(~mask, 0.0)
        total = masked.sum(-1, keepdim=True)
        return torch.where(total > 0, masked / total, self.initial(mask).to(values.dtype))


Parametrization = Logits | Simplex
"""How a table of parameters stands for weights."""


class Candidates(nn.Module):
    """The candidates of one cell that are alive, as a mask for tensors and as a tuple for the network.

    The mask is a buffer and so part of every checkpoint; `live` says the same without asking the device. All
    candidates are alive at first.
    """

    mask: Tensor
    """Which candidates are alive [E, N], N being the most an edge has."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell = cell
        self.live: Live = all_live(cell)
        rows = [[place < len(edge.ops) for place in range(cell.shape[1])] for edge in cell.edges]
        self.register_buffer("mask", torch.tensor(rows))
        self.register_load_state_dict_post_hook(Candidates._read_mask)  # type: ignore[no-untyped-call]

    def kill(self, edge: int, place: int) -> None:
        """Removes one candidate; see `Relaxation.kill`."""
        if not 0 <= edge < len(self.live):
            edges = f"those of edges 0 to {len(self.live) - 1}"
            raise RelaxationError(f"no candidate {place} on edge {edge}; there are {edges}")
        if place not in self.live[edge]:
            alive = ", ".join(map(str, self.live[edge]))
            raise RelaxationError(f"no candidate {place} on edge {edge}; there are {alive}")
        if len(self.live[edge]) == 1:
            raise RelaxationError(f"candidate {place} is the last of edge {edge}; an edge keeps at least one")
        self.mask[edge, place] = False
        self._read_mask()

    def _read_mask(self, _incompatible_keys: object = None) -> None:
        rows = self.mask.tolist()
        self.live = tuple(tuple(place for place, alive in enumerate(row) if alive) for row in rows)


def edge_groups(cell: Cell, *, every_node: bool) -> list[tuple[int, ...]]:
    """The edges whose weights sum to one, by position.

    The edges of a weighted contest always do. With `every_node` those of every other contest do too, and
    the edges in no contest that enter the same node, except plain connections into joins. A group of one is
    left out: its weight could only be one.
    """
    groups = [contest.edges for contest in cell.contests if contest.weighted or every_node]
    if every_node:
        for node in cell.inner:
            free = tuple(edge for edge in cell.entering(node) if cell.contest_of(edge) is None)
            groups += [] if node in cell.joins else [free]
    return [group for group in groups if len(group) > 1]


class CellWeights(nn.Module):
    """The weights of one cell's candidates, and of its edges where they have any: see `edge_groups`."""

    ops: nn.Parameter
    """The parameters of the candidates [E, N]."""
    edges: nn.Parameter | None
    """The parameters of the edges [G, W], a row for each group of edges that compete; None without groups."""
    group_mask: Tensor
    """Which entries of that table are edges [G, W]."""
    group_places: Tensor
    """For each edge [E] its index in the flat table; one past its end for an edge in no group."""

    def __init__(
        self, cell: Cell, parametrization: Parametrization, initialize: Initialize, *, every_node: bool
    ) -> None:
        super().__init__()
        self.parametrization = parametrization
        self.candidates = Candidates(cell)
        self.ops = nn.Parameter(initialize(self.candidates.mask))
        groups = edge_groups(cell, every_node=every_node)
        if groups:
            most = max(map(len, groups))
            mask = [[place < len(group) for place in range(most)] for group in groups]
            places = [len(groups) * most] * len(cell.edges)
            for row, group in enumerate(groups):
                for place, edge in enumerate(group):
                    places[edge] = row * most + place
            self.register_buffer("group_mask", torch.tensor(mask), persistent=False)
            self.register_buffer("group_places", torch.tensor(places), persistent=False)
            self.edges = nn.Parameter(initialize(self.group_mask))
        else:
            self.register_parameter("edges", None)

    def edge_weights(self) -> Tensor | None:
        """The weights of the edges [E], one for those that compete with none; None where none does."""
        if self.edges is None:
            return None
        weights = self.parametrization.weights(self.edges, self.group_mask).flatten()
        return torch.cat([weights, weights.new_ones(1)])[self.group_places]

    def blend(self) -> Blend:
        """The blend of all candidates that are alive."""
        ops = self.parametrization.weights(self.ops, self.candidates.mask)
        return Blend(self.candidates.live, ops, self.edge_weights())


class Categorical(Relaxation):
    """Weights on a simplex for every edge of every group; made by `softmax` and `simplex`.

    Args:
        space: The space.
        parametrization: How the parameters stand for weights.
        initialize: The initial values.
        edge_weights: Whether edges have weights at every node, not only in weighted contests.

    Raises:
        CompositionError: If edge weights are asked for and no two edges compete.
    """

    has_examples = True

    def __init__(
        self,
        space: SearchSpace,
        parametrization: Parametrization,
        initialize: Initialize,
        *,
        edge_weights: bool = False,
    ) -> None:
        super().__init__(space)
        cells = {
            group: CellWeights(cell, parametrization, initialize, every_node=edge_weights)
            for group, cell in space.groups
        }
        self.on_simplex = isinstance(parametrization, Simplex)
        self.has_edge_weights = any(cell.edges is not None for cell in cells.values())
        if edge_weights and not self.has_edge_weights:
            raise CompositionError(
                f"edge weights on space {space.name!r}: no two edges enter the same node, so every weight "
                "would be one; leave edge_weights out"
            )
        self.cells = nn.ModuleDict(cells)

    def named_cells(self) -> Iterator[tuple[str, CellWeights]]:
        """Every group with its weights, in the order of the space."""
        return ((group, cast(CellWeights, cell)) for group, cell in self.cells.items())

    def forward(self) -> ArchMixture:
        return ArchMixture(self.space, {group: cell.blend() for group, cell in self.named_cells()})

    def per_example(self, batch: int) -> PerExample:
        return PerExample(self.space, {group: cell.blend() for group, cell in self.named_cells()}, batch)

    @torch.no_grad()
    def strengths(self) -> Mapping[str, Strength]:
        strengths = {}
        for group, cell in self.named_cells():
            ops = cell.parametrization.weights(cell.ops, cell.candidates.mask)
            edges = cell.edge_weights()
            strengths[group] = Strength(ops, ops.new_ones(len(ops)) if edges is None else edges)
        return strengths

    def arch_parameters(self) -> list[nn.Parameter]:
        return list(self.parameters())

    def live(self, group: str) -> Live:
        self._check_group(group)
        return cast(CellWeights, self.cells[group]).candidates.live

    @torch.no_grad()
    def kill(self, group: str, edge: int, place: int) -> None:
        self._check_group(group)
        cell = cast(CellWeights, self.cells[group])
        cell.candidates.kill(edge, place)
        mask = cell.candidates.mask[edge]
        cell.ops[edge] = cell.parametrization.renormalize(cell.ops[edge], mask)


def softmax(
    space: SearchSpace, *, edge_weights: bool = False, generator: torch.Generator | None = None
) -> Categorical:
    """Softmax over logits alpha (DARTS).

    Args:
        space: The space.
        edge_weights: Whether edges have weights at every node, not only in weighted contests (PC-DARTS).
        generator: Draws the initial logits, 1e-3 N(0, 1); None starts at zero: equal weights.
    """
    logits = Logits()

    def normal(mask: Tensor) -> Tensor:
        noise = torch.randn(mask.shape, generator=generator, device=generator.device)  # type: ignore[union-attr]
        return logits.renormalize(INITIAL_STD * noise.to(mask.device), mask)

    initialize = logits.initial if generator is None else normal
    return Categorical(space, logits, initialize, edge_weights=edge_weights)


def simplex(space: SearchSpace, *, edge_weights: bool = False) -> Categorical:
    """Weights theta that are parameters themselves, equal at the start (gaea 3.2, xnas 3.1).

    The gradient of theta is the gradient of the weights, without the projection to the simplex that a
    normalization would add; an exponentiated gradient step is the same with and without it. The update
    must keep the rows on the simplex.

    Args:
        space: The space.
        edge_weights: Whether edges have weights at every node, not only in weighted contests (PC-DARTS).
    """
    weights = Simplex()
    return Categorical(space, weights, weights.initial, edge_weights=edge_weights)
