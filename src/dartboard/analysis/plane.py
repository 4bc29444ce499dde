"""A plane through the trained weights of a network, along random directions."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Literal

import torch
from torch import Tensor, nn

from dartboard.data.sampler import generator
from dartboard.errors import OptionError
from dartboard.nn.network import CellNet

DirectionKind = Literal["filter", "gaussian"]
Vectors = Literal["zero", "drawn"]
Statistics = Literal["kept", "fresh", "batch"]
AUXILIARY = "auxiliary."
"""Prefix of the names of an auxiliary classifier's weights, which no prediction depends on."""


def weights_of(net: nn.Module) -> dict[str, nn.Parameter]:
    """The weights by name that a network's logits depend on, in their order."""
    named = net.named_parameters()
    return {name: weight for name, weight in named if not name.startswith(AUXILIARY)}


def draw_direction(
    weights: Sequence[Tensor],
    number: int,
    *,
    kind: DirectionKind = "filter",
    vectors: Vectors = "zero",
    seed: int = 0,
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
        seed: Random seed.
    """
    rng = generator("direction", seed, number)
    direction = []
    for weight in weights:
        entries = torch.randn(weight.shape, generator=rng)  # on the CPU, the same for every device
        drawn = torch.empty_like(weight.detach()).copy_(entries)  # in the weight's memory format
        if weight.dim() <= 1 and vectors == "zero":
            drawn.zero_()
        elif kind == "filter":
            axes = tuple(range(1, weight.dim())) or (0,)
            weight_norm, drawn_norm = (
                torch.linalg.vector_norm(tensor.detach(), dim=axes, keepdim=True)
                for tensor in (weight, drawn)
            )
            drawn.mul_(weight_norm / drawn_norm)
        direction.append(drawn)
    return direction


def norm(tensors: Sequence[Tensor]) -> Tensor:
    """The norm of a vector given in parts, in double precision."""
    squares = [torch.linalg.vector_norm(tensor, dtype=torch.float64).square() for tensor in tensors]
    return torch.stack(squares).sum().sqrt()


class Plane:
    """The points w* + a d1 + b d2 around the weights w* of a network.

    It computes with a copy of the network, which is moved in place; with the directions that takes three
    times the memory of the weights, however many points there are. The given network is not changed.

    Args:
        net: The network whose weights are the center.
        statistics: What batch-norms normalize by: `kept`, the running statistics that came with the weights;
            `fresh`, statistics recomputed at every point from the images of `fresh`; `batch`, the statistics
            of each batch itself.
        fresh: Batches of normalized images; needed only for `fresh`.
        device: Where to compute.

    Attributes:
        weights: The weights that move.
        directions: d1 and d2, each shaped like `weights`, which whoever asks for points sets.

    Raises:
        OptionError: If there are no images to compute statistics from.
    """

    def __init__(
        self,
        net: CellNet,
        *,
        statistics: Statistics = "kept",
        fresh: Sequence[Tensor] = (),
        device: torch.device | str = "cpu",
    ) -> None:
        if statistics == "fresh" and not fresh:
            raise OptionError("statistics=fresh takes statistics from training images, and none are given")
        self.statistics, self.fresh = statistics, fresh
        moved: CellNet = deepcopy(net).to(device)
        self.net: CellNet = moved.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.net.drop_path = 0.0
        self.net.train(statistics == "batch")
        self.weights: list[Tensor] = list(weights_of(self.net).values())
        self.center = [weight.detach().to(device) for weight in weights_of(net).values()]
        self.directions: tuple[list[Tensor], list[Tensor]] = ([], [])

    def at(self, a: float, b: float) -> CellNet:
        """The network at a point, ready to compute; valid until the next call."""
        with torch.no_grad():
            torch._foreach_copy_(self.weights, self.center)
            for step, direction in zip((a, b), self.directions, strict=True):
                torch._foreach_add_(self.weights, direction, alpha=step)
        if self.statistics == "fresh":
            self._refresh_statistics()
        return self.net

    @torch.no_grad()
    def _refresh_statistics(self) -> None:
        """Sets running statistics to the mean of those of the batches of `fresh`."""
        norms = [module for module in self.net.modules() if isinstance(module, nn.BatchNorm2d)]
        momenta = [module.momentum for module in norms]
        for module in norms:  # those of a point that overflowed would stay: infinity times 0 is NaN
            module.reset_running_stats()
        self.net.train()
        for number, x in enumerate(self.fresh, 1):
            for module in norms:
                module.momentum = 1 / number
            self.net(x)
        for module, momentum in zip(norms, momenta, strict=True):
            module.momentum = momentum
        self.net.eval()
