"""Architecture gradients that look through the training of the weights.

The exact gradient of L_val(w*(a), a) is g1 + g2 with g1 = dL_val / da and
g2 = -d2L_train/(da dw) . H^-1 . dL_val/dw, H = d2L_train/dw2 (amended-darts equation 5). DARTS' first order
keeps g1; its second order unrolls one step of training; the amended gradient replaces H^-1 by eta H.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils import get_total_norm
from torch.optim import SGD, Optimizer

from dartboard.arch.hvp import HessianProducts, Loss
from dartboard.arch.microbatch import sum_lists
from dartboard.arch.objective import gradients
from dartboard.errors import CompositionError


@dataclass(frozen=True)
class BilevelProblem:
    """The two losses of a bilevel problem as functions of the weights, at the point of the gradient.

    A loss may come in parts, one for each micro-batch: it is their sum, and no two of them are held in
    memory together.

    Args:
        train: The training loss at given weights, in parts.
        valid: The validation loss at given weights, in parts.
        weights: The weights, as they are.
        arch: The architecture parameters, leaves that both losses read.
        reduce: Sums lists of tensors, one a part, entry by entry; over all ranks where they share the losses.
    """

    train: Sequence[Loss]
    valid: Sequence[Loss]
    weights: Sequence[Tensor]
    arch: Sequence[Tensor]
    reduce: Callable[[Iterable[Sequence[Tensor]]], list[Tensor]] = sum_lists


def first_order(problem: BilevelProblem) -> list[Tensor]:
    """g1: the gradient of the validation loss at the weights as they are."""
    weights = [weight.detach() for weight in problem.weights]
    return problem.reduce(gradients(valid(weights), problem.arch) for valid in problem.valid)


def train_grads(problem: BilevelProblem) -> list[Tensor]:
    """The gradient of the training loss in the weights, which a virtual step follows."""
    leaves = [weight.detach().requires_grad_() for weight in problem.weights]
    return problem.reduce(gradients(train(leaves), leaves) for train in problem.train)


def second_order(
    problem: BilevelProblem, unrolled: Sequence[Tensor], lr: float, products: HessianProducts
) -> list[Tensor]:
    """The gradient of L_val(w - lr * (dL_train/dw + ...), a): DARTS' second order.

    Args:
        problem: The losses.
        unrolled: The weights after one virtual step of training; what the step adds to the gradient
            (momentum, weight decay) does not depend on the architecture.
        lr: The step's learning rate, xi.
        products: How the mixed derivative is multiplied.
    """
    direct, weight_grads = _valid_grads(problem, unrolled)
    mixed = _mixed_product(problem, products, weight_grads)
    return [g - lr * m for g, m in zip(direct, mixed, strict=True)]


def amended(
    problem: BilevelProblem, eta: float, products: HessianProducts, *, bounded: bool = False
) -> list[Tensor]:
    """g1 + g2' with g2' = -eta * d2L_train/(da dw) . H . dL_val/dw (amended-darts equation 6).

    The paper claims <g2', g2> >= 0, arguing that a positive semi-definite matrix stays so under a
    similarity transformation (A.5). That holds for its eigenvalues, not for the quadratic form of the
    non-symmetric matrix H^-1 M H: the claim is false in general, and a test shows a counterexample.
    With eta = 0 nothing is computed but g1.

    With `bounded` g2' is made shorter where it is longer than g1. eta H stands in for the inverse of H, which
    is right in size only where eta is one over the square of an eigenvalue; this needs no such eta.
    """
    if not eta:
        return first_order(problem)
    direct, weight_grads = _valid_grads(problem, problem.weights)
    curved = problem.reduce(products.hessian(train, problem.weights, weight_grads) for train in problem.train)
    mixed = _mixed_product(problem, products, curved)
    factor: float | Tensor = eta
    if bounded:
        limit, length = get_total_norm(direct), get_total_norm(mixed)
        factor = torch.where(eta * length > limit, limit / length, eta)
    return [g - factor * m for g, m in zip(direct, mixed, strict=True)]


def _valid_grads(problem: BilevelProblem, weights: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """The gradients of the validation loss in the architecture and in the weights."""
    leaves = [weight.detach().requires_grad_() for weight in weights]
    grads = problem.reduce(gradients(valid(leaves), [*problem.arch, *leaves]) for valid in problem.valid)
    return grads[: len(problem.arch)], grads[len(problem.arch) :]


def _mixed_product(
    problem: BilevelProblem, products: HessianProducts, vector: Sequence[Tensor]
) -> list[Tensor]:
    """d2L_train/(da dw) . vector."""
    return problem.reduce(
        products.mixed(train, problem.weights, problem.arch, vector) for train in problem.train
    )


@torch.no_grad()
def virtual_step(
    optimizer: Optimizer, weights: Sequence[Tensor], grads: Sequence[Tensor]
) -> tuple[list[Tensor], float]:
    """The weights as a step of stochastic gradient descent would leave them; nothing is changed.

    Momentum and weight decay take part as in `torch.optim.SGD`; neither depends on the architecture.

    Args:
        optimizer: The weight optimizer, with one group of parameters.
        weights: The parameters.
        grads: Their gradients.

    Returns:
        The weights after the step, and the rate at which they follow their gradients.

    Raises:
        CompositionError: If the optimizer is another one than plain SGD.
    """
    if not isinstance(optimizer, SGD) or len(optimizer.param_groups) != 1:
        raise CompositionError(
            "the second order gradient unrolls a step of SGD with one group of weights, and these are "
            f"trained by {type(optimizer).__name__} with {len(optimizer.param_groups)}; "
            "use the first order gradient"
        )
    group = optimizer.param_groups[0]
    lr, momentum, nesterov = group["lr"], group["momentum"], group["nesterov"]
    moved = []
    for weight, grad in zip(weights, grads, strict=True):
        decayed = grad + group["weight_decay"] * weight
        buffer = optimizer.state.get(weight, {}).get("momentum_buffer")
        velocity = decayed if buffer is None else momentum * buffer + decayed
        moved.append(weight - lr * (decayed + momentum * velocity if nesterov else velocity))
    return moved, lr * (1 + momentum if nesterov else 1)
