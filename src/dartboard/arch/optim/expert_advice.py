"""Prediction with expert advice (XNAS Algorithm 1): its mathematics, and a torch optimizer.

A forecaster (an edge) mixes the predictions of N experts (its ops) with the weights u = v / sum v. Weights
are rows [..., N] of log v; only differences within a row matter, and -inf marks an expert that was dropped.

In a search `arch.gradient.ClippedRewards` computes the rewards, as gradients in the leaves of
`relax.base.PerExample`, and clips them with `clip_rewards`. `expert_rewards` and `softmax_rewards` are the
formulas of the paper, which tests and the papers' studies check it against.

Algorithm 1 line 5 mixes f_{t-1,i}; its proof (equation 27) needs f_{t,i}, which is what a network does.
"""

import math

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
    """One step of `ExpertAdvice` on one parameter and its state, both changed in place.

    `remaining` counts the feedbacks that come after those in `gradient`.
    """
    log_weights = update_log_weights(read_logs(theta, state), -gradient, lr)
    log_weights = wipeout(log_weights, lr=lr, remaining=remaining, bound=bound, zeta=zeta)
    write_logs_(theta, normalize_logs(log_weights), state)


class ExpertAdvice(UpdateRule):
    """Exponentiated gradient with wipeout: v <- v * exp(lr * rewards), then drop what cannot win any more.

    Each row (last dimension) is a forecaster, its entries u = v / sum v the weights of its experts. The
    gradient of a parameter is minus the sum of the rewards of `feedbacks` single feedbacks, each clipped to
    [-bound, bound] before it was added (`clip_rewards`); with `maximize` it is their sum. A group
    has its own horizon, since normal and reduction cells are not rewarded equally often, and
    `param_groups[i]["seen"]` counts the feedbacks it has had.

    A dropped expert is exactly zero for ever; a row keeps at least its leader. Log weights are kept as in
    `ExponentiatedGradient`, with the same meaning of changes from outside. A step never waits for the
    device; `dropped` does.

    Args:
        params: Parameters or groups, float32 or float64, rows on the simplex, uniform in the paper.
        lr: Step size, eta; `theoretical_lr` gives the paper's.
        horizon: Feedbacks in the search, T. Lemma 1 holds only if there will not be more.
        feedbacks: Feedbacks in one step, examples times replicas; a number of the group, to be
            changed between steps where a batch is smaller.
        bound: L, the bound that rewards were clipped to.
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

    def __init__(
        self,
        params: ParamsT,
        lr: float,
        *,
        horizon: int,
        feedbacks: int = 1,
        bound: float = 1.0,
        zeta: float = 1.0,
        maximize: bool = False,
    ) -> None:
        defaults = {"lr": lr, "horizon": horizon, "feedbacks": feedbacks, "bound": bound, "zeta": zeta}
        super().__init__(params, {**defaults, "maximize": maximize, "seen": 0})

    def _check_group(self, group: ParamGroup) -> None:
        check_not_negative("lr", group["lr"])
        check_count("horizon", group["horizon"])
        check_count("feedbacks", group["feedbacks"])
        check_number("bound", group["bound"], "a number > 0", lambda bound: bound > 0)
        check_number("zeta", group["zeta"], "a number > 0 and <= 1", lambda zeta: 0 < zeta <= 1)
        check_rows(group["params"])

    def _update(self) -> None:
        for group in self.param_groups:
            rewarded = [theta for theta in group["params"] if theta.grad is not None]
            group["seen"] += group["feedbacks"] if rewarded else 0
            remaining = group["horizon"] - group["seen"]
            options = {name: group[name] for name in ("lr", "bound", "zeta")}
            for theta in rewarded:
                gradient = -theta.grad if group["maximize"] else theta.grad
                expert_advice_(theta, gradient, self.state[theta], remaining=remaining, **options)

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
