"""Attention over the outputs of an edge's candidates: no architecture parameters at all (asm-nas 4.2)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from math import sqrt
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.errors import CompositionError, RelaxationError
from dartboard.nn.mixture import Blend, Live
from dartboard.relax.base import Relaxation, Strength
from dartboard.relax.candidates import Candidates
from dartboard.relax.parametrization import Simplex
from dartboard.space.spec import SearchSpace

Layers = list[Tensor]
"""The matrices of one edge's module, first to last."""


def embed(outputs: Sequence[Tensor], live: Sequence[int], most: int) -> Tensor:
    """The mean over channels and pixels of each output, for each example [B, most] (asm-nas, equation 4.3).

    Args:
        outputs: The outputs of the live candidates [B, C, H, W].
        live: Their places.
        most: How many places there are; those without an output get zero.
    """
    means = dict(zip(live, (output.mean(dim=(1, 2, 3)) for output in outputs), strict=True))
    zero = torch.zeros_like(means[live[0]])
    return torch.stack([means.get(place, zero) for place in range(most)], dim=-1)


def scores(embedding: Tensor, layers: Layers) -> Tensor:
    """What attention is the softmax of, [B, N] from [B, N] (asm-nas, equation 4.4)."""
    *inner, last = layers
    for layer in inner:
        embedding = F.relu(F.linear(embedding, layer))
    return F.linear(embedding, last).sigmoid()


def attention(outputs: Sequence[Tensor], live: Sequence[int], layers: Layers) -> Tensor:
    """The weights of an edge's live candidates, for each example [B, live] (asm-nas, equation 4.5).

    A candidate that is alone has weight one.
    """
    if len(live) == 1:
        return outputs[0].new_ones(len(outputs[0]), 1)
    columns = scores(embed(outputs, live, len(layers[-1])), layers).unbind(-1)
    return torch.stack([columns[place] for place in live], dim=-1).softmax(-1)


class SlotAttention(nn.Module):
    """The attention modules of all edges of one slot.

    Args:
        mask: Which places of a table [E, N] are candidates.
        multiple: How many times as many hidden units as candidates.
        momentum: The share of the newest batch in the running mean.
        generator: Draws the matrices; None takes torch's own.
    """

    average: Tensor
    """Mean attention [E, N] over examples, running or collected."""

    def __init__(
        self, mask: Tensor, multiple: int, momentum: float, generator: torch.Generator | None
    ) -> None:
        super().__init__()
        edges, most = mask.shape
        widths = (most, *[multiple * most] * 3, most)
        self.momentum = momentum
        self.layers = nn.ParameterList(
            _random_matrices(edges, rows, columns, generator) for columns, rows in pairwise(widths)
        )
        self.register_buffer("average", Simplex().start(mask))
        self.counts: list[int] | None = None

    def blend(self, live: Live) -> Blend:
        """The blend for one forward pass; without attention where nothing is left to choose."""
        if all(len(places) == 1 for places in live):
            return Blend(live)
        edges = zip(*(cast(Tensor, layer).unbind(0) for layer in self.layers), strict=True)
        return Blend(live, attend=partial(self._attend, live, [list(own) for own in edges]))

    def _attend(self, live: Live, layers: list[Layers], edge: int, outputs: Sequence[Tensor]) -> Tensor:
        weights = attention(outputs, live[edge], layers[edge])
        if self.counts is not None:
            self.counts[edge] += len(weights)
            self._note(edge, live[edge], weights, len(weights) / self.counts[edge])
        elif self.training:
            self._note(edge, live[edge], weights, self.momentum)
        return weights

    @torch.no_grad()
    def _note(self, edge: int, live: Sequence[int], weights: Tensor, share: float) -> None:
        means = dict(zip(live, weights.mean(0).unbind(), strict=True))
        zero = torch.zeros_like(means[live[0]])
        row = torch.stack([means.get(place, zero) for place in range(self.average.shape[1])])
        self.average[edge].lerp_(row.to(self.average), share)


