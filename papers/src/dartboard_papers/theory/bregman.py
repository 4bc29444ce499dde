"""How near a point is to being stationary, and what GAEA's theorems promise about it (section 3.2, B.2).

Two things to know about the promises, both shown in the tests:

- The proof of Theorem 2 takes f to be weakly convex in all blocks together, with the largest constant
  of the blocks. That does not follow from Setting 1, which asks for each block alone: c x y is linear in x
  and in y, yet needs the constant c in both. Assumption 1 of the main text adds gamma phi(theta) only, and so
  asks f to be convex in the weights. `curvature` below has to be the constant of all blocks together.
- Corollary 1, which is Theorem 1 for any number of blocks, has a smaller constant than Theorem 2 gives:
  Theorem 2 at the corollary's step size is 3/2 of it, and 2^(1/2) of it at the best one. The order is right.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dartboard.arch.checks import check_count, check_number
from dartboard.arch.optim.mirror_descent import Geometry


def block_step_size(
    gap: float, *, curvature: float, gradient_bound: float, iterations: int, blocks: int = 2
) -> float:
    """The step size sqrt(2 b F / (gamma L^2 T)) of GAEA's Theorem 1 (b = 2) and Corollary 1.

    Args:
        gap: Value at the start minus a lower bound of the function, F.
        curvature: gamma > 0 such that f + gamma phi is convex.
        gradient_bound: L, with L^2 the sum over blocks of G^2, the mean square of the gradient's dual norm.
        iterations: T.
        blocks: b.
    """
    _check(gap, curvature, gradient_bound, iterations, blocks)
    return math.sqrt(2 * blocks * gap / (curvature * gradient_bound**2 * iterations))


def block_iterations(
    gap: float, *, curvature: float, gradient_bound: float, accuracy: float, blocks: int = 2
) -> int:
    """Steps 8 gamma b L^2 F / eps^2 to stationarity `accuracy`, by GAEA's Theorem 1 and Corollary 1."""
    check_number("accuracy", accuracy, "a number > 0", lambda value: value > 0)
    _check(gap, curvature, gradient_bound, 1, blocks)
    return max(1, math.ceil(8 * curvature * blocks * gradient_bound**2 * gap / accuracy**2))


def stationarity_bound(
    gap: float, steps: Sequence[float], *, curvature: float, gradient_bound: float, blocks: int = 2
) -> float:
    """Bound of GAEA's Theorem 2 on the mean stationarity of the output, at lambda = 1 / (2 gamma).

    Args:
        gap: F, as in `block_step_size`; the theorem's min_u f(u) + 2 gamma D(u || x) - f* is at most that.
        steps: The step sizes, which must not increase. The output is iterate t with probability
            proportional to the t-th of them.
        curvature: gamma.
        gradient_bound: L.
        blocks: b.
    """
    _check(gap, curvature, gradient_bound, len(steps), blocks)
    noise = curvature * gradient_bound**2 / blocks * sum(step**2 for step in steps)
    return 2 * blocks * (gap + noise) / sum(steps)


def proximal_point(
    function: Callable[..., Tensor],
    points: Sequence[Tensor],
    geometries: Sequence[Geometry],
    *,
    scale: float,
    iterations: int = 100,
    lr: float = 0.5,
) -> list[Tensor]:
    """The proximal map argmin_u scale * f(u) + D(u || x) (GAEA definition 5), found by mirror descent.

    Args:
        function: f, of as many tensors as there are blocks.
        points: x, a tensor for each block.
        geometries: One for each block.
        scale: lambda; below 1 / gamma for the minimum to be unique.
        iterations: Mirror steps. The error shrinks by a constant factor in each.
        lr: Step size; 0.5 is right for scale = 1 / (2 gamma) and curvature gamma in both directions.
    """
    start = [x.detach() for x in points]
    current = start
    for _ in range(iterations):
        leaves = [u.clone().requires_grad_() for u in current]
        with torch.enable_grad():
            slopes = torch.autograd.grad(function(*leaves), leaves)
        current = [
            geometry.step(u, scale * slope + geometry.gradient(u) - geometry.gradient(x), lr=lr)
            for geometry, u, slope, x in zip(geometries, current, slopes, start, strict=True)
        ]
    return current


def bregman_stationarity(
    points: Sequence[Tensor], proximal: Sequence[Tensor], geometries: Sequence[Geometry], *, scale: float
) -> Tensor:
    """(D(x || p) + D(p || x)) / lambda^2, zero where nothing can be gained (GAEA equation 7), a scalar.

    With p = `proximal_point` it is the paper's measure; with p = one mirror step of size `scale` from x it is
    the cheap one that needs a gradient only, equal for linear functions. For smooth f without constraints
    and Euclidean geometry it bounds the squared gradient norm by a constant times itself.
    """
    total = [
        geometry.divergence(x, p) + geometry.divergence(p, x)
        for geometry, x, p in zip(geometries, points, proximal, strict=True)
    ]
    return torch.stack(total).sum() / scale**2


def _check(gap: float, curvature: float, gradient_bound: float, iterations: int, blocks: int) -> None:
    check_number("gap", gap, "a number >= 0", lambda value: value >= 0)
    check_number("curvature", curvature, "a number > 0", lambda value: value > 0)
    check_number("gradient_bound", gradient_bound, "a number > 0", lambda value: value > 0)
    check_count("iterations", iterations)
    check_count("blocks", blocks)
