"""Penalties: terms of the architecture parameters alone that are added to the loss they descend."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from dartboard.arch.checks import check_not_negative
from dartboard.errors import CompositionError
from dartboard.relax.base import Relaxation


class Penalty(Protocol):
    """A term that is added to the loss of the architecture, whatever gradient that has."""

    def __call__(self, relaxation: Relaxation) -> Tensor:
        """The penalty, a function of the architecture parameters."""
        ...

    def check(self, relaxation: Relaxation) -> None:
        """Raises a CompositionError, with the reason, if the relaxation has no such term."""
        ...


@dataclass(frozen=True)
class NegativeEntropy:
    """weight * sum of theta ln(N theta) over all edges: keeps weights on the simplex from deciding too soon.

    It is in the configuration that the authors of GAEA released for GAEA GDAS, with a weight of 0.01, and not
    in the paper.

    Args:
        weight: How much of it.
    """

    weight: float

    def __post_init__(self) -> None:
        check_not_negative("entropy", self.weight)

    def check(self, relaxation: Relaxation) -> None:
        if not relaxation.on_simplex:
            raise CompositionError(
                f"the entropy penalty is of weights on the simplex, and {type(relaxation).__name__} has none "
                "that are parameters; use a simplex relaxation"
            )

    def __call__(self, relaxation: Relaxation) -> Tensor:
        total = torch.zeros(())
        for theta in relaxation.arch_parameters():
            counts = (theta > 0).sum(-1, keepdim=True).clamp_min(1)
            logs = torch.where(theta > 0, counts * theta, 1.0).log()
            total = total.to(theta) + (theta * logs).sum()
        return self.weight * total


def add_penalties(penalties: tuple[Penalty, ...], relaxation: Relaxation) -> None:
    """Adds the gradients of penalties to the `.grad` of the architecture parameters."""
    parameters = relaxation.arch_parameters()
    total = torch.stack([penalty(relaxation) for penalty in penalties]).sum()
    for parameter, grad in zip(parameters, torch.autograd.grad(total, parameters), strict=True):
        assert parameter.grad is not None  # noqa: S101  # the gradient has filled it
        parameter.grad += grad
