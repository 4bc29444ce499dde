"""Exponentiated gradient with wipeout: the update of XNAS, a torch optimizer for weights on the simplex."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from dartboard.arch.checks import Group, check_count, check_lr, check_number, check_rows
from dartboard.arch.optim._base import UpdateRule, with_gradients
from dartboard.arch.optim.experts import update_log_weights, wipeout
from dartboard.arch.optim.simplex import State, drop_, normalise_logs, recall_logs, record_logs_


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
    log_weights = update_log_weights(recall_logs(theta, state), -gradient, lr)
    log_weights = wipeout(log_weights, lr=lr, remaining=remaining, bound=bound, zeta=zeta)
    record_logs_(theta, normalise_logs(log_weights), state)


class ExpertAdvice(UpdateRule):
    """v <- v * exp(lr * rewards), then drop what cannot win any more (XNAS Algorithm 1).

    Each row (last dimension) is a forecaster, its entries u = v / sum v the weights of its experts. The
    gradient of a parameter is minus the sum of the rewards of `feedbacks` single feedbacks, each clipped to
    [-bound, bound] before it was added (`dartboard.arch.optim.experts.clip_rewards`); with `maximize` it is
    the sum of the rewards. A group has its own horizon, since normal and reduction cells are not rewarded
    equally often, and `param_groups[i]["seen"]` counts the feedbacks it has had.

    A dropped expert is exactly zero for ever; a row keeps at least its leader. Log weights are kept as in
    `ExponentiatedGradient`, with the same meaning of changes from outside. A step never waits for the
    device; `dropped` does.

    Args:
        params: Parameters or groups, float32 or float64, rows on the simplex, uniform in the paper.
        lr: Step size, eta; `dartboard.arch.optim.experts.theoretical_lr` gives the paper's.
        horizon: Feedbacks in the whole search, T. Lemma 1 holds only if there will not be more.
        feedbacks: Feedbacks in one step, examples times replicas; a number of the group, to be
            changed between steps where a batch is smaller.
        bound: L, the bound that rewards were clipped to.
        zeta: 0 < zeta <= 1; less than 1 drops sooner, without the safety of Lemma 1.
        maximize: Gradients are rewards.
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
        numbers = {"lr": lr, "horizon": horizon, "feedbacks": feedbacks, "bound": bound, "zeta": zeta}
        super().__init__(params, {**numbers, "maximize": maximize, "seen": 0})

    def _check_group(self, group: Group) -> None:
        check_lr(group)
        check_count("horizon", group["horizon"])
        check_count("feedbacks", group["feedbacks"])
        check_number("bound", group["bound"], "a number > 0", lambda bound: bound > 0)
        check_number("zeta", group["zeta"], "a number > 0 and <= 1", lambda zeta: 0 < zeta <= 1)
        check_rows(group["params"])

    def _update(self) -> None:
        for group in self.param_groups:
            rewarded = list(with_gradients(group))
            group["seen"] += group["feedbacks"] if rewarded else 0
            numbers = self._numbers(group)
            for theta, gradient in rewarded:
                losses = -gradient if group["maximize"] else gradient
                expert_advice_(theta, losses, self.state[theta], **numbers)

    @staticmethod
    def _numbers(group: Group) -> dict[str, Any]:
        remaining = group["horizon"] - group["seen"]
        return {"remaining": remaining, **{name: group[name] for name in ("lr", "bound", "zeta")}}

    @torch.no_grad()
    def alive(self, theta: Tensor) -> Tensor:
        """Mask of the experts of a parameter that are still in, shaped like it, on its device."""
        return recall_logs(theta, self.state.get(theta, {})) != -math.inf

    def dropped(self) -> list[list[tuple[int, ...]]]:
        """Indices of the experts that are out, a list for every parameter in the order of the groups.

        Entries that were zero from the start are among them. Waits for the device.
        """
        parameters = [theta for group in self.param_groups for theta in group["params"]]
        return [[tuple(index) for index in (~self.alive(p)).nonzero().tolist()] for p in parameters]

    @torch.no_grad()
    def drop(self, theta: Tensor, dead: Tensor) -> None:
        """Make the entries of the parameter where `dead` is true zero for ever, and renormalise the rest."""
        drop_(theta, dead, self.state[theta])
