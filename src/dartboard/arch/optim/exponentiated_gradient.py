"""Exponentiated gradient: the update of GAEA, a torch optimizer for weights on the simplex."""

import math

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from dartboard.arch.checks import ParamGroup, check_not_negative, check_number, check_rows
from dartboard.arch.optim._base import UpdateRule, with_gradients
from dartboard.arch.optim.simplex import State, drop_, normalize_logs, read_logs, shift_logs, write_logs_


def exponentiate(log_weight: Tensor, gradient: Tensor, *, lr: float, floor: float = 0.0) -> Tensor:
    """Log of theta * exp(-lr * gradient), renormalized per row (GAEA equation 8).

    Args:
        log_weight: log theta [..., N]; -inf marks a dead entry and stays.
        gradient: Of the loss with respect to theta, [..., N].
        lr: Step size, eta.
        floor: Smallest value of theta * exp(-lr * gradient) before renormalizing; 0 for none. The sum of
            a row is not 1 at that moment, so weights may end a little below the floor.
    """
    updated = shift_logs(log_weight, -lr * gradient)
    if floor > 0:
        dead = log_weight == -math.inf
        updated = updated.clamp_min(math.log(floor)).masked_fill(dead, -math.inf)
    return normalize_logs(updated)


def exponentiated_gradient_(
    theta: Tensor, gradient: Tensor, state: State, *, lr: float, floor: float = 0.0, maximize: bool = False
) -> None:
    """One step of `ExponentiatedGradient` on one parameter and its state, both changed in place."""
    gradient = -gradient if maximize else gradient
    log_weight = exponentiate(read_logs(theta, state), gradient, lr=lr, floor=floor)
    write_logs_(theta, log_weight, state)


class ExponentiatedGradient(UpdateRule):
    """theta <- theta * exp(-lr * gradient), renormalized: mirror descent on the simplex (GAEA equation 8).

    Each row (last dimension) of each parameter is a point of the simplex and remains one. The arithmetic
    is in logarithms: `state[p]["log_weight"]` holds the exact weights and the parameter is its exponential,
    rounded. A weight that rounds to zero is not lost; gradients that favor it bring it back.

    When a parameter is changed from outside between two steps, the parameter wins, entry by entry: an entry
    that differs from the last value written takes its logarithm from the parameter, so loading a model
    without its optimizer works. An entry set to zero, or zero from the start, is dead: it
    stays exactly zero whatever its gradient, and the rest of the row shares its weight at the next step.
    To kill an entry that may have been rounded to zero before, use `drop`. A row of zeros is padding.

    A step never waits for the device.

    Args:
        params: Parameters or groups, float32 or float64, rows on the simplex.
        lr: Step size, eta.
        floor: Smallest unnormalised weight after a step, 0 <= floor < 1 / N; see `exponentiate`.
        maximize: Ascend instead of descend.

    Examples:
        >>> import torch
        >>> from dartboard import ExponentiatedGradient
        >>> weights = torch.full((1, 2), 0.5, requires_grad=True)
        >>> optimizer = ExponentiatedGradient([weights], lr=1.0)
        >>> weights.grad = torch.tensor([[1.0, 0.0]])
        >>> optimizer.step()
        >>> weights.detach()
        tensor([[0.2689, 0.7311]])
    """

    def __init__(
        self, params: ParamsT, lr: float = 0.1, *, floor: float = 0.0, maximize: bool = False
    ) -> None:
        super().__init__(params, {"lr": lr, "floor": floor, "maximize": maximize})

    def _check_group(self, group: ParamGroup) -> None:
        check_not_negative("lr", group["lr"])
        check_rows(group["params"])
        least = min(1 / p.shape[-1] for p in group["params"])
        rule = f"a number >= 0 and below 1 / N = {least:g}"
        check_number("floor", group["floor"], rule, lambda floor: 0 <= floor < least)

    def _update(self) -> None:
        for group in self.param_groups:
            options = {name: group[name] for name in ("lr", "floor", "maximize")}
            for theta, gradient in with_gradients(group):
                exponentiated_gradient_(theta, gradient, self.state[theta], **options)

    @torch.no_grad()
    def drop(self, theta: Tensor, dead: Tensor) -> None:
        """Make the entries of the parameter where `dead` is true zero for ever, and renormalize the rest."""
        drop_(theta, dead, self.state[theta])
