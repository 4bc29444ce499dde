"""Mirror descent's iterations against the dimension of the simplex (GAEA sections 3.1 and 3.2).

The problem: the loss <c, theta>, where the first op costs nothing and each of the k - 1 others `gap`, seen
through gradients c + noise * s with signs s drawn anew for every entry and step. Such gradients are at most
gap + noise in the largest entry, which is what exponentiated gradient depends on, and about k^(1/2) noise in
length, which is what gradient descent depends on. From equal weights, iterations are counted until the loss
is within `accuracy` of the best on the mean over runs, each geometry with the best of several rates: that of
its guarantee, accuracy / G^2 with G in the dual norm, times `factors`. The guarantees are
2 D G^2 / accuracy^2 steps, with D the divergence of the best corner from equal weights: ln(k) for the one,
(1 - 1 / k) / 2 for the other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dartboard.arch.optim import GEOMETRIES, Geometry
from dartboard.utils.progress import Progress, no_progress
from dartboard_papers.theory.bregman import bregman_stationarity

ENTROPY, EUCLIDEAN = "entropy", "euclidean-simplex"
FACTORS = (0.25, 1.0, 4.0, 16.0, 64.0, 256.0)
CPU = torch.device("cpu")
LOOK = 64
"""Steps between two checks for convergence; a check waits for the device."""


@dataclass(frozen=True)
class NoisyChoice:
    """The problem.

    Args:
        dimension: k.
        gap: What every op but the first costs.
        noise: Size of the signs that gradients are seen through.
    """

    dimension: int
    gap: float = 0.5
    noise: float = 1.0

    def costs(self, device: torch.device = CPU) -> Tensor:
        """The gradient c without noise, [k]."""
        costs = torch.full((self.dimension,), self.gap, device=device)
        costs[0] = 0.0
        return costs

    def start(self, device: torch.device = CPU) -> Tensor:
        """Equal weights [k]."""
        return torch.full((self.dimension,), 1 / self.dimension, device=device)

    def gradient_bound(self, geometry: Geometry) -> float:
        """G: the largest dual norm of a gradient."""
        return geometry.dual_norm(self.costs() + self.noise).item()

    def guarantee(self, name: str, accuracy: float) -> float:
        """Steps after which a geometry's mean iterate is promised to be within `accuracy`."""
        square = self.gradient_bound(GEOMETRIES[name]) ** 2
        distance = math.log(self.dimension) if name == ENTROPY else (1 - 1 / self.dimension) / 2
        return 2 * distance * square / accuracy**2

    def stationarity(self, name: str, scale: float = 1.0) -> float:
        """GAEA's equation 7 at the start; exact, as one mirror step is a linear loss' proximal point."""
        geometry, start = GEOMETRIES[name], self.start()
        step = geometry.step(start, self.costs(), lr=scale)
        return bregman_stationarity([start], [step], [geometry], scale=scale).item()


@dataclass(frozen=True)
class Iterations:
    """Iterations of one geometry.

    Args:
        dimension: k.
        geometry: Its name.
        steps: The fewest over the rates; None where none arrived in time.
        rate: The rate of those steps.
        guarantee: What theory promises for the mean iterate.
        stationarity: Equation 7 with lambda = 1 at the start, in this geometry.
    """

    dimension: int
    geometry: str
    steps: int | None
    rate: float | None
    guarantee: float
    stationarity: float


def count_iterations(
    problem: NoisyChoice,
    geometry: str,
    *,
    accuracy: float,
    runs: int = 16,
    factors: Sequence[float] = FACTORS,
    most: int = 100_000,
    seed: int = 0,
    device: torch.device = CPU,
) -> Iterations:
    """Steps until the mean loss over runs is within `accuracy` of the best, at the best rate.

    Args:
        problem: What is minimized.
        geometry: A name in `GEOMETRIES`: "entropy" or "euclidean-simplex".
        accuracy: epsilon.
        runs: How many the mean is over.
        factors: Rates, in terms of the one that the guarantee is for.
        most: When to give up.
        seed: Where the chance of the signs starts; all rates see the same ones.
        device: Where to compute.
    """
    metric = GEOMETRIES[geometry]
    rates = [factor * accuracy / problem.gradient_bound(metric) ** 2 for factor in factors]
    steps, place = _walk(problem, metric, rates, accuracy, runs, most, seed, device)
    rate = None if steps is None else rates[place]
    numbers = problem.guarantee(geometry, accuracy), problem.stationarity(geometry)
    return Iterations(problem.dimension, geometry, steps, rate, *numbers)


@torch.no_grad()
def _walk(
    problem: NoisyChoice,
    metric: Geometry,
    rates: Sequence[float],
    accuracy: float,
    runs: int,
    most: int,
    seed: int,
    device: torch.device,
) -> tuple[int | None, int]:
    """The step at which the first rate converges, and its index; rates run in parallel, [rates, runs, k]."""
    generator, costs = torch.Generator(device).manual_seed(seed), problem.costs(device)
    x = problem.start(device).repeat(len(rates), runs, 1)
    scales, state = torch.tensor(rates, device=device)[:, None, None], dict[str, Tensor]()

    def step() -> Tensor:
        signs = torch.randn((runs, problem.dimension), generator=generator, device=device).sign()
        metric.step_(x, scales * (costs + problem.noise * signs), state, lr=1.0)
        return problem.gap * (1 - x[..., 0]).mean(-1)

    for done in range(0, most, LOOK):
        gaps = torch.stack([step() for _ in range(min(LOOK, most - done))])
        arrived = (gaps <= accuracy).any(-1)
        if arrived.any():
            first = int(arrived.int().argmax())
            return done + first + 1, int(gaps[first].argmin())
    return None, 0


def survey_dimensions(
    dimensions: Sequence[int],
    *,
    geometries: Sequence[str] = (ENTROPY, EUCLIDEAN),
    accuracy: float = 0.1,
    gap: float = 0.5,
    noise: float = 1.0,
    runs: int = 16,
    most: int = 100_000,
    seed: int = 0,
    device: torch.device = CPU,
    tell: Progress = no_progress,
) -> list[Iterations]:
    """Iterations of exponentiated gradient and of projected gradient descent at each dimension.

    Args:
        dimensions: Of the simplex.
        geometries: Names in `GEOMETRIES`.
        accuracy: epsilon.
        gap: See `NoisyChoice`.
        noise: See `NoisyChoice`.
        runs: How many runs the means are over.
        most: When to give up.
        seed: Where the chance starts.
        device: Where to compute.
        tell: Progress callback.
    """
    counts: list[Iterations] = []
    for dimension in dimensions:
        for geometry in geometries:
            tell("mirror descent", len(counts), len(geometries) * len(dimensions))
            problem = NoisyChoice(dimension, gap, noise)
            counts.append(
                count_iterations(
                    problem, geometry, accuracy=accuracy, runs=runs, most=most, seed=seed, device=device
                )
            )
    return counts
