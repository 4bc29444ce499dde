"""Random problems for linear cells, and measurements of both cells beside the bounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from dartboard.registry import Registry
from dartboard.utils.progress import Progress, no_progress
from dartboard_papers.theory.linear_cells import (
    LinearProblem,
    Loss,
    claimed_smoothness,
    norms,
    smoothness,
    smoothness_bound,
    variance_bound,
    variances,
)

ROUNDING = 1e-9
"""Relative tolerance of the comparison with a bound."""
LOSSES: Registry[Loss] = Registry("loss")
"""Losses by name; targets have (n + 1) d entries."""


@LOSSES.register("squared")
def squared_error(z: Tensor, target: Tensor) -> Tensor:
    """Half the squared distance of the nodes and of their sum from the target: quadratic, couples the nodes.

    Args:
        z: [n, d].
        target: Of the sum and of the nodes, flat, [(n + 1) d].
    """
    seen = torch.cat([z.sum(0), z.flatten()])
    return (seen - target).square().sum() / 2


@LOSSES.register("logistic")
def logistic(z: Tensor, target: Tensor) -> Tensor:
    """Sum of log(1 + exp(-target * entry)) over the nodes and their sum: convex, with bounded slopes."""
    seen = torch.cat([z.sum(0), z.flatten()])
    return F.softplus(-seen * target).sum()


def random_problem(
    *, nodes: int, size: int, examples: int, length: float, loss: str = "squared", seed: int = 0
) -> LinearProblem:
    """A problem with Gaussian inputs, targets and weights.

    Args:
        nodes: n.
        size: d.
        examples: B.
        length: The 2-norm that every weight is scaled to.
        loss: A name in `LOSSES`.
        seed: Where the chance starts.
    """
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    weights = draw(nodes, size, size)
    weights = weights * length / norms(weights)[:, None, None]
    targets = draw(examples, (nodes + 1) * size)
    targets = targets.sign() if loss == "logistic" else targets
    return LinearProblem(weights, draw(examples, size), targets, LOSSES[loss])


def counterexample() -> LinearProblem:
    """A problem that breaks theorem 4.2: two nodes of one entry, both weights 2, input 1, f = |z|^2 / 2.

    The widest cell has f = (w_1^2 + w_2^2) / 2, so L_1 = L_2 = 1. The narrowest has f = (w_1^2 + w_1^2 w_2^2)
    / 2: its constants are 1 + w_2^2 = 5 and w_1^2 = 4, where the theorem allows L_1 = 1 and w_1 L_2 = 2.
    """
    weights = torch.full((2, 1, 1), 2.0, dtype=torch.float64)
    inputs, targets = torch.ones(1, 1, dtype=torch.float64), torch.zeros(1, 2, dtype=torch.float64)
    return LinearProblem(
        weights, inputs, targets, lambda z, target: (z.flatten() - target).square().sum() / 2
    )


@dataclass(frozen=True)
class CellComparison:
    """Both cells of one problem, a number for each of the weights, [n].

    Args:
        lengths: Norms of the weights.
        smooth_widest: Smoothness of the widest cell.
        smooth_narrowest: Of the narrowest.
        smooth_claimed: Theorem 4.2's bound on the latter.
        smooth_bound: The bound that holds for convex losses.
        variance_widest: Gradient variance of the widest cell.
        variance_products: The same with the weights of `products`.
        variance_narrowest: Of the narrowest cell.
        variance_same: Theorem 4.3's bound from the widest cell with the same weights.
        variance_bound: The same from the widest cell with the weights of `products`.
    """

    lengths: Tensor
    smooth_widest: Tensor
    smooth_narrowest: Tensor
    smooth_claimed: Tensor
    smooth_bound: Tensor
    variance_widest: Tensor
    variance_products: Tensor
    variance_narrowest: Tensor
    variance_same: Tensor
    variance_bound: Tensor


def compare(problem: LinearProblem) -> CellComparison:
    """Both cells of a problem, measured exactly, beside the bounds."""
    lengths, same_output = norms(problem.weights), problem.with_products()
    smooth, deep = smoothness("widest", problem), smoothness("widest", same_output)
    noise, noise_deep = variances("widest", problem), variances("widest", same_output)
    return CellComparison(
        lengths=lengths,
        smooth_widest=smooth,
        smooth_narrowest=smoothness("narrowest", problem),
        smooth_claimed=claimed_smoothness(lengths, smooth),
        smooth_bound=smoothness_bound(lengths, deep),
        variance_widest=noise,
        variance_products=noise_deep,
        variance_narrowest=variances("narrowest", problem),
        variance_same=variance_bound(lengths, noise),
        variance_bound=variance_bound(lengths, noise_deep),
    )


@dataclass(frozen=True)
class Survey:
    """Many random problems for each length of the weights.

    Args:
        lengths: 2-norms of all weights.
        rows: For each length, a comparison for each problem.
    """

    lengths: tuple[float, ...]
    rows: tuple[tuple[CellComparison, ...], ...]

    def stacked(self, name: str) -> Tensor:
        """A field of all comparisons, [lengths, problems, n]."""
        return torch.stack(
            [torch.stack([getattr(comparison, name) for comparison in row]) for row in self.rows]
        )

    def ratios(self, what: str) -> Tensor:
        """Sum over the weights of `smooth` or `variance`, narrowest / widest, [lengths, problems]."""
        narrow, wide = (self.stacked(f"{what}_{cell}").sum(-1) for cell in ("narrowest", "widest"))
        return narrow / wide

    def broken(self, measured: str, bound: str) -> Tensor:
        """Where a measured field is above the field that shall bound it, [lengths, problems, n]."""
        return self.stacked(measured) > self.stacked(bound) * (1 + ROUNDING)


def survey(
    lengths: Sequence[float],
    *,
    problems: int,
    nodes: int,
    size: int,
    examples: int,
    loss: str = "squared",
    seed: int = 0,
    tell: Progress = no_progress,
) -> Survey:
    """Both cells of random problems beside the bounds; arguments as in `random_problem`.

    Args:
        lengths: 2-norms that all weights are scaled to, one after the other.
        problems: How many for each length; the k-th has the same directions at every length.
        nodes: n.
        size: d.
        examples: B.
        loss: A name in `LOSSES`.
        seed: Where the chance of the first problem starts; the next have the numbers behind it.
        tell: Progress callback.
    """
    rows: list[tuple[CellComparison, ...]] = []
    for place, length in enumerate(lengths):
        make = partial(random_problem, nodes=nodes, size=size, examples=examples, length=length, loss=loss)
        row = []
        for number in range(problems):
            tell("linear cells", place * problems + number, len(lengths) * problems)
            row.append(compare(make(seed=seed + number)))
        rows.append(tuple(row))
    return Survey(tuple(lengths), tuple(rows))
