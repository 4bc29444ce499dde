"""Update rules for methods: each makes the optimizer of a relaxation's architecture parameters.

With `lr="auto"` the rate comes from the theory of online learning. Exponential weights of N candidates that
are moved T times by gradients of variance V have the smallest bound of their regret, ln N / lr + lr T V / 2,
at lr = sqrt(2 ln N / (T V)). The exponentiated gradient measures V: in the first tenth of its steps, or in
all of them where it changes with the temperature of samples. Adam divides every gradient by its own size, so
that V is 1: sqrt(2 ln N / T). Expert advice has a bound of the rewards for the root of V, as in its paper.
"""

import math
from statistics import fmean
from typing import Any, Literal

from torch.optim import Adam, Optimizer

from dartboard.arch.checks import check_not_negative, check_number
from dartboard.arch.optim import ExpertAdvice, ExponentiatedGradient
from dartboard.arch.optim.expert_advice import theoretical_lr
from dartboard.engine.config import ScheduleLengths
from dartboard.errors import CompositionError
from dartboard.relax.base import Relaxation
from dartboard.search.method import Update

AutoFloat = float | Literal["auto"]
"""A number, or `auto` for the one that theory gives."""


def adam(lr: AutoFloat, weight_decay: float) -> Update:
    """Adam with DARTS' moments; for logits."""
    if lr != "auto":
        check_not_negative("lr", lr)
    check_not_negative("weight_decay", weight_decay)

    def make(relaxation: Relaxation, plan: ScheduleLengths) -> Optimizer:
        rate = adam_rate(relaxation, plan.arch_steps) if lr == "auto" else lr
        parameters = relaxation.arch_parameters()
        return Adam(parameters, rate, betas=(0.5, 0.999), weight_decay=weight_decay)

    return make


def adam_rate(relaxation: Relaxation, steps: int) -> float:
    """The rate sqrt(2 ln N / T) for logits, with the mean of ln N over the edges that have a choice."""
    candidates = [len(edge.ops) for _, cell in relaxation.space.groups for edge in cell.edges]
    choices = [math.log(count) for count in candidates if count > 1]
    return math.sqrt(2 * fmean(choices or [math.log(2)]) / max(steps, 1))


def exponentiated_gradient(lr: AutoFloat, floor: float = 0.0) -> Update:
    """Exponentiated gradient; for weights on the simplex (gaea 3.2)."""
    if lr != "auto":
        check_not_negative("lr", lr)
    check_number("floor", floor, "a number >= 0 and < 1", lambda value: 0 <= value < 1)

    def make(relaxation: Relaxation, plan: ScheduleLengths) -> Optimizer:
        check_simplex(relaxation, "the exponentiated gradient")
        rate = None if lr == "auto" else lr
        horizon = max(plan.arch_steps, 1)
        # Gradients grow as the temperature of samples falls: those of the start say little of the others.
        measured = horizon if relaxation.has_temperature else None
        parameters = relaxation.arch_parameters()
        return ExponentiatedGradient(parameters, rate, floor=floor, horizon=horizon, measured=measured)

    return make


def expert_advice(bound: AutoFloat, zeta: float, lr: AutoFloat = "auto") -> Update:
    """Exponentiated gradient with wipeout, at the rate that theory gives for each group (xnas 3.1).

    Args:
        bound: The largest absolute reward; `auto` measures it.
        zeta: Less than 1 drops candidates sooner.
        lr: A rate for all groups instead; with `bound="auto"` that for a bound of 1.
    """
    if bound != "auto":
        check_number("bound", bound, "a number > 0", lambda value: value > 0)
    check_number("zeta", zeta, "a number > 0 and <= 1", lambda value: 0 < value <= 1)
    if lr != "auto":
        check_not_negative("lr", lr)

    def make(relaxation: Relaxation, plan: ScheduleLengths) -> Optimizer:
        check_simplex(relaxation, "expert advice")
        slots, limit = [slot.group for slot in relaxation.space.slots], None if bound == "auto" else bound
        groups: list[dict[str, Any]] = []
        for (group, cell), parameter in zip(
            relaxation.space.groups, relaxation.arch_parameters(), strict=True
        ):
            feedbacks = plan.batch * slots.count(group)
            horizon = max(plan.arch_steps, 1) * feedbacks
            rate = theoretical_lr(max(cell.shape[1], 2), horizon, limit or 1.0) if lr == "auto" else lr
            groups.append({"params": [parameter], "lr": rate, "horizon": horizon, "feedbacks": feedbacks})
        return ExpertAdvice(groups, groups[0]["lr"], horizon=1, bound=limit, zeta=zeta)

    return make


def check_simplex(relaxation: Relaxation, what: str) -> None:
    """Refuses a relaxation whose parameters are not weights on the simplex."""
    if not relaxation.on_simplex:
        raise CompositionError(
            f"{what} moves weights on the simplex, and the parameters of {type(relaxation).__name__} are "
            "logits or none; use a simplex relaxation, or Adam"
        )
