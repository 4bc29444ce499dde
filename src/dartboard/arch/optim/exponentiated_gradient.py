"""Exponentiated gradient, the update of GAEA, and what it shares with other update rules.

Those are torch optimizers with a common base class. Weights on the simplex are updated in log space:
everywhere a row is the last dimension, and a dead entry has log weight -inf, exactly zero, for ever.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, overload

import torch
from torch import Tensor
from torch.optim.optimizer import Optimizer, ParamsT

from dartboard.arch.checks import ParamGroup, check_count, check_not_negative, check_number, check_rows
from dartboard.errors import DartboardError

State = MutableMapping[str, Tensor]
"""The state of an optimizer for one parameter."""


class UpdateRule(Optimizer):
    """A torch optimizer that checks its groups when it gets them and updates in `_update`.

    Attributes:
        fixed_horizon: Whether the number of steps must not change after the first of them.
    """

    fixed_horizon = False

    @abstractmethod
    def _check_group(self, group: ParamGroup) -> None:
        """Raises an UpdateError for a group with values out of range."""

    @abstractmethod
    def _update(self) -> None:
        """One update of the parameters that have a gradient; called under `torch.no_grad`."""

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group; an invalid one raises and leaves the optimizer as it was."""
        super().add_param_group(param_group)
        try:
            self._check_group(self.param_groups[-1])
        except DartboardError:
            self.param_groups.pop()
            raise

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """One update; returns the loss of `closure`, if there is one, which also computes gradients."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._update()
        return loss


def normalize_logs(log_weight: Tensor) -> Tensor:
    """Log weights [..., N] shifted so that each row sums to 1; a row of dead entries stays dead."""
    dead_row = (log_weight == -math.inf).all(-1, keepdim=True)
    return torch.where(dead_row, log_weight, log_weight.log_softmax(-1))


def shift_logs(log_weight: Tensor, by: Tensor) -> Tensor:
    """`log_weight + by`, dead entries stay dead whatever `by` is there (infinities and NaN included)."""
    return torch.where(log_weight == -math.inf, log_weight, log_weight + by)


def read_logs(theta: Tensor, state: State) -> Tensor:
    """Log weights of `theta` [..., N]: those in the state, or those of entries changed from outside.

    `state["log_weight"]` holds the exact weights; `theta` is their exponential, rounded, and
    `state["written"]` is a copy of it. An entry that equals its copy keeps its log weight, so one that was
    rounded to zero is not lost. Any other entry has been changed from outside: the parameter wins, and a
    zero there is a dead entry.
    """
    if "log_weight" not in state:
        return theta.log()
    return torch.where(theta == state["written"], state["log_weight"], theta.log())


def write_logs_(theta: Tensor, log_weight: Tensor, state: State) -> None:
    """Writes normalized log weights into the parameter and the state."""
    theta.copy_(log_weight.exp())
    state["log_weight"] = log_weight
    state["written"] = theta.clone()


def drop_(theta: Tensor, dead: Tensor, state: State) -> None:
    """Makes the entries of `theta` where `dead` is true exactly zero for ever; the others are renormalized.

    Needed where an entry may have been rounded to zero already: writing another zero there changes
    nothing that `read_logs` could see.
    """
    log_weight = read_logs(theta, state).masked_fill(dead, -math.inf)
    write_logs_(theta, normalize_logs(log_weight), state)


def exponentiate(log_weight: Tensor, gradient: Tensor, *, lr: float | Tensor, floor: float = 0.0) -> Tensor:
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


def gradient_spread(theta: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """How far the entries of a gradient are from the mean of their row under the weights: variance, largest.

    The variance is summed over rows; the largest distance is that of all rows. Shifting a row of the gradient
    changes neither these nor an exponentiated step. Entries of weight zero do not count, whatever their
    gradient is.

    Args:
        theta: Weights [..., N], rows on the simplex.
        gradient: Of the same shape.
    """
    gradient = torch.where(theta > 0, gradient, 0.0)
    distance = gradient - (theta * gradient).sum(-1, keepdim=True)
    return (theta * distance.square()).sum(), torch.where(theta > 0, distance, 0.0).abs().amax()


def log_choices(theta: Tensor) -> Tensor:
    """Sum of ln N over the rows of weights [..., N], N being the entries of a row that are not zero."""
    return (theta > 0).sum(-1).clamp_min(1).to(theta).log().sum()


def regret_lr(choices: Tensor, variance: Tensor, largest: Tensor, horizon: int) -> Tensor:
    """The step size sqrt(2 ln N / (T V)), which minimizes the regret bound ln N / eta + eta T V / 2.

    The bound is that of the exponentially weighted forecaster to second order in eta. It is XNAS' equation 4
    with the variance that was measured in the place of the square of a bound that is assumed. For several
    rows that share a step size it minimizes the sum of their bounds. To that order the bound holds for steps
    that change no logarithm of a weight by more than one, so the step size is at most 1 / largest.

    Args:
        choices: ln N, summed over rows; see `log_choices`.
        variance: V, the mean over steps of the variance of `gradient_spread`; with 0 the step size is 0.
        largest: The largest distance of `gradient_spread`, over steps.
        horizon: T, the number of steps in all.
    """
    rate = torch.minimum((2 * choices / (horizon * variance)).sqrt(), 1 / largest)
    return torch.where(variance > 0, rate, 0.0)


def exponentiated_gradient_(
    theta: Tensor,
    gradient: Tensor,
    state: State,
    *,
    lr: float | Tensor,
    floor: float = 0.0,
    maximize: bool = False,
) -> None:
    """One step of `ExponentiatedGradient` on one parameter and its state, both changed in place."""
    gradient = -gradient if maximize else gradient
    log_weight = exponentiate(read_logs(theta, state), gradient, lr=lr, floor=floor)
    write_logs_(theta, log_weight, state)


def measured_steps(group: ParamGroup) -> int:
    """Number of steps whose gradients set the step size of a group; 0 if it was given."""
    if group["lr"] is not None:
        return 0
    return int(group["measured"] or max(group["horizon"] // 10, 1))


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

    Without a step size it is set by theory: `regret_lr` of the gradients seen so far, as long as they are
    measured; from then on it stays. `lr` gives its value.

    Args:
        params: Parameters or groups, float32 or float64, rows on the simplex.
        lr: Step size, eta; None sets it by theory.
        floor: Smallest unnormalized weight after a step, 0 <= floor < 1 / N; see `exponentiate`.
        horizon: Number of steps that will be taken; needed, and only used, to set a step size.
        measured: Number of steps at the start whose gradients set it; None for the first tenth.
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
        self,
        params: ParamsT,
        lr: float | None = 0.1,
        *,
        floor: float = 0.0,
        horizon: int | None = None,
        measured: int | None = None,
        maximize: bool = False,
    ) -> None:
        defaults: dict[str, Any] = {"lr": lr, "floor": floor, "maximize": maximize}
        # Groups with a step size have the keys that they always had in checkpoints.
        if lr is None:
            defaults |= {"horizon": horizon, "measured": measured, "seen": 0}
        super().__init__(params, defaults)

    def _check_group(self, group: ParamGroup) -> None:
        if group["lr"] is None:
            check_count("horizon", group["horizon"])
            if group["measured"] is not None:
                check_count("measured", group["measured"])
        else:
            check_not_negative("lr", group["lr"])
        check_rows(group["params"])
        least = min(1 / p.shape[-1] for p in group["params"])
        rule = f"a number >= 0 and below 1 / N = {least:g}"
        check_number("floor", group["floor"], rule, lambda floor: 0 <= floor < least)

    def _update(self) -> None:
        for group in self.param_groups:
            moving = [theta for theta in group["params"] if theta.grad is not None]
            if group["lr"] is None and moving:
                self._measure(group, moving)
            for theta in moving:
                exponentiated_gradient_(
                    theta,
                    theta.grad,
                    self.state[theta],
                    lr=self.lr(group),
                    floor=group["floor"],
                    maximize=group["maximize"],
                )

    def _measure(self, group: dict[str, Any], moving: Sequence[Tensor]) -> None:
        """Brings the step size of a group up to date with the gradients of one more step, at the start."""
        if group["seen"] >= measured_steps(group):
            return
        group["seen"] += 1
        for theta in moving:
            assert theta.grad is not None  # noqa: S101  # what moves has one
            state, (variance, largest) = self.state[theta], gradient_spread(theta, theta.grad)
            state.setdefault("choices", log_choices(theta))
            zero = torch.zeros_like(variance)
            state["variance"] = state.get("variance", zero) + variance
            state["largest"] = torch.maximum(state.get("largest", zero), largest)
        measured = [state for theta in group["params"] if "variance" in (state := self.state[theta])]
        choices = torch.stack([state["choices"] for state in measured]).sum()
        variance = torch.stack([state["variance"] for state in measured]).sum() / group["seen"]
        largest = torch.stack([state["largest"] for state in measured]).amax()
        self.state[group["params"][0]]["lr"] = regret_lr(choices, variance, largest, group["horizon"])

    def lr(self, group: ParamGroup) -> float | Tensor:
        """The step size of a group; 0 where it is set by theory and there was no gradient yet."""
        if group["lr"] is not None:
            return float(group["lr"])
        rate: float | Tensor = self.state[group["params"][0]].get("lr", 0.0)
        return rate

    def facts(self) -> dict[str, float]:
        """The step size of the first group as `arch_lr`; waits for the device."""
        return {"arch_lr": float(self.lr(self.param_groups[0]))}

    @torch.no_grad()
    def drop(self, theta: Tensor, dead: Tensor) -> None:
        """Make the entries of the parameter where `dead` is true zero for ever, and renormalize the rest."""
        drop_(theta, dead, self.state[theta])
