"""Hessian-vector products, exact or by finite differences.

A loss is a function of the weights; the architecture parameters are leaves that it reads. `Exact`
differentiates twice. `Finite` takes central differences at the radius the papers use: cheap in memory, but a
ReLU network has kinks, and at a radius of 0.01 the result can be far off.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from dartboard.arch.checks import check_number
from dartboard.arch.objective import gradients

Loss = Callable[[Sequence[Tensor]], Tensor]
"""A loss at given weights."""


class HessianProducts(Protocol):
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
        leaves = [weight.detach().requires_grad_() for weight in weights]
        return _grad_of_product(loss, leaves, vector, inputs=list(arch))

    def hessian(self, loss: Loss, weights: Sequence[Tensor], vector: Sequence[Tensor]) -> list[Tensor]:
        leaves = [weight.detach().requires_grad_() for weight in weights]
        return _grad_of_product(loss, leaves, vector, inputs=leaves)


def _grad_of_product(
    loss: Loss, leaves: Sequence[Tensor], vector: Sequence[Tensor], *, inputs: Sequence[Tensor]
) -> list[Tensor]:
    """The gradient of <dL / d leaves, vector> in `inputs`."""
    grads = gradients(loss(leaves), leaves, create_graph=True)
    product = torch.stack([(grad * part).sum() for grad, part in zip(grads, vector, strict=True)]).sum()
    if not product.requires_grad:  # the loss is linear in the weights
        return [torch.zeros_like(leaf) for leaf in inputs]
    return gradients(product, inputs)


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
        return self._difference(lambda shifted: gradients(loss(shifted), arch), weights, vector)

    def hessian(self, loss: Loss, weights: Sequence[Tensor], vector: Sequence[Tensor]) -> list[Tensor]:
        def grads(shifted: Sequence[Tensor]) -> list[Tensor]:
            leaves = [weight.detach().requires_grad_() for weight in shifted]
            return gradients(loss(leaves), leaves)

        return self._difference(grads, weights, vector)

    def _difference(
        self,
        grads: Callable[[Sequence[Tensor]], list[Tensor]],
        weights: Sequence[Tensor],
        vector: Sequence[Tensor],
    ) -> list[Tensor]:
        length = torch.stack([part.norm() for part in vector]).norm()
        # A zero vector has a zero product; the clamp keeps the step finite without asking the device.
        step = self.radius / length.clamp_min(torch.finfo(length.dtype).tiny ** 0.5)
        ahead = grads(shift(weights, vector, step))
        behind = grads(shift(weights, vector, -step))
        return [(a - b) / (2 * step) for a, b in zip(ahead, behind, strict=True)]


ProductsName = Literal["exact", "finite"]


def hessian_products(name: ProductsName, radius: float) -> HessianProducts:
    """`Exact`, or `Finite` with a radius, by name."""
    return Exact() if name == "exact" else Finite(radius)


def shift(weights: Sequence[Tensor], vector: Sequence[Tensor], step: Tensor | float) -> list[Tensor]:
    """The weights moved by step * vector, without gradients."""
    return [(weight + step * part).detach() for weight, part in zip(weights, vector, strict=True)]
