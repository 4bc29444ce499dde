"""Products of second derivatives with vectors, exact or by finite differences.

A loss is a function of the weights; the architecture parameters are leaves that it reads. Both ways give
the same two products. `Exact` differentiates twice. `Finite` takes central differences at the radius the
papers use: cheap in memory, but a ReLU network has kinks, and at a radius of 0.01 the result can be far off.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import torch
from torch import Tensor

from dartboard.arch.checks import check_number

Loss = Callable[[Sequence[Tensor]], Tensor]
"""A loss at given weights."""


class Products(Protocol):
    """A way to multiply second derivatives of a loss with a vector shaped like the weights."""

    def mixed(
        self, loss: Loss, weights: Sequence[Tensor], arch: Sequence[Tensor], vector: Sequence[Tensor]
    ) -> list[Tensor]:
        """d2L / (d arch d weights) . vector, shaped like `arch`."""
        ...

    def hessian(self, loss: Loss, weights: Sequence[Tensor], vector: Sequence[Tensor]) -> list[Tensor]:
        """d2L / d weights2 . vector, shaped like `weights`."""
        ...


@dataclass(frozen=True)
class Exact:
    """Double backward."""

    def mixed(
        self, loss: Loss, weights: Sequence[Tensor], arch: Sequence[Tensor], vector: Sequence[Tensor]
    ) -> list[Tensor]:
        return _pull_back(loss, weights, arch, vector)

    def hessian(self, loss: Loss, weights: Sequence[Tensor], vector: Sequence[Tensor]) -> list[Tensor]:
        return _pull_back(loss, weights, None, vector)


def _pull_back(
    loss: Loss, weights: Sequence[Tensor], arch: Sequence[Tensor] | None, vector: Sequence[Tensor]
) -> list[Tensor]:
    """The derivative of <dL / d weights, vector> in `arch`, or in the weights where that is None."""
    leaves = [weight.detach().requires_grad_() for weight in weights]
    wanted = leaves if arch is None else list(arch)
    slopes = gradients(loss(leaves), leaves, create_graph=True)
    product = torch.stack([(slope * part).sum() for slope, part in zip(slopes, vector, strict=True)]).sum()
    if not product.requires_grad:  # the loss is linear in the weights
        return [torch.zeros_like(leaf) for leaf in wanted]
    return gradients(product, wanted)


@dataclass(frozen=True)
class Finite:
    """Central differences of first derivatives.

    Args:
        radius: The length of the step away from the weights; the papers use 0.01.
    """

    radius: float = 0.01

    def __post_init__(self) -> None:
        check_number("radius", self.radius, "a positive number", lambda radius: radius > 0)

    def mixed(
        self, loss: Loss, weights: Sequence[Tensor], arch: Sequence[Tensor], vector: Sequence[Tensor]
    ) -> list[Tensor]:
        return self._difference(lambda at: gradients(loss(at), arch), weights, vector)

    def hessian(self, loss: Loss, weights: Sequence[Tensor], vector: Sequence[Tensor]) -> list[Tensor]:
        def slopes(at: Sequence[Tensor]) -> list[Tensor]:
            leaves = [weight.detach().requires_grad_() for weight in at]
            return gradients(loss(leaves), leaves)

        return self._difference(slopes, weights, vector)

    def _difference(
        self,
        slopes: Callable[[Sequence[Tensor]], list[Tensor]],
        weights: Sequence[Tensor],
        vector: Sequence[Tensor],
    ) -> list[Tensor]:
        length = torch.stack([part.norm() for part in vector]).norm()
        # A zero vector has a zero product; the clamp keeps the step finite without asking the device.
        step = self.radius / length.clamp_min(torch.finfo(length.dtype).tiny ** 0.5)
        ahead = slopes(shifted(weights, vector, step))
        behind = slopes(shifted(weights, vector, -step))
        return [(a - b) / (2 * step) for a, b in zip(ahead, behind, strict=True)]


def shifted(weights: Sequence[Tensor], vector: Sequence[Tensor], step: Tensor | float) -> list[Tensor]:
    """The weights moved by step * vector, without gradients."""
    pairs = zip(weights, vector, strict=True)
    return [(weight + step * part).detach() for weight, part in pairs]


def gradients(loss: Tensor, inputs: Sequence[Tensor], *, create_graph: bool = False) -> list[Tensor]:
    """The gradients of a scalar, zeros where it does not depend on an input."""
    if not loss.requires_grad:
        return [torch.zeros_like(x) for x in inputs]
    found = torch.autograd.grad(loss, list(inputs), create_graph=create_graph, allow_unused=True)
    slopes = cast(
        "Sequence[Tensor | None]", found
    )  # torch's annotation leaves out the None of an unused input
    return [torch.zeros_like(x) if slope is None else slope for x, slope in zip(inputs, slopes, strict=True)]
