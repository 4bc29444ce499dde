"""Random directions in the space of a network's weights."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from dartboard.data.rng import generator

Kind = Literal["filter", "gaussian"]
Vectors = Literal["zero", "drawn"]
AUXILIARY = "auxiliary."
"""Begins the names of an auxiliary classifier's weights, which no prediction reads."""


def weights_of(net: nn.Module) -> dict[str, nn.Parameter]:
    """The weights by name that a network's logits depend on, in their order."""
    found = net.named_parameters()
    return {name: weight for name, weight in found if not name.startswith(AUXILIARY)}


def draw_direction(
    weights: Sequence[Tensor], number: int, *, kind: Kind = "filter", vectors: Vectors = "zero", seed: int = 0
) -> list[Tensor]:
    """A direction shaped like the weights, with normally distributed entries.

    `filter` gives each filter of a convolution, and each row of a matrix, the norm that it has in the weights
    (Li et al. 2018); so distances mean the same in networks whose weights differ in size. `gaussian` leaves
    the entries as they were drawn, with variance 1.

    Args:
        weights: Where the direction starts.
        number: Directions with different numbers are independent.
        kind: `filter` or `gaussian`.
        vectors: What is done with weights of one dimension, which are biases and the scales and shifts of
            batch-norms: `zero` leaves them where they are, `drawn` moves them too, as one filter each.
        seed: Where chance starts.
    """
    chance = generator("direction", seed, number)
    return [_scale(_draw(weight, chance), weight, kind, vectors) for weight in weights]


def _draw(weight: Tensor, chance: torch.Generator) -> Tensor:
    """Entries drawn on the CPU, the same for every device, in the weight's own order in memory."""
    drawn = torch.randn(weight.shape, generator=chance)
    return torch.empty_like(weight.detach()).copy_(drawn)


def _scale(drawn: Tensor, weight: Tensor, kind: Kind, vectors: Vectors) -> Tensor:
    if weight.dim() <= 1 and vectors == "zero":
        return drawn.zero_()
    if kind == "gaussian":
        return drawn
    axes = tuple(range(1, weight.dim())) or (0,)
    wanted, has = (torch.linalg.vector_norm(own.detach(), dim=axes, keepdim=True) for own in (weight, drawn))
    return drawn.mul_(wanted / has)


def norm(parts: Sequence[Tensor]) -> Tensor:
    """The length of a vector that is given in parts, in double precision."""
    squares = [torch.linalg.vector_norm(part, dtype=torch.float64).square() for part in parts]
    return torch.stack(squares).sum().sqrt()
