"""Block-stochastic mirror descent (GAEA Algorithms 1 and 2), a torch optimizer, and its geometries.

A geometry is a strongly convex function phi (GAEA section 3.1). It induces the Bregman divergence
D(x || y) = phi(x) - phi(y) - <grad phi(y), x - y>, and the step argmin_u lr <gradient, u> + D(u || x). A new
one is a class with three methods, registered here or anywhere.
"""

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from dartboard.arch.checks import ParamGroup, check_choice, check_count, check_not_negative, check_rows
from dartboard.arch.optim.exponentiated_gradient import (
    State,
    UpdateRule,
    exponentiate,
    exponentiated_gradient_,
)
from dartboard.errors import UpdateError
from dartboard.registry import Registry


class Geometry(ABC):
    """A distance-generating function phi on a parameter of any shape, with its domain."""

    @abstractmethod
    def value(self, x: Tensor) -> Tensor:
        """Phi of the parameter, a scalar."""

    @abstractmethod
    def gradient(self, x: Tensor) -> Tensor:
        """The mirror map grad phi, shaped like `x`."""

    @abstractmethod
    def step(self, x: Tensor, gradient: Tensor, *, lr: float) -> Tensor:
        """The mirror step argmin_u lr <gradient, u> + D(u || x) over the domain (GAEA equation 6)."""

    def divergence(self, x: Tensor, y: Tensor) -> Tensor:
        """The Bregman divergence D(x || y), a scalar."""
        return self.value(x) - self.value(y) - (self.gradient(y) * (x - y)).sum()

    def dual_norm(self, gradient: Tensor) -> Tensor:
        """Size of a gradient in the dual of the norm that phi is 1-strongly convex in: G in the theorems."""
        return gradient.square().sum().sqrt()

    def step_(self, x: Tensor, gradient: Tensor, state: State, *, lr: float) -> None:
        """The mirror step in place; `state` is the optimizer's state of the parameter."""
        del state  # for geometries that need more digits of a point than the parameter can hold
        x.copy_(self.step(x, gradient, lr=lr))

    def check(self, parameters: Sequence[Tensor]) -> None:
        """Raise an UpdateError unless the parameters lie in the domain."""
        del parameters  # the domain is everything unless a geometry restricts it


GEOMETRIES: Registry[Geometry] = Registry("geometry")
"""Geometries by name."""


def project(x: Tensor) -> Tensor:
    """The point of the simplex nearest to each row of `x` [..., N] in Euclidean distance.

    The projection is max(x - s, 0) with the one shift s that makes the row sum to 1; s is found among
    the N candidates that the sorted row gives.
    """
    ordered = x.sort(dim=-1, descending=True).values
    ranks = torch.arange(1, x.shape[-1] + 1, device=x.device, dtype=x.dtype)
    shifts = (ordered.cumsum(-1) - 1) / ranks
    support = (ordered > shifts).sum(-1, keepdim=True).clamp_min(1)
    return (x - shifts.gather(-1, support - 1)).clamp_min(0)


@dataclass(frozen=True)
class Euclidean(Geometry):
    """phi = |x|^2 / 2: gradient descent, projected where rows must stay on the simplex.

    Args:
        simplex: Rows live on the simplex. A projected weight can leave zero again, dead or not.
    """

    simplex: bool = False

    def value(self, x: Tensor) -> Tensor:
        return x.square().sum() / 2

    def gradient(self, x: Tensor) -> Tensor:
        return x

    def step(self, x: Tensor, gradient: Tensor, *, lr: float) -> Tensor:
        moved = x.add(gradient, alpha=-lr)
        return project(moved) if self.simplex else moved

    def divergence(self, x: Tensor, y: Tensor) -> Tensor:
        return self.value(x - y)

    def check(self, parameters: Sequence[Tensor]) -> None:
        if self.simplex:
            check_rows(parameters)


@dataclass(frozen=True)
class Entropy(Geometry):
    """phi = sum x log x over rows on the simplex: exponentiated gradient.

    It is 1-strongly convex in the norm (sum over rows |x_row|_1^2)^(1/2), whose dual takes the largest entry
    of each row. GAEA section 3.3 has |x|_1 / sqrt(rows): smaller, so its bound on gradients is larger.
    """

    def value(self, x: Tensor) -> Tensor:
        return torch.xlogy(x, x).sum()

    def gradient(self, x: Tensor) -> Tensor:
        return x.log() + 1

    def step(self, x: Tensor, gradient: Tensor, *, lr: float) -> Tensor:
        return exponentiate(x.log(), gradient, lr=lr).exp()

    def step_(self, x: Tensor, gradient: Tensor, state: State, *, lr: float) -> None:
        exponentiated_gradient_(x, gradient, state, lr=lr)

    def divergence(self, x: Tensor, y: Tensor) -> Tensor:
        return (torch.xlogy(x, x) - torch.xlogy(x, y) - x + y).sum()

    def dual_norm(self, gradient: Tensor) -> Tensor:
        return gradient.abs().amax(-1).square().sum().sqrt()

    def check(self, parameters: Sequence[Tensor]) -> None:
        check_rows(parameters)


