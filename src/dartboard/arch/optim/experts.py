"""Prediction with expert advice: the mathematics of XNAS' Algorithm 1, as functions of log weights.

A forecaster (an edge) mixes the predictions of N experts (its ops) with the weights u = v / sum v. Weights
are rows [..., N] of log v; only differences within a row matter, and -inf marks an expert that is out.

Algorithm 1 line 5 mixes f_{t-1,i}; its proof (equation 27) needs f_{t,i}, which is what a network does.
"""

import math

import torch
from torch import Tensor

from dartboard.arch.checks import check_count, check_number
from dartboard.arch.optim.simplex import move_logs


def feedback_horizon(examples: int, epochs: int, replicas: int) -> int:
    """How often experts are rewarded in a search, T = d * E * r (XNAS section 3.1).

    Args:
        examples: Validation examples an epoch, d.
        epochs: Epochs of the search, E.
        replicas: Cells in the stack that share the weights, r.
    """
    return examples * epochs * replicas


def theoretical_lr(experts: int, horizon: int, bound: float = 1.0) -> float:
    """The step size sqrt(2 ln N / (T L^2)) that minimises the regret bound (XNAS equation 4).

    Args:
        experts: Ops an edge, N.
        horizon: Feedbacks in the whole search, T.
        bound: Largest absolute reward, L.
    """
    check_count("experts", experts)
    check_count("horizon", horizon)
    check_number("bound", bound, "a number > 0", lambda value: value > 0)
    return math.sqrt(2 * math.log(experts) / horizon) / bound


def expert_rewards(loss_gradient: Tensor, predictions: Tensor) -> Tensor:
    """Rewards R_i = -grad_p l(p) . f_i [..., N] (XNAS Algorithm 1, line 8).

    This is minus the derivative of the loss with respect to the mixing weight u_i (equation 35).

    Args:
        loss_gradient: Of the loss at the forecaster's prediction p, [..., D].
        predictions: Of the experts, f, [..., N, D].
    """
    return -torch.einsum("...d,...nd->...n", loss_gradient, predictions)


def softmax_rewards(weights: Tensor, rewards: Tensor) -> Tensor:
    """Rewards u_i (R_i - sum_j u_j R_j) that gradient descent on softmax logits works with (XNAS equation 6).

    It is also the expected policy gradient in the logits when expert i is drawn with probability u_i and
    paid R_i; in u itself that expectation is R, which is section 3.1's remark. The remark is exact for the
    linearised reward R_i = -grad l(p) . f_i. When the drawn expert is paid its own loss, -l(f_i), it is
    exact for affine losses only.

    Args:
        weights: u, [..., N].
        rewards: R, [..., N].
    """
    return weights * (rewards - (weights * rewards).sum(-1, keepdim=True))


def clip_rewards(grad_per_feedback: Tensor, bound: float = 1.0) -> Tensor:
    """Rewards of single feedbacks, minus the gradients, clipped to [-bound, bound].

    Clip first and add up afterwards: the horizon counts feedbacks, each bounded.

    Args:
        grad_per_feedback: Of the loss of one example with respect to the weights in one replica,
            [..., N] with any leading axes; times the batch size where the loss was a mean.
        bound: L.
    """
    return (-grad_per_feedback).clamp(-bound, bound)


def update_log_weights(log_weights: Tensor, rewards: Tensor, lr: float) -> Tensor:
    """The sum log v + lr * rewards (XNAS Algorithm 1, line 9); experts that are out stay out."""
    return move_logs(log_weights, lr * rewards)


def wipeout_threshold(
    log_weights: Tensor, *, lr: float, remaining: int, bound: float = 1.0, zeta: float = 1.0
) -> Tensor:
    """Log of the weight below which an expert is dropped, [..., 1] (XNAS Algorithm 1, line 11).

    Args:
        log_weights: log v [..., N].
        lr: Step size, eta.
        remaining: Feedbacks to come, T - t; a search that overruns its horizon has 0, not fewer.
        bound: L.
        zeta: 1 is safe in the sense of Lemma 1, less drops sooner (section 3.2.1).
    """
    leader = log_weights.amax(-1, keepdim=True)
    return leader - 2 * lr * bound * max(remaining, 0) * zeta


def wipeout(
    log_weights: Tensor, *, lr: float, remaining: int, bound: float = 1.0, zeta: float = 1.0
) -> Tensor:
    """Log weights with -inf for every expert below the threshold (XNAS Algorithm 1, line 12).

    The leader is never below it, so a row keeps an expert; with nothing remaining only leaders are left.

    Lemma 1 says that the best expert in hindsight is never dropped at zeta = 1. Its proof compares final
    weights, so "best" means the largest sum of rewards that the run hands out, feedbacks must not exceed
    the horizon, and weights must start equal (or the start counts as reward). It does not hold for the
    expert with the smallest loss of its own, the one that the regret (equation 2) is measured against:
    rewards are linearised at the mixture, and for curved losses that expert can be dropped.
    In floating point, ties are broken by rounding.
    """
    threshold = wipeout_threshold(log_weights, lr=lr, remaining=remaining, bound=bound, zeta=zeta)
    return log_weights.masked_fill(log_weights < threshold, -math.inf)
