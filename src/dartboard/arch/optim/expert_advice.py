"""Prediction with expert advice (XNAS Algorithm 1): its mathematics, and a torch optimizer.

A forecaster (an edge) mixes the predictions of N experts (its ops) with the weights u = v / sum v. Weights
are rows [..., N] of log v; only differences within a row matter, and -inf marks an expert that was dropped.

In a search `arch.gradient.ClippedRewards` computes the rewards, as gradients in the leaves of
`relax.base.PerExample`, and clips them with `clip_rewards`. `expert_rewards` and `softmax_rewards` are the
formulas of the paper, which tests and the papers' studies check it against.

Algorithm 1 line 5 mixes f_{t-1,i}; its proof (equation 27) needs f_{t,i}, which is what a network does.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from dartboard.arch.checks import ParamGroup, check_count, check_not_negative, check_number, check_rows
from dartboard.arch.optim.exponentiated_gradient import (
    State,
    UpdateRule,
    drop_,
    normalize_logs,
    read_logs,
    shift_logs,
    write_logs_,
)
from dartboard.errors import UpdateError


def feedback_horizon(examples: int, epochs: int, replicas: int) -> int:
    """How often experts are rewarded in a search, T = d * E * r (XNAS section 3.1).

    Args:
        examples: Validation examples per epoch, d.
        epochs: Epochs of the search, E.
        replicas: Cells in the stack that share the weights, r.
    """
    return examples * epochs * replicas


def theoretical_lr(experts: int, horizon: int, bound: float = 1.0) -> float:
    """The step size sqrt(2 ln N / (T L^2)) that minimizes the regret bound (XNAS equation 4).

    Args:
        experts: Ops per edge, N.
        horizon: Feedbacks in the search, T.
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
    linearized reward R_i = -grad l(p) . f_i. When the drawn expert is paid its own loss, -l(f_i), it is
    exact for affine losses only.

    Args:
        weights: u, [..., N].
        rewards: R, [..., N].
    """
    return weights * (rewards - (weights * rewards).sum(-1, keepdim=True))


def clip_rewards(grad_per_feedback: Tensor, bound: float | None = 1.0) -> Tensor:
    """Rewards of single feedbacks, minus the gradients, clipped to [-bound, bound].

    Clip first and add up afterwards: the horizon counts feedbacks, each bounded.

    Args:
        grad_per_feedback: Of the loss of one example with respect to the weights in one replica,
            [..., N] with any leading axes; times the batch size where the loss was a mean.
        bound: L; None does not clip.
    """
    return -grad_per_feedback if bound is None else (-grad_per_feedback).clamp(-bound, bound)


@dataclass(frozen=True)
class RewardRange:
    """How large the rewards were that a gradient is the sum of; `ExpertAdvice` finds it as `theta.rewards`.

    Args:
        largest: The largest absolute reward, before it was clipped.
        clipped: The fraction of rewards that were clipped.
    """

    largest: Tensor
    clipped: Tensor


def double_bound(bound: Tensor, largest: Tensor) -> Tensor:
    """The bound, doubled as often as it takes to hold for the largest absolute reward.

    A bound of zero, where there was no reward yet, becomes the smallest power of two that holds.
    """
    start = torch.where(bound > 0, bound, 1.0)
    doubled = start * torch.exp2((largest / start).log2().ceil())
    return torch.where(largest > bound, doubled, bound)


def update_log_weights(log_weights: Tensor, rewards: Tensor, lr: float) -> Tensor:
    """The sum log v + lr * rewards (XNAS Algorithm 1, line 9); dropped experts stay dropped."""
    return shift_logs(log_weights, lr * rewards)


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

    The leader is never below it, so a row keeps at least one; with nothing remaining only leaders are left.

    Lemma 1 says that the best expert in hindsight is never dropped at zeta = 1. Its proof compares final
    weights, so "best" means the largest sum of rewards in the run, feedbacks must not exceed
    the horizon, and weights must start equal (or the start counts as reward). It does not hold for the
    expert with the smallest loss of its own, the one that the regret (equation 2) is measured against:
    rewards are linearized at the mixture, and for curved losses that expert can be dropped.
    In floating point, ties are broken by rounding.
    """
    threshold = wipeout_threshold(log_weights, lr=lr, remaining=remaining, bound=bound, zeta=zeta)
    return log_weights.masked_fill(log_weights < threshold, -math.inf)


