"""Attention over the outputs of an edge's candidates: no architecture parameters at all (asm-nas 4.2)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from math import sqrt
from typing import Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.errors import CompositionError, RelaxationError
from dartboard.nn.mixture import Blend, Live, SlotMixture
from dartboard.relax.base import Relaxation, Strength
from dartboard.relax.categorical import Candidates, Simplex
from dartboard.space.spec import SearchSpace

AttentionInit = Literal["zero", "random"]
"""How the last layer of a module is initialized."""
Layers = list[Tensor]
"""The matrices of one edge's module, first to last."""


def attention(outputs: Sequence[Tensor], live: Sequence[int], layers: Layers) -> Tensor:
    """The weights of an edge's live candidates, for each example [B, live]; one for a single candidate.

    Args:
        outputs: The outputs of the live candidates [B, ...].
        live: Their positions in the edge's ops.
        layers: The matrices of the edge's module; the last has a row for every position.
    """
    if len(live) == 1:
        return outputs[0].new_ones(len(outputs[0]), 1)
    # asm-nas, equation 4.3: means over channels and pixels [B, N]; positions without an output get zero
    pooled = (output.mean(dim=tuple(range(1, output.dim()))) for output in outputs)
    means = dict(zip(live, pooled, strict=True))
    zero = torch.zeros_like(means[live[0]])
    hidden = torch.stack([means.get(place, zero) for place in range(len(layers[-1]))], dim=-1)
    *inner, last = layers
    for layer in inner:
        hidden = F.relu(F.linear(hidden, layer))
    scores = F.linear(hidden, last).sigmoid().unbind(-1)  # equation 4.4
    return torch.stack([scores[place] for place in live], dim=-1).softmax(-1)  # equation 4.5


class SlotAttention(nn.Module):
    """The attention modules of all edges of one slot.

    Args:
        mask: Which entries of a table [E, N] are candidates.
        multiple: Hidden units per candidate.
        momentum: Weight of the newest batch in the running mean.
        init: See `Attention`.
        generator: Draws the initial matrices; None uses torch's default generator.
    """

    average: Tensor
    """Mean attention [E, N] over examples, running or collected."""

    def __init__(
        self,
        mask: Tensor,
        multiple: int,
        momentum: float,
        init: AttentionInit,
        generator: torch.Generator | None,
    ) -> None:
        super().__init__()
        edges, most = mask.shape
        widths = (most, *[multiple * most] * 3, most)
        self.momentum = momentum
        self.layers = nn.ParameterList()
        for columns, rows in pairwise(widths):
            bound = 1 / sqrt(columns)  # as torch initializes linear layers
            matrices = torch.empty(edges, rows, columns).uniform_(-bound, bound, generator=generator)
            self.layers.append(nn.Parameter(matrices))
        if init == "zero":
            nn.init.zeros_(cast(Tensor, self.layers[-1]))
        self.register_buffer("average", Simplex().initial(mask))
        self.counts: list[int] | None = None

    def blend(self, live: Live) -> Blend:
        """The blend for one forward pass; without attention where nothing is left to choose."""
        if all(len(places) == 1 for places in live):
            return Blend(live)
        by_edge = zip(*(cast(Tensor, layer).unbind(0) for layer in self.layers), strict=True)
        return Blend(live, attend=partial(self._attend, live, [list(layers) for layers in by_edge]))

    def _attend(self, live: Live, layers: list[Layers], edge: int, outputs: Sequence[Tensor]) -> Tensor:
        weights = attention(outputs, live[edge], layers[edge])
        if self.counts is None and not self.training:
            return weights
        momentum = self.momentum
        if self.counts is not None:
            self.counts[edge] += len(weights)
            momentum = len(weights) / self.counts[edge]
        with torch.no_grad():
            means = dict(zip(live[edge], weights.mean(0).unbind(), strict=True))
            zero = torch.zeros_like(means[live[edge][0]])
            row = torch.stack([means.get(place, zero) for place in range(self.average.shape[1])])
            self.average[edge].lerp_(row.to(self.average), momentum)
        return weights


