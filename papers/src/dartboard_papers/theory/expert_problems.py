"""Expert problems: rewards of N experts in many runs at once, rows of [R, N]."""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor

from dartboard.registry import Registry

CPU = torch.device("cpu")


class ExpertProblem(ABC):
    """Rewards of N experts in R runs; made anew for every forecaster, from the same seed.

    Args:
        runs: R.
        experts: N.
        horizon: T.
        seed: Where its chance starts.
        device: Where to compute.
    """

    bound = 1.0
    """The largest absolute reward, or what rewards are clipped to where there is none."""

    def __init__(
        self, runs: int, experts: int, horizon: int, *, seed: int = 0, device: torch.device = CPU
    ) -> None:
        self.shape, self.horizon, self.device = (runs, experts), horizon, device
        self.generator = torch.Generator(device).manual_seed(seed)

    @abstractmethod
    def rewards(self, step: int, weights: Tensor) -> Tensor:
        """What each expert is paid in a round (from 0), [R, N], where the forecaster has weights u [R, N]."""

    @abstractmethod
    def best(self) -> Tensor | None:
        """The expert that is to be selected in each run, [R]; None where none is better than the others."""

    def normal(self) -> Tensor:
        """Standard normal numbers [R, N]."""
        return torch.randn(self.shape, generator=self.generator, device=self.device)


PROBLEMS: Registry[type[ExpertProblem]] = Registry("expert problem")
"""Expert problems by name."""


@PROBLEMS.register("gaussian")
class Gaussian(ExpertProblem):
    """Rewards N(b_i, sigma^2) with values b_i ~ N(0, 1): the statistical setting of section 8.3.

    Such rewards have no bound. They are clipped at three standard deviations, 3 (1 + sigma^2)^(1/2).

    Args:
        noise: sigma.
    """

    def __init__(
        self,
        runs: int,
        experts: int,
        horizon: int,
        *,
        seed: int = 0,
        device: torch.device = CPU,
        noise: float = 1.0,
    ) -> None:
        super().__init__(runs, experts, horizon, seed=seed, device=device)
        self.noise, self.values = noise, self.normal()
        self.bound = 3 * math.sqrt(1 + noise**2)

    def rewards(self, step: int, weights: Tensor) -> Tensor:  # noqa: ARG002
        return torch.add(self.values, self.normal(), alpha=self.noise)

    def best(self) -> Tensor:
        return self.values.argmax(-1)


@PROBLEMS.register("coins")
class Coins(ExpertProblem):
    """Rewards of 1 or -1 by fair coins: no expert is better, and regret cannot be avoided."""

    def rewards(self, step: int, weights: Tensor) -> Tensor:  # noqa: ARG002
        return self.normal().sign()

    def best(self) -> None:
        return None


@PROBLEMS.register("late-bloomer")
class LateBloomer(ExpertProblem):
    """The last expert is paid -1 for a quarter of the time and 1 from then on, the others noise around 0."""

    def rewards(self, step: int, weights: Tensor) -> Tensor:  # noqa: ARG002
        paid = (self.normal() / 2).clamp(-1, 1)
        paid[:, -1] = -1.0 if step < self.horizon / 4 else 1.0
        return paid

    def best(self) -> Tensor:
        return torch.full(self.shape[:1], self.shape[1] - 1, device=self.device)


@PROBLEMS.register("adversary")
class Adversary(ExpertProblem):
    """Whoever has the largest weight is paid -1 and all others 1: rewards that answer the forecaster."""

    def rewards(self, step: int, weights: Tensor) -> Tensor:  # noqa: ARG002
        return torch.ones_like(weights).scatter(-1, weights.argmax(-1, keepdim=True), -1.0)

    def best(self) -> None:
        return None
