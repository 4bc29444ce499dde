"""Regret of a forecaster against its experts: measures, bounds (XNAS section 3.1), and a game to play."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from dartboard.arch.checks import check_count
from dartboard.arch.optim.expert_advice import update_log_weights, wipeout


def expected_loss(weights: Tensor, losses: Tensor) -> Tensor:
    """Loss sum_i u_i l(f_i) [...] of a forecaster that draws an expert i with probability u_i.

    It is at least the loss l(p) of the mixture where the loss is convex, and equal where it is affine.

    Args:
        weights: u, [..., N].
        losses: Of the experts, [..., N].
    """
    return (weights * losses).sum(-1)


def best_expert(losses: Tensor) -> Tensor:
    """Index of the expert with the smallest sum of losses [T, ..., N], in hindsight."""
    return losses.sum(0).argmin(-1)


def regret(forecaster: Tensor, experts: Tensor) -> Tensor:
    """Loss of the forecaster minus that of the best expert in hindsight (XNAS equation 2).

    Args:
        forecaster: l_t(p_t), [T, ...].
        experts: l_t(f_{t,i}), [T, ..., N].
    """
    return forecaster.sum(0) - experts.sum(0).amin(-1)


def linear_regret(weights: Tensor, rewards: Tensor) -> Tensor:
    """Regret in the linearized losses -R, the left side of XNAS equation 31; at least `regret` if convex.

    Args:
        weights: u of every round, [T, ..., N].
        rewards: R of every round, those of dropped experts included, [T, ..., N].
    """
    return regret(expected_loss(weights, -rewards), -rewards)


def log_wipeout_factor(before: Tensor, after: Tensor) -> Tensor:
    """Log of Gamma, 1 + the weight of dropped experts over that of the others, [...].

    Lemma 2 bounds the product over a run, 1 <= gamma < N. It needs N >= 2: a single expert has gamma = 1 = N.
    Its proof's first line (11) has v_{t-1} where the definition (28) has v_t; the definition counts.

    Args:
        before: log v after the update and before the wipeout, [..., N].
        after: The same with -inf for those dropped.
    """
    return before.logsumexp(-1) - after.logsumexp(-1)


def regret_bound(
    experts: int, horizon: int, lr: float, bound: float = 1.0, log_wipeout: float = 0.0
) -> float:
    """Bound eta T L^2 / 2 + (ln N - ln gamma) / eta on the regret in convex losses (XNAS Theorem 1).

    Rewards must be in [-L, L] and zeta must be 1; that losses are not negative, the proof never uses. It
    compares with the best expert by rewards, which keeps it true although the best by loss can be dropped;
    see `dartboard.arch.optim.expert_advice.wipeout`. (In equation 26 sums should run over I_{t-1}, not I_t.)

    Args:
        experts: N.
        horizon: T.
        lr: eta.
        bound: L.
        log_wipeout: ln gamma, the sum of `log_wipeout_factor` over the run; 0 is the worst case.
    """
    return lr * horizon * bound**2 / 2 + (math.log(experts) - log_wipeout) / lr


def best_regret_bound(experts: int, horizon: int, bound: float = 1.0, log_wipeout: float = 0.0) -> float:
    """L sqrt(2 T ln N) (1 - ln gamma / (2 ln N)), the bound at the theoretical lr (XNAS equation 4)."""
    check_count("experts", experts, least=2)
    saved = log_wipeout / (2 * math.log(experts))
    return bound * math.sqrt(2 * horizon * math.log(experts)) * (1 - saved)


@dataclass(frozen=True)
class Game:
    """What happened in T rounds.

    Args:
        weights: u that every round was played with, [T, ..., N].
        rewards: R of every round, [T, ..., N].
        log_weights: log v at the end, -inf for experts that are out, [..., N].
        log_wipeout: ln gamma, [...].
    """

    weights: Tensor
    rewards: Tensor
    log_weights: Tensor
    log_wipeout: Tensor


def play(
    reward: Callable[[int, Tensor], Tensor],
    start: Tensor,
    horizon: int,
    *,
    lr: float,
    bound: float = 1.0,
    zeta: float = 1.0,
) -> Game:
    """Play XNAS' Algorithm 1 for `horizon` rounds, one feedback a round.

    Args:
        reward: From the round (from 0) and the weights u [..., N] to the rewards of all experts [..., N], in
            [-bound, bound]; also of those that are out, whom they no longer help.
        start: log v at the start [..., N], zeros in the paper.
        horizon: T.
        lr: eta.
        bound: L.
        zeta: See `dartboard.arch.optim.expert_advice.wipeout_threshold`.
    """
    log_weights, log_factor = start, torch.zeros_like(start[..., 0])
    weights, rewards = [], []
    for t in range(horizon):
        weights.append(log_weights.softmax(-1))
        rewards.append(reward(t, weights[-1]))
        moved = update_log_weights(log_weights, rewards[-1], lr)
        log_weights = wipeout(moved, lr=lr, remaining=horizon - t - 1, bound=bound, zeta=zeta)
        log_factor = log_factor + log_wipeout_factor(moved, log_weights)
    return Game(torch.stack(weights), torch.stack(rewards), log_weights, log_factor)