def expert_advice_(
    theta: Tensor,
    gradient: Tensor,
    state: State,
    *,
    lr: float,
    remaining: int,
    bound: float = 1.0,
    zeta: float = 1.0,
) -> None:
    """One step of `ExpertAdvice` with a fixed bound on one parameter and its state, both changed in place.

    `remaining` counts the feedbacks that come after those in `gradient`.
    """
    log_weights = update_log_weights(read_logs(theta, state), -gradient, lr)
    log_weights = wipeout(log_weights, lr=lr, remaining=remaining, bound=bound, zeta=zeta)
    write_logs_(theta, normalize_logs(log_weights), state)


def auto_expert_advice_(
    theta: Tensor,
    gradient: Tensor,
    state: State,
    *,
    lr: float,
    remaining: int,
    largest: Tensor,
    zeta: float = 1.0,
) -> None:
    """One step of `ExpertAdvice` with a bound that is measured; changes the parameter and its state in place.

    Args:
        theta: The weights.
        gradient: Minus the sum of the rewards.
        state: Has the bound so far.
        lr: Step size for a bound of 1.
        remaining: Number of feedbacks that come after those in `gradient`.
        largest: The largest absolute reward in `gradient`.
        zeta: As in `wipeout`.
    """
    before = state.get("bound", torch.zeros_like(largest))
    bound = double_bound(before, largest)
    rate = torch.where(bound > 0, lr / bound, 0.0)
    # log v = rate * sum of rewards, so the same sum at the new rate is a multiple of it.
    ratio = torch.where(before > 0, before / bound, 1.0)
    log_weights = shift_logs(ratio * read_logs(theta, state), -rate * gradient)
    threshold = log_weights.amax(-1, keepdim=True) - 2 * lr * max(remaining, 0) * zeta  # rate * bound = lr
    log_weights = log_weights.masked_fill(log_weights < threshold, -math.inf)
    state["bound"] = bound
    write_logs_(theta, normalize_logs(log_weights), state)