def _random_matrices(edges: int, rows: int, columns: int, generator: torch.Generator | None) -> nn.Parameter:
    """A matrix for each edge [E, rows, columns], drawn as torch draws those of linear layers."""
    bound = 1 / sqrt(columns)
    return nn.Parameter(torch.empty(edges, rows, columns).uniform_(-bound, bound, generator=generator))


class Attention(Relaxation):
    """Weighs the candidates of an edge by their outputs, for each example (ASM-NAS).

    Every edge of every slot has a module of its own with N -> 4N -> 4N -> 4N -> N units and no shifts, as the
    paper's formula is written; an edge with fewer candidates has as many units as the others. The modules
    are weights: they are trained with the network, and there are no architecture parameters. Cells that share
    their decisions still have modules of their own, and the arch's strength is the mean over its slots.

    Strengths are mean attention: a running mean over the batches seen in training mode, or inside
    `collecting` the exact mean over all examples.

    Args:
        space: The space.
        multiple: How many times as many hidden units as candidates.
        momentum: The share of the newest batch in the running mean.
        generator: Draws the modules' weights; None takes torch's own.

    Raises:
        CompositionError: If edges of the space are told apart by weights of their own.
    """

    _no_examples = "attention is computed from the outputs of the ops and has no weights to differentiate by"

    def __init__(
        self,
        space: SearchSpace,
        *,
        multiple: int = 4,
        momentum: float = 0.1,
        generator: torch.Generator | None = None,
    ) -> None:
        if any(contest.weighted for _, cell in space.archs for contest in cell.contests):
            raise CompositionError(
                f"attention on space {space.name!r}: its contests tell edges apart by weights of their own, "
                "and attention weighs only ops; use a softmax or simplex relaxation"
            )
        if multiple < 1 or not 0 < momentum <= 1:
            raise RelaxationError(
                f"attention needs multiple >= 1 and momentum in (0, 1], not {multiple} and {momentum}"
            )
        super().__init__(space)
        self.candidates = nn.ModuleDict({arch: Candidates(cell) for arch, cell in space.archs})
        slots = {str(index): slot.arch for index, slot in enumerate(space.slots) if slot.arch}
        masks = {index: self._candidates(arch).mask for index, arch in slots.items()}
        self.slots = nn.ModuleDict(
            {index: SlotAttention(mask, multiple, momentum, generator) for index, mask in masks.items()}
        )

    def _candidates(self, arch: str) -> Candidates:
        self._check_arch(arch)
        return cast(Candidates, self.candidates[arch])

    def _slot(self, index: int) -> SlotAttention:
        return cast(SlotAttention, self.slots[str(index)])

    def forward(self) -> "SlotMixture":
        slots = [(index, slot.arch) for index, slot in enumerate(self.space.slots) if slot.arch]
        return SlotMixture({index: self._slot(index).blend(self.live(arch)) for index, arch in slots})

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Inside, strengths become the mean attention over all examples that pass the network (Algorithm 1).

        It stays so until the next batch of training. Only edges that have something to choose are counted.
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
        return {arch: self._strength(arch) for arch, _ in self.space.archs}

    def _strength(self, arch: str) -> Strength:
        own = [index for index, slot in enumerate(self.space.slots) if slot.arch == arch]
        mean = torch.stack([self._slot(index).average for index in own]).mean(0)
        mask, form = self._candidates(arch).mask, Simplex()
        ops = form.weights(form.settle(mean, mask), mask)
        return Strength(ops, ops.new_ones(len(ops)))

    def weight_parameters(self) -> list[nn.Parameter]:
        return list(self.parameters())

    def running_means(self) -> list[Tensor]:
        return [cast(SlotAttention, module).average for module in self.slots.values()]

    def live(self, arch: str) -> Live:
        return self._candidates(arch).live

    def kill(self, arch: str, edge: int, place: int) -> None:
        self._candidates(arch).kill(edge, place)


class SlotMixture:
    """A blend for each slot.

    Args:
        blends: The blends, by the position of the slot.
    """

    def __init__(self, blends: Mapping[int, Blend]) -> None:
        self._blends = blends

    def blend(self, slot: int) -> Blend:
        return self._blends[slot]
