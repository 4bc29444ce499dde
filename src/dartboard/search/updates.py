"""Update rules for methods: each makes the optimizer of a relaxation's architecture parameters."""

from typing import Any

from torch.optim import Adam, Optimizer

from dartboard.arch.checks import check_not_negative, check_number
from dartboard.arch.optim import ExpertAdvice, ExponentiatedGradient
from dartboard.arch.optim.expert_advice import theoretical_lr
from dartboard.engine.config import ScheduleLengths
from dartboard.errors import CompositionError
from dartboard.relax.base import Relaxation
from dartboard.search.method import Update


def adam(lr: float, weight_decay: float) -> Update:
    """Adam with DARTS' moments; for logits."""
    check_not_negative("lr", lr)
    check_not_negative("weight_decay", weight_decay)

    def make(relaxation: Relaxation, _: ScheduleLengths) -> Optimizer:
        parameters = relaxation.arch_parameters()
        return Adam(parameters, lr, betas=(0.5, 0.999), weight_decay=weight_decay)

    return make


def exponentiated_gradient(lr: float, floor: float = 0.0) -> Update:
    """Exponentiated gradient; for weights on the simplex (gaea 3.2)."""
    check_not_negative("lr", lr)
    check_number("floor", floor, "a number >= 0 and < 1", lambda value: 0 <= value < 1)

    def make(relaxation: Relaxation, _: ScheduleLengths) -> Optimizer:
        check_simplex(relaxation, "the exponentiated gradient")
        return ExponentiatedGradient(relaxation.arch_parameters(), lr, floor=floor)

    return make


def expert_advice(bound: float, zeta: float, lr: float | None = None) -> Update:
    """Exponentiated gradient with wipeout, at the rate that theory gives for each group (xnas 3.1).

    Args:
        bound: The largest absolute reward.
        zeta: Less than 1 drops candidates sooner.
        lr: A rate for all groups instead.
    """
    check_number("bound", bound, "a number > 0", lambda value: value > 0)
    check_number("zeta", zeta, "a number > 0 and <= 1", lambda value: 0 < value <= 1)
    if lr is not None:
        check_not_negative("lr", lr)

    def make(relaxation: Relaxation, plan: ScheduleLengths) -> Optimizer:
        check_simplex(relaxation, "expert advice")
        slots = [slot.group for slot in relaxation.space.slots]
        groups: list[dict[str, Any]] = []
        for (group, cell), parameter in zip(
            relaxation.space.groups, relaxation.arch_parameters(), strict=True
        ):
            feedbacks = plan.batch * slots.count(group)
            horizon = max(plan.arch_steps, 1) * feedbacks
            rate = theoretical_lr(max(cell.shape[1], 2), horizon, bound) if lr is None else lr
            groups.append({"params": [parameter], "lr": rate, "horizon": horizon, "feedbacks": feedbacks})
        return ExpertAdvice(groups, groups[0]["lr"], horizon=1, bound=bound, zeta=zeta)

    return make


def check_simplex(relaxation: Relaxation, what: str) -> None:
    """Refuses a relaxation whose parameters are not weights on the simplex."""
    if not relaxation.on_simplex:
        raise CompositionError(
            f"{what} moves weights on the simplex, and the parameters of {type(relaxation).__name__} are "
            "logits or none; use a simplex relaxation, or Adam"
        )
