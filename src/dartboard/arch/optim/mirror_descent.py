"""Block-stochastic mirror descent (GAEA Algorithms 1 and 2), a torch optimizer."""

import math
import random
from typing import Any

from torch.optim.optimizer import ParamsT

from dartboard.arch.checks import Group, check_choice, check_count, check_lr
from dartboard.arch.optim._base import UpdateRule, with_gradients
from dartboard.arch.optim.geometry import GEOMETRIES
from dartboard.errors import UpdateError

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


def step_size(lr: float, iteration: int, *, schedule: str) -> float:
    """The step size of iteration (from 0): `lr`, or lr / sqrt(t) for t = 1, 2, ..."""
    return lr / math.sqrt(iteration + 1) if schedule == "inverse-sqrt" else lr


class MirrorDescent(UpdateRule):
    """Mirror descent on one block at a time, each with its own geometry (GAEA Algorithm 1).

    A parameter group is a block. A step updates the parameters of one group and leaves the others alone;
    `block` tells beforehand which, so that only its gradient need be computed. `geometry` names a
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
        seed: Of the random order, the same for all groups.
        schedule: "constant", or "inverse-sqrt" for lr / sqrt(t) with t counting steps of all blocks.
        maximize: Ascend instead of descend.
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
        numbers = {"lr": lr, "geometry": geometry, "schedule": schedule, "maximize": maximize}
        super().__init__(params, {**numbers, "order": order, "seed": seed, "iteration": 0})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a block; it joins at the iteration that the others are at."""
        if self.param_groups:
            param_group.setdefault("iteration", self.param_groups[0]["iteration"])
        super().add_param_group(param_group)

    def _check_group(self, group: Group) -> None:
        check_lr(group)
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
        lr = step_size(group["lr"], group["iteration"], schedule=group["schedule"])
        for x, gradient in with_gradients(group):
            slope = -gradient if group["maximize"] else gradient
            geometry.step_(x, slope, self.state[x], lr=lr)
        for each in self.param_groups:
            each["iteration"] += 1
