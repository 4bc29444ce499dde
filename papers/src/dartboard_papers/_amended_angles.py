"""Second derivatives in full, of random problems and of small networks, and the angles that A.5 is about."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dartboard.arch.hvp import Exact
from dartboard.arch.hypergradient import BilevelProblem, amended, first_order, train_grads

INPUTS, HIDDEN, EXAMPLES, PENALTY = 4, 5, 24, 0.05
WEIGHTS, ARCHS = INPUTS * HIDDEN + HIDDEN, 6
"""Of a small network."""
FLAT = 1e-11
"""A slope of the training loss below this is that of a minimum."""
LEAST, LONGEST = 1e-3, 0.3
"""The least curvature that Newton's step divides by, and the longest step."""


@dataclass(frozen=True)
class Problem:
    """Second derivatives at a point, or at many with leading axes.

    Args:
        hessian: Of the training loss in the weights, H [W, W].
        mixed: Of the training loss, M [A, W].
        slope: Of the validation loss in the weights, v [W].
    """

    hessian: Tensor
    mixed: Tensor
    slope: Tensor

    def true(self) -> Tensor:
        """g2 = -M H^-1 v, [A]."""
        return -_times(self.mixed, torch.linalg.solve(self.hessian, self.slope.unsqueeze(-1)).squeeze(-1))

    def estimates(self) -> tuple[Tensor, Tensor]:
        """g2' = -M H v and g2'' = -M v, which take its place in amended and second-order DARTS, [A] each."""
        return -_times(self.mixed, _times(self.hessian, self.slope)), -_times(self.mixed, self.slope)

    def cosines(self) -> tuple[Tensor, Tensor]:
        """Of the angles that g2' and g2'' make with g2."""
        true = self.true()
        amending, second = (torch.cosine_similarity(own, true, dim=-1, eps=0) for own in self.estimates())
        return amending, second

    def worst(self) -> Tensor:
        """The smallest eigenvalue of H^-1 M'M H + H M'M H^-1; below zero some slope breaks the claim."""
        turned = torch.linalg.solve(self.hessian, self.mixed.mT @ self.mixed @ self.hessian)
        values: Tensor = torch.linalg.eigvalsh(turned + turned.mT)
        return values[..., 0]