GEOMETRIES.register("euclidean")(Euclidean())
GEOMETRIES.register("euclidean-simplex")(Euclidean(simplex=True))
GEOMETRIES.register("entropy")(Entropy())


ORDERS = ("random", "cyclic")
SCHEDULES = ("constant", "inverse-sqrt")
_COMMON = ("order", "seed", "iteration")


def choose_block(iteration: int, blocks: int, *, order: str, seed: int = 0) -> int:
    """The block that iteration (from 0) updates: uniformly at random, or each in turn.

    A random block is a function of seed and iteration, not of what was drawn before: two numbers restore
    the sequence at any point, and the next block is known before its gradient is computed.
    """
    if order == "cyclic":
        return iteration % blocks
    return random.Random(f"{seed}/{iteration}").randrange(blocks)


class MirrorDescent(UpdateRule):
    """Mirror descent on one block at a time, each with its own geometry (GAEA Algorithm 1).

    A parameter group is a block. A step updates the parameters of one group and leaves the others alone;
    `block` is known beforehand, so that only its gradient need be computed. `geometry` names a
    distance-generating function in `GEOMETRIES`; "entropy" is what `ExponentiatedGradient` does, and keeps
    the same state.

    The paper's guarantee (`dartboard_papers.theory.bregman`) is for a random block and for an iterate
    drawn at random in the end; in practice blocks go in turn and the last iterate is used, as the paper says.

    A step never waits for the device. Everything but the parameters' own state is in `param_groups`.

    Args:
        params: Parameters or groups; with one group this is plain mirror descent.
        lr: Step size, eta; each group may have its own.
        geometry: Name of the distance-generating function; each group may have its own.
        order: "random" or "cyclic", the same for all groups.
        seed: Random seed of the order, the same for all groups.
        schedule: "constant", or "inverse-sqrt" for lr / sqrt(t) with t counting steps of all blocks.
        maximize: Ascend instead of descend.

    Examples:
        >>> import torch
        >>> from dartboard import MirrorDescent
        >>> weights, arch = torch.zeros(3, requires_grad=True), torch.full((1, 2), 0.5, requires_grad=True)
        >>> blocks = [{"params": [weights]}, {"params": [arch], "geometry": "entropy"}]
        >>> optimizer = MirrorDescent(blocks, lr=0.1, order="cyclic")
        >>> optimizer.block
        0
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 0.1,
        *,
        geometry: str = "euclidean",
        order: str = "random",
        seed: int = 0,
        schedule: str = "constant",
        maximize: bool = False,
    ) -> None:
        defaults = {"lr": lr, "geometry": geometry, "schedule": schedule, "maximize": maximize}
        super().__init__(params, {**defaults, "order": order, "seed": seed, "iteration": 0})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a block; it joins at the iteration that the others are at."""
        if self.param_groups:
            param_group.setdefault("iteration", self.param_groups[0]["iteration"])
        super().add_param_group(param_group)

    def _check_group(self, group: ParamGroup) -> None:
        check_not_negative("lr", group["lr"])
        check_choice("order", group["order"], ORDERS)
        check_choice("schedule", group["schedule"], SCHEDULES)
        check_count("seed", group["seed"], least=0)
        GEOMETRIES[group["geometry"]].check(group["params"])
        for name in _COMMON:
            first = self.param_groups[0][name]
            if group[name] != first:
                raise UpdateError(
                    f"{name} must be the same for all groups, got {first!r} and {group[name]!r}"
                )

    @property
    def block(self) -> int:
        """Index of the group that the next step updates."""
        first = self.param_groups[0]
        order, seed = first["order"], first["seed"]
        return choose_block(first["iteration"], len(self.param_groups), order=order, seed=seed)

    def _update(self) -> None:
        group = self.param_groups[self.block]
        geometry = GEOMETRIES[group["geometry"]]
        lr = group["lr"]
        if group["schedule"] == "inverse-sqrt":
            lr /= math.sqrt(group["iteration"] + 1)
        for x in group["params"]:
            if x.grad is not None:
                geometry.step_(x, -x.grad if group["maximize"] else x.grad, self.state[x], lr=lr)
        for group in self.param_groups:
            group["iteration"] += 1