class Attention(Relaxation):
    """Weighs the candidates of an edge by their outputs, for each example (ASM-NAS).

    Every edge of every slot has a module of its own with N -> 4N -> 4N -> 4N -> N units and no shifts, as the
    paper's formula is written; an edge with fewer candidates has as many units as the others. The modules
    are weights: they are trained with the network, and there are no architecture parameters. Cells that share
    a group still have separate modules, and the strength of a group is the mean over its slots.

    Strengths are mean attention: a running mean over the batches seen in training mode, or inside
    `collecting` the exact mean over all examples.

    Args:
        space: The space.
        multiple: Hidden units per candidate.
        momentum: Weight of the newest batch in the running mean.
        init: `zero` starts the last layer of every module at zero, which gives equal attention, whatever the
            outputs are; `random` draws it like the others. A softmax of sigmoids lies within a factor e of
            equal attention, so that a random start outweighs what a short search learns. The paper does not
            say.
        generator: Draws the initial weights of the modules; None uses torch's default generator.

    Raises:
        CompositionError: If the space has contests in which edges are weighted.
    """

    has_attention = True
    _no_examples = "attention is computed from the outputs of the ops and has no weights to differentiate by"

    def __init__(
        self,
        space: SearchSpace,
        *,
        multiple: int = 4,
        momentum: float = 0.1,
        init: AttentionInit = "zero",
        generator: torch.Generator | None = None,
    ) -> None:
        if any(contest.weighted for _, cell in space.groups for contest in cell.contests):
            raise CompositionError(
                f"attention on space {space.name!r}: its contests tell edges apart by weights of their own, "
                "and attention weighs only ops; use a softmax or simplex relaxation"
            )
        if multiple < 1 or not 0 < momentum <= 1:
            raise RelaxationError(
                f"attention needs multiple >= 1 and momentum in (0, 1], not {multiple} and {momentum}"
            )
        super().__init__(space)
        self.candidates = nn.ModuleDict({group: Candidates(cell) for group, cell in space.groups})
        self.slots = nn.ModuleDict()
        for index, slot in enumerate(space.slots):
            if slot.group:
                mask = self._candidates(slot.group).mask
                self.slots[str(index)] = SlotAttention(mask, multiple, momentum, init, generator)

    def _candidates(self, group: str) -> Candidates:
        self._check_group(group)
        return cast(Candidates, self.candidates[group])

    def forward(self) -> SlotMixture:
        blends = {}
        for name, module in self.slots.items():
            live = self.live(self.space.slots[int(name)].group)
            blends[int(name)] = cast(SlotAttention, module).blend(live)
        return SlotMixture(blends)

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Inside, strengths become the mean attention over all examples that pass the network (Algorithm 1).

        They keep that value until the next training batch. Only edges with a choice left are averaged.
        """
        modules = [cast(SlotAttention, module) for module in self.slots.values()]
        for module in modules:
            module.counts = [0] * len(module.average)
        try:
            yield
        finally:
            for module in modules:
                module.counts = None

    @torch.no_grad()
    def strengths(self) -> Mapping[str, Strength]:
        strengths, simplex = {}, Simplex()
        for group, _ in self.space.groups:
            slots = [
                self.slots[str(index)] for index, slot in enumerate(self.space.slots) if slot.group == group
            ]
            mean = torch.stack([cast(SlotAttention, slot).average for slot in slots]).mean(0)
            mask = self._candidates(group).mask
            ops = simplex.weights(simplex.renormalize(mean, mask), mask)
            strengths[group] = Strength(ops, ops.new_ones(len(ops)))
        return strengths

    def weight_parameters(self) -> list[nn.Parameter]:
        return list(self.parameters())

    def running_means(self) -> list[Tensor]:
        return [cast(SlotAttention, module).average for module in self.slots.values()]

    def live(self, group: str) -> Live:
        return self._candidates(group).live

    def kill(self, group: str, edge: int, place: int) -> None:
        self._candidates(group).kill(edge, place)