class ExpertAdvice(UpdateRule):
    """Exponentiated gradient with wipeout: v <- v * exp(lr * rewards), then drop what cannot win any more.

    Each row (last dimension) is a forecaster, its entries u = v / sum v the weights of its experts. The
    gradient of a parameter is minus the sum of the rewards of `feedbacks` single feedbacks, each clipped to
    [-bound, bound] before it was added (`clip_rewards`); with `maximize` it is their sum. A group
    has its own horizon, since normal and reduction cells are not rewarded equally often, and
    `param_groups[i]["seen"]` counts the feedbacks it has had.

    With `bound=None` rewards are not clipped; the bound is the smallest power of two that has held for all of
    them, and doubles when one exceeds it. The step size is `lr / bound` and v = exp(lr / bound * sum of all
    rewards), so that after a doubling the weights are those that the new rate would have given from the
    start. Let M be the largest absolute reward, L < 2 M the last bound, and `lr` = sqrt(2 ln N / T). If
    feedbacks come one at a time, the regret to the best expert is at most L (sqrt(2 T ln N) + 4): with v as
    above and a rate that never grows it is at most ln N / rate + sum_t rate_t L_t^2 / 2, as for a fixed rate,
    but for steps in which the bound doubles. Such a step costs at most 2 L_t, and these sum to at most 4 L.
    An expert is dropped if it is behind by more than 2 bound (T - t) in its sum of rewards, whatever the rate
    was. So no expert that is dropped after the last doubling can be the best in hindsight (Lemma 1); one that
    was dropped before could be, if the rewards that made the bound double favor it.

    A dropped expert is exactly zero for ever; a row keeps at least its leader. Log weights are kept as in
    `ExponentiatedGradient`, with the same meaning of changes from outside. A step never waits for the
    device; `dropped` and `facts` do.

    Args:
        params: Parameters or groups, float32 or float64, rows on the simplex, uniform in the paper.
        lr: Step size, eta; `theoretical_lr` gives the paper's. Without a bound it is that for a bound of 1.
        horizon: Feedbacks in the search, T. Lemma 1 holds only if there will not be more.
        feedbacks: Feedbacks in one step, examples times replicas; a number of the group, to be
            changed between steps where a batch is smaller.
        bound: L, the bound that rewards were clipped to; None measures it, by the `RewardRange` that a
            parameter has as its attribute `rewards`.
        zeta: 0 < zeta <= 1; less than 1 drops sooner, without the safety of Lemma 1.
        maximize: Gradients are rewards.

    Examples:
        >>> import torch
        >>> from dartboard import ExpertAdvice
        >>> weights = torch.full((1, 2), 0.5, requires_grad=True)
        >>> optimizer = ExpertAdvice([weights], lr=1.0, horizon=2, maximize=True)
        >>> weights.grad = torch.tensor([[1.0, -1.0]])
        >>> optimizer.step(), optimizer.step()
        (None, None)
        >>> weights.detach(), optimizer.alive(weights)
        (tensor([[1., 0.]]), tensor([[ True, False]]))
    """

    fixed_horizon = True  # what was dropped could not win before the horizon, and could after it

    def __init__(
        self,
        params: ParamsT,
        lr: float,
        *,
        horizon: int,
        feedbacks: int = 1,
        bound: float | None = 1.0,
        zeta: float = 1.0,
        maximize: bool = False,
    ) -> None:
        defaults = {"lr": lr, "horizon": horizon, "feedbacks": feedbacks, "bound": bound, "zeta": zeta}
        super().__init__(params, {**defaults, "maximize": maximize, "seen": 0})

    def _check_group(self, group: ParamGroup) -> None:
        check_not_negative("lr", group["lr"])
        check_count("horizon", group["horizon"])
        check_count("feedbacks", group["feedbacks"])
        if group["bound"] is not None:
            check_number("bound", group["bound"], "a number > 0", lambda bound: bound > 0)
        check_number("zeta", group["zeta"], "a number > 0 and <= 1", lambda zeta: 0 < zeta <= 1)
        check_rows(group["params"])

    def _update(self) -> None:
        for group in self.param_groups:
            rewarded = [theta for theta in group["params"] if theta.grad is not None]
            group["seen"] += group["feedbacks"] if rewarded else 0
            remaining, bound = group["horizon"] - group["seen"], group["bound"]
            options: dict[str, Any] = {"lr": group["lr"], "remaining": remaining, "zeta": group["zeta"]}
            for theta in rewarded:
                gradient, state = -theta.grad if group["maximize"] else theta.grad, self.state[theta]
                rewards: RewardRange | None = getattr(theta, "rewards", None)
                if rewards is not None:
                    clipped = state.get("clipped", torch.zeros_like(rewards.clipped))
                    state["clipped"] = clipped.lerp(rewards.clipped, group["feedbacks"] / group["seen"])
                if bound is not None:
                    expert_advice_(theta, gradient, state, bound=bound, **options)
                elif rewards is not None:
                    auto_expert_advice_(theta, gradient, state, largest=rewards.largest, **options)
                else:
                    raise UpdateError(
                        "a bound can only be measured where parameters have a RewardRange as `rewards`; "
                        "set it beside grad, or give a bound"
                    )

    def facts(self) -> dict[str, float]:
        """Step size and bound of the first group, and the largest fraction of clipped rewards.

        Waits for the device.
        """
        group = self.param_groups[0]
        bound = group["bound"] or float(self.state[group["params"][0]].get("bound", 0.0))
        lr = group["lr"] if group["bound"] else group["lr"] / bound if bound else 0.0
        parameters = [theta for group in self.param_groups for theta in group["params"]]
        clipped = max(float(self.state[theta].get("clipped", 0.0)) for theta in parameters)
        return {"arch_lr": lr, "reward_bound": bound, "clipped_rewards": clipped}

    @torch.no_grad()
    def alive(self, theta: Tensor) -> Tensor:
        """Mask of the experts of a parameter that are not dropped, shaped like it, on its device."""
        return read_logs(theta, self.state.get(theta, {})) != -math.inf

    def dropped(self) -> list[list[tuple[int, ...]]]:
        """Indices of the dropped experts, a list for every parameter in the order of the groups.

        Entries that were zero from the start are among them. Waits for the device.
        """
        parameters = [theta for group in self.param_groups for theta in group["params"]]
        return [[tuple(index) for index in (~self.alive(p)).nonzero().tolist()] for p in parameters]

    @torch.no_grad()
    def drop(self, theta: Tensor, dead: Tensor) -> None:
        """Make the entries of the parameter where `dead` is true zero for ever, and renormalize the rest."""
        drop_(theta, dead, self.state[theta])