def _times(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def random_problems(count: int, weights: int, archs: int, condition: float, seed: int = 0) -> Problem:
    """Problems with a positive definite Hessian, `count` of them along the first axis.

    Its axes are random and its eigenvalues lie evenly on a logarithmic scale; M and v are normal.
    """
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(count, *shape, generator=generator, dtype=torch.float64)

    axes = torch.linalg.qr(draw(weights, weights)).Q
    scales = torch.logspace(0.0, float(np.log10(condition)), weights, dtype=torch.float64)
    return Problem((axes * scales) @ axes.mT, draw(archs, weights), draw(weights))


def make_network(seed: int) -> BilevelProblem:
    """The start of a network of two layers, each with a mixture of three activations, and data of its own."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    teacher = draw(INPUTS, 1)
    weights = [draw(INPUTS, HIDDEN) / INPUTS**0.5, draw(HIDDEN, 1) / HIDDEN**0.5]
    alpha = (0.5 * draw(2, ARCHS // 2)).requires_grad_()
    images = [draw(EXAMPLES, INPUTS) for _ in range(2)]
    train, valid = ((x, torch.sin(x @ teacher) + 0.3 * draw(EXAMPLES, 1)) for x in images)

    def loss(data: tuple[Tensor, Tensor], at: Sequence[Tensor]) -> Tensor:
        said = _mixture(_mixture(data[0] @ at[0], alpha[0]) @ at[1], alpha[1])
        return (said - data[1]).square().mean()

    def penalised(at: Sequence[Tensor]) -> Tensor:
        return loss(train, at) + PENALTY * torch.stack([weight.square().sum() for weight in at]).sum()

    return BilevelProblem([penalised], [lambda at: loss(valid, at)], weights, [alpha])


def _mixture(x: Tensor, alpha: Tensor) -> Tensor:
    shares = alpha.softmax(0)
    return shares[0] * torch.tanh(x) + shares[1] * x + shares[2] * torch.sin(x)


def moved(point: BilevelProblem, weights: Sequence[Tensor]) -> BilevelProblem:
    """The same problem at other weights."""
    return BilevelProblem(point.train, point.valid, [weight.detach() for weight in weights], point.arch)


def trained(point: BilevelProblem, steps: int, lr: float = 0.1) -> BilevelProblem:
    """The same after so many steps of descent on the training loss."""
    for _ in range(steps):
        pairs = zip(point.weights, train_grads(point), strict=True)
        point = moved(point, [weight - lr * slope for weight, slope in pairs])
    return point


def at_minimum(point: BilevelProblem, steps: int = 300, most: int = 100) -> BilevelProblem:
    """The same at a minimum of the training loss: descent, then Newton's steps that leave saddles."""
    point = trained(point, steps)
    for _ in range(most):
        slope = _flat(train_grads(point))
        if slope.norm() < FLAT:
            break
        values, axes = torch.linalg.eigh(derivatives(point).hessian)
        step = axes @ (axes.mT @ slope / values.abs().clamp_min(LEAST))
        step = step * (LONGEST / step.norm()).clamp_max(1.0)
        point = moved(point, _like(_flat(point.weights) - step, point.weights))
    return point


def _flat(weights: Sequence[Tensor]) -> Tensor:
    return torch.cat([weight.flatten() for weight in weights])


def _like(flat: Tensor, weights: Sequence[Tensor]) -> list[Tensor]:
    parts = flat.split([weight.numel() for weight in weights])
    return [part.view_as(weight) for part, weight in zip(parts, weights, strict=True)]


def derivatives(point: BilevelProblem) -> Problem:
    """Whole matrices of second derivatives."""
    flat = _flat(point.weights).requires_grad_()
    loss = point.train[0](_like(flat, point.weights))
    (slope,) = torch.autograd.grad(loss, flat, create_graph=True)
    rows = torch.eye(len(flat), dtype=flat.dtype)
    hessian, mixed = torch.autograd.grad(slope, [flat, *point.arch], rows, is_grads_batched=True)
    (valid,) = torch.autograd.grad(point.valid[0](_like(flat, point.weights)), flat)
    return Problem(hessian, mixed.flatten(1).mT, valid)


@dataclass(frozen=True)
class Angles:
    """What was found at a network.

    Args:
        curvature: The smallest eigenvalue of its Hessian.
        slope: The norm of the training loss's slope, zero at a minimum.
        amending: The cosine of the angle between g2' and g2.
        second: That between g2'' and g2.
        worst: See `Problem.worst`.
        nearer: Whether g1 + g2' makes a smaller angle with the true gradient than g1 alone.
    """

    curvature: float
    slope: float
    amending: float
    second: float
    worst: float
    nearer: bool

    @property
    def minimum(self) -> bool:
        """Whether this is a minimum with a positive definite Hessian."""
        return self.curvature > 0 and self.slope < 1e3 * FLAT


def look_at(point: BilevelProblem, eta: float) -> Angles:
    """The angles at a network, with g1 and the amended gradient as searches compute them."""
    found = derivatives(point)
    direct, near = (own[0].flatten() for own in (first_order(point), amended(point, eta, Exact())))
    true = direct + found.true()
    alone, together = (torch.cosine_similarity(own, true, dim=0).item() for own in (direct, near))
    amending, second = (own.item() for own in found.cosines())
    return Angles(
        curvature=torch.linalg.eigvalsh(found.hessian)[0].item(),
        slope=_flat(train_grads(point)).norm().item(),
        amending=amending,
        second=second,
        worst=found.worst().item(),
        nearer=together > alone,
    )
