"""Architecture gradients that look through the training of the weights.

The exact gradient of L_val(w*(a), a) is g1 + g2 with g1 = dL_val / da and
g2 = -d2L_train/(da dw) . H^-1 . dL_val/dw, H = d2L_train/dw2 (amended-darts equation 5). DARTS' first order
keeps g1; its second order unrolls one step of training; the amended gradient replaces H^-1 by eta H.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor

from dartboard.arch.hvp import Loss, Products, gradients
from dartboard.arch.objective import add_up
from dartboard.distributed.group import SINGLE, Group


@dataclass(frozen=True)
class Point:
    """Where a gradient is taken: losses as functions of the weights, with the leaves they read.

    A loss may come in parts, one for each piece of a batch: it is their sum, and no two of them are held in
    memory together.

    Args:
        train: The training loss at given weights, in parts.
        valid: The validation loss at given weights, in parts.
        weights: The weights, as they are.
        arch: The architecture parameters, leaves that both losses read.
        group: The processes that have the other parts of the losses.
    """

    train: Sequence[Loss]
    valid: Sequence[Loss]
    weights: Sequence[Tensor]
    arch: Sequence[Tensor]
    group: Group = SINGLE

    def total(self, parts: Iterable[list[Tensor]]) -> list[Tensor]:
        """Lists of tensors added up, entry by entry, over all parts on all ranks."""
        return self.group.all_reduce(add_up(parts))


def first_order(point: Point) -> list[Tensor]:
    """g1: the gradient of the validation loss at the weights as they are."""
    weights = [weight.detach() for weight in point.weights]
    return point.total(gradients(valid(weights), point.arch) for valid in point.valid)


def train_slopes(point: Point) -> list[Tensor]:
    """The gradient of the training loss in the weights, which a virtual step follows."""
    leaves = [weight.detach().requires_grad_() for weight in point.weights]
    return point.total(gradients(train(leaves), leaves) for train in point.train)


def second_order(point: Point, unrolled: Sequence[Tensor], lr: float, products: Products) -> list[Tensor]:
    """The gradient of L_val(w - lr * (dL_train/dw + ...), a): DARTS' second order.

    Args:
        point: Where the gradient is taken.
        unrolled: The weights after one virtual step of training; what the step adds to the gradient
            (momentum, weight decay) does not depend on the architecture.
        lr: The step's learning rate, xi.
        products: How the mixed derivative is multiplied.
    """
    direct, slopes = _both(point, unrolled)
    mixed = _mixed(point, products, slopes)
    return [g - lr * m for g, m in zip(direct, mixed, strict=True)]


def amended(point: Point, eta: float, products: Products) -> list[Tensor]:
    """g1 + g2' with g2' = -eta * d2L_train/(da dw) . H . dL_val/dw (amended-darts equation 6).

    The paper claims <g2', g2> >= 0, arguing that a positive semi-definite matrix stays so under a
    similarity transformation (A.5). That holds for its eigenvalues, not for the quadratic form of the
    non-symmetric matrix H^-1 M H: the claim is false in general, and a test shows a counterexample.
    Without a coefficient nothing is computed but g1.
    """
    if not eta:
        return first_order(point)
    direct, slopes = _both(point, point.weights)
    curved = point.total(products.hessian(train, point.weights, slopes) for train in point.train)
    mixed = _mixed(point, products, curved)
    return [g - eta * m for g, m in zip(direct, mixed, strict=True)]


def _both(point: Point, weights: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """The gradients of the validation loss in the architecture and in the weights."""
    leaves = [weight.detach().requires_grad_() for weight in weights]
    found = point.total(gradients(valid(leaves), [*point.arch, *leaves]) for valid in point.valid)
    return found[: len(point.arch)], found[len(point.arch) :]


def _mixed(point: Point, products: Products, vector: Sequence[Tensor]) -> list[Tensor]:
    return point.total(products.mixed(train, point.weights, point.arch, vector) for train in point.train)
