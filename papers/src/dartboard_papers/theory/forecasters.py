"""Forecasters in expert problems: regret and correct selection in many runs at once (XNAS 3.1, 8.3).

All forecasters of a problem see the same draws, run by run, so they can be compared in pairs. Regret is
measured in the rewards as they are, also where a forecaster clips those that it learns from.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from dartboard.arch.optim.expert_advice import (
    clip_rewards,
    softmax_rewards,
    theoretical_lr,
    update_log_weights,
    wipeout,
)
from dartboard.errors import OptionError
from dartboard.utils.progress import Progress, no_progress
from dartboard_papers.theory.expert_problems import CPU, PROBLEMS, ExpertProblem, Gaussian
from dartboard_papers.theory.regret import best_regret_bound


@dataclass(frozen=True)
class Forecaster:
    """Update rule of log weights.

    Args:
        lr: Step size, eta.
        bound: Rewards are clipped to this before they are learned from; infinite for no clipping.
        softmax: Descend in the logits (equation 6) instead of learning from the rewards themselves.
        wipes: Drop experts as Algorithm 1 does, which needs a finite bound.
    """

    lr: float
    bound: float = math.inf
    softmax: bool = False
    wipes: bool = False

    def move(self, logs: Tensor, weights: Tensor, rewards: Tensor, remaining: int) -> Tensor:
        """Log weights [R, N] after a round, with `remaining` rounds to come."""
        seen = clip_rewards(-rewards, self.bound)
        learned = softmax_rewards(weights, seen) if self.softmax else seen
        moved = update_log_weights(logs, learned, self.lr)
        if not self.wipes:
            return moved
        return wipeout(moved, lr=self.lr, remaining=remaining, bound=self.bound)


@dataclass(frozen=True)
class ForecastResult:
    """Results of all runs.

    Args:
        regret: Reward of the best expert in hindsight minus that of the forecaster, [R] (equation 2).
        correct: Whether the best expert has the largest weight in the end, [R]; None where there is no best.
        left: How many experts are not out, [R].
    """

    regret: Tensor
    correct: Tensor | None
    left: Tensor


@torch.no_grad()
def contest(problem: ExpertProblem, forecaster: Forecaster) -> ForecastResult:
    """Runs a forecaster on a problem from equal weights; one round is in memory at a time."""
    logs = torch.zeros(problem.shape, device=problem.device)
    totals, earned = torch.zeros_like(logs), torch.zeros_like(logs[:, 0])
    for step in range(problem.horizon):
        weights = logs.softmax(-1)
        rewards = problem.rewards(step, weights)
        totals += rewards
        earned += (weights * rewards).sum(-1)
        logs = forecaster.move(logs, weights, rewards, problem.horizon - step - 1)
    regret, left = totals.amax(-1) - earned, (logs > -math.inf).sum(-1)
    best = problem.best()
    return ForecastResult(regret, None if best is None else logs.argmax(-1) == best, left)


@dataclass(frozen=True)
class Standing:
    """Result of a forecaster on a problem, over all runs.

    Args:
        forecaster: Its name.
        experts: N.
        lr: Its step size.
        regret: The mean.
        error: Standard error of the mean regret; None of one run.
        correct: Share of runs in which the best expert was selected; None where no expert is the best.
    """

    forecaster: str
    experts: int
    lr: float
    regret: float
    error: float | None
    correct: float | None


def stand(name: str, problem: ExpertProblem, forecaster: Forecaster) -> Standing:
    """Result of a forecaster on a fresh problem."""
    outcome, (runs, experts) = contest(problem, forecaster), problem.shape
    error = outcome.regret.std().item() / math.sqrt(runs) if runs > 1 else None
    correct = None if outcome.correct is None else outcome.correct.double().mean().item()
    return Standing(name, experts, forecaster.lr, outcome.regret.mean().item(), error, correct)


@dataclass(frozen=True)
class Race:
    """Results of forecasters on a problem, for several numbers of experts.

    Args:
        standings: Of each number of experts and each forecaster.
        bounds: By number of experts, XNAS' bound on the regret (equation 4 with gamma = 1).
    """

    standings: tuple[Standing, ...]
    bounds: Mapping[int, float]


def race(
    problem: str,
    experts: Sequence[int],
    *,
    runs: int = 1000,
    horizon: int = 1000,
    noise: float | None = None,
    lr: float | None = None,
    seed: int = 0,
    device: torch.device = CPU,
    tell: Progress = no_progress,
) -> Race:
    """XNAS, exponentiated gradient without clipping and wipeout, and GD with softmax in an expert problem.

    Args:
        problem: A name in `PROBLEMS`.
        experts: Numbers of experts, one after the other.
        runs: How many runs.
        horizon: Rounds of a run.
        noise: Standard deviation of the rewards, where the problem has one.
        lr: Step size of all three; by default the theoretical one of XNAS (equation 4).
        seed: Where the chance starts.
        device: Where to compute.
        tell: Progress callback.

    Raises:
        OptionError: If the problem takes no noise.
    """
    standings, bounds = [], {}
    for place, count in enumerate(experts):
        make = partial(_make, problem, runs, count, horizon, noise, seed, device)
        bound = make().bound
        bounds[count] = best_regret_bound(count, horizon, bound)
        for number, (name, forecaster) in enumerate(usual(count, horizon, bound, lr).items()):
            tell("expert problems", 3 * place + number, 3 * len(experts))
            standings.append(stand(name, make(), forecaster))
    return Race(tuple(standings), bounds)


def usual(experts: int, horizon: int, bound: float, lr: float | None = None) -> dict[str, Forecaster]:
    """The three forecasters of `race` by name."""
    rate = theoretical_lr(experts, horizon, bound) if lr is None else lr
    return {
        "XNAS": Forecaster(rate, bound, wipes=True),
        "EG": Forecaster(rate),
        "GD with softmax": Forecaster(rate, bound, softmax=True),
    }


def _make(
    problem: str,
    runs: int,
    experts: int,
    horizon: int,
    noise: float | None,
    seed: int,
    device: torch.device,
) -> ExpertProblem:
    kind = PROBLEMS[problem]
    if noise is None:
        return kind(runs, experts, horizon, seed=seed, device=device)
    if not issubclass(kind, Gaussian):
        raise OptionError(f"rewards of {problem!r} have no noise to set; leave it out, or use 'gaussian'")
    return kind(runs, experts, horizon, seed=seed, device=device, noise=noise)
