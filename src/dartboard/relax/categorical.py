"""Categorical relaxations: every edge has weights on a simplex over its candidates.

`softmax` holds logits (DARTS), `simplex` the weights themselves (GAEA, XNAS). Both can weigh edges too: those
of a contest that asks for it (NAS-Bench-1Shot1), or all that enter a node (PC-DARTS).
Nothing in a forward pass waits for the device.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from dartboard.errors import CompositionError
from dartboard.nn.mixture import ArchMixture, Blend, Live
from dartboard.relax.base import Relaxation, Strength
from dartboard.relax.candidates import Candidates, edge_groups, group_mask, group_places
from dartboard.relax.parametrization import Form, Logits, Simplex
from dartboard.relax.per_example import PerExample
from dartboard.space.spec import Cell, SearchSpace

START_SCALE = 1e-3
"""The deviation of random logits at the start (DARTS)."""

Start = Callable[[Tensor], Tensor]
"""The values of a table at the start, from its mask."""


class CellWeights(nn.Module):
    """The weights of one cell's candidates, and of its edges where they have any.

    Args:
        cell: The cell.
        form: What the values mean.
        start: The values at the start.
        every_node: Whether edges have weights at every node, not only in weighted contests.
    """

    ops: nn.Parameter
    """The values of the candidates [E, N]."""
    edges: nn.Parameter | None
    """The values of the edges [G, W], a row for each group of edges that compete; None without groups."""
    group_mask: Tensor
    group_places: Tensor

    def __init__(self, cell: Cell, form: Form, start: Start, *, every_node: bool) -> None:
        super().__init__()
        self.form = form
        self.candidates = Candidates(cell)
        self.ops = nn.Parameter(start(self.candidates.mask))
        groups = edge_groups(cell, every_node=every_node)
        if groups:
            self.register_buffer("group_mask", group_mask(groups), persistent=False)
            self.register_buffer("group_places", group_places(cell, groups), persistent=False)
            self.edges = nn.Parameter(start(self.group_mask))
        else:
            self.register_parameter("edges", None)

    def op_weights(self) -> Tensor:
        """The weights of the candidates [E, N]."""
        return self.form.weights(self.ops, self.candidates.mask)

    def log_op_weights(self) -> Tensor:
        """Their logarithm [E, N], -inf where there is no candidate."""
        return self.form.log_weights(self.ops, self.candidates.mask)

    def edge_weights(self) -> Tensor | None:
        """The weights of the edges [E], one for those that compete with none; None where none does."""
        if self.edges is None:
            return None
        weights = self.form.weights(self.edges, self.group_mask).flatten()
        return torch.cat([weights, weights.new_ones(1)])[self.group_places]

    def blend(self) -> Blend:
        """The blend of all candidates that are alive."""
        return Blend(self.candidates.live, self.op_weights(), self.edge_weights())

    @torch.no_grad()
    def strength(self) -> Strength:
        """The weights as they are."""
        ops, edges = self.op_weights(), self.edge_weights()
        return Strength(ops, ops.new_ones(len(ops)) if edges is None else edges)

    @torch.no_grad()
    def kill(self, edge: int, place: int) -> None:
        """Removes a candidate; see `Relaxation.kill`."""
        self.candidates.kill(edge, place)
        mask = self.candidates.mask[edge]
        self.ops[edge] = self.form.settle(self.ops[edge], mask)


class Categorical(Relaxation):
    """Weights on a simplex for every edge of every arch; made by `softmax` and `simplex`.

    Args:
        space: The space.
        form: What the values mean.
        start: The values at the start.
        edge_weights: Whether edges have weights at every node, not only in weighted contests.

    Raises:
        CompositionError: If edges shall have weights and there are none to tell apart.
    """

    def __init__(self, space: SearchSpace, form: Form, start: Start, *, edge_weights: bool = False) -> None:
        super().__init__(space)
        cells = {arch: CellWeights(cell, form, start, every_node=edge_weights) for arch, cell in space.archs}
        if edge_weights and all(cell.edges is None for cell in cells.values()):
            raise CompositionError(
                f"edge weights on space {space.name!r}: no two edges enter the same node, so every weight "
                "would be one; leave edge_weights out"
            )
        self.cells = nn.ModuleDict(cells)
        self.on_simplex = isinstance(form, Simplex)
        """Whether the parameters are the weights themselves."""

    def forward(self) -> ArchMixture:
        return ArchMixture(self.space, self._blends())

    def _blends(self) -> dict[str, Blend]:
        return {arch: cell.blend() for arch, cell in self.named_cells()}

    def named_cells(self) -> Iterator[tuple[str, CellWeights]]:
        """Every arch with its weights, in the order of the space."""
        return ((arch, cast(CellWeights, cell)) for arch, cell in self.cells.items())

    def strengths(self) -> Mapping[str, Strength]:
        return {arch: cell.strength() for arch, cell in self.named_cells()}

    def arch_parameters(self) -> list[nn.Parameter]:
        return list(self.parameters())

    def live(self, arch: str) -> Live:
        return self._cell(arch).candidates.live

    def kill(self, arch: str, edge: int, place: int) -> None:
        self._cell(arch).kill(edge, place)

    def _cell(self, arch: str) -> CellWeights:
        self._check_arch(arch)
        return cast(CellWeights, self.cells[arch])

    def per_example(self, batch: int) -> PerExample:
        return PerExample(self.space, self._blends(), batch)


def softmax(
    space: SearchSpace, *, edge_weights: bool = False, generator: torch.Generator | None = None
) -> Categorical:
    """Softmax over logits alpha (DARTS).

    Args:
        space: The space.
        edge_weights: Whether edges have weights at every node, not only in weighted contests (PC-DARTS).
        generator: Draws the logits at the start, 1e-3 N(0, 1); None starts at zero: equal weights.
    """
    form = Logits()
    start = form.start if generator is None else partial(_random_logits, generator)
    return Categorical(space, form, start, edge_weights=edge_weights)


def simplex(space: SearchSpace, *, edge_weights: bool = False) -> Categorical:
    """Weights theta that are parameters themselves, equal at the start (gaea 3.2, xnas 3.1).

    The gradient of theta is the gradient of the weights, without the projection to the simplex that a
    normalisation would add; an exponentiated gradient step is the same with and without it. The update
    must keep the rows on the simplex.

    Args:
        space: The space.
        edge_weights: Whether edges have weights at every node, not only in weighted contests (PC-DARTS).
    """
    form = Simplex()
    return Categorical(space, form, form.start, edge_weights=edge_weights)


def _random_logits(generator: torch.Generator, mask: Tensor) -> Tensor:
    drawn = torch.randn(mask.shape, generator=generator, device=generator.device)
    return Logits().settle(START_SCALE * drawn.to(mask.device), mask)
