"""Architecture gradients: each fills the `.grad` of the architecture parameters and changes nothing else.

`first order` is the loss' own gradient, `clipped rewards` the per-feedback one of XNAS, `second order` and
`amended` look through the training of the weights (`dartboard.arch.hypergradient`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import torch
from torch import Tensor
from torch.optim import Optimizer

from dartboard.arch.hvp import Exact, Products, gradients
from dartboard.arch.hypergradient import Point, amended, second_order, train_slopes
from dartboard.arch.objective import Batch, Task, frozen
from dartboard.arch.optim.expert_advice import clip_rewards
from dartboard.arch.unroll import virtual_step
from dartboard.distributed.group import Group
from dartboard.errors import CompositionError
from dartboard.registry import Registry
from dartboard.relax.base import Feedback, Relaxation
from dartboard.relax.categorical import Categorical


class ArchGradient(Protocol):
    """Where the gradient of the architecture parameters comes from."""

    def __call__(self, task: Task, train: Batch, arch: Batch, optimizer: Optimizer) -> Tensor:
        """Fills the `.grad` of the architecture parameters; returns the loss of the architecture's batch.

        Args:
            task: The problem.
            train: What the weights are trained on next.
            arch: What the architecture is judged by.
            optimizer: The weight optimizer.
        """
        ...

    def check(self, relaxation: Relaxation) -> None:
        """Raises a CompositionError, with the reason, if the relaxation has no such gradient."""
        ...


class JointGradient(ArchGradient, Protocol):
    """A gradient that can come from the same forward and backward pass as the weights'."""

    def joint(self, task: Task, batch: Batch) -> tuple[Tensor, Tensor]:
        """Fills the `.grad` of architecture parameters and weights; returns loss and logits of the batch.

        Those of the weights are as `backward` leaves them: of the scaled loss, where there is a scale.
        """
        ...


GRADIENTS: Registry[Callable[[], ArchGradient]] = Registry("gradient")


@GRADIENTS.register("first-order")
@dataclass(frozen=True)
class FirstOrder:
    """The gradient of the loss at the weights as they are (DARTS' first order)."""

    def check(self, relaxation: Relaxation) -> None:
        check_parameters(relaxation)

    def __call__(self, task: Task, train: Batch, arch: Batch, optimizer: Optimizer) -> Tensor:  # noqa: ARG002
        with task.undisturbed(), frozen(task.weights):
            return self._fill(task, arch, [])[0]

    def joint(self, task: Task, batch: Batch) -> tuple[Tensor, Tensor]:
        return self._fill(task, batch, task.weights)

    def _fill(self, task: Task, batch: Batch, weights: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        parameters = task.relaxation.arch_parameters()
        found, losses, said = [], [], []
        for piece, share in task.split(batch):
            loss, logits = task.loss(piece)
            found.append(gradients(task.scaled(share * loss), [*parameters, *weights]))
            losses.append(share * loss.detach())
            said.append(logits.detach())
        slopes = task.total(found)
        fill(parameters, task.unscaled(slopes)[: len(parameters)])
        fill(weights, slopes[len(parameters) :])
        return torch.stack(losses).sum(), torch.cat(said)


@GRADIENTS.register("clipped-rewards")
@dataclass(frozen=True)
class ClippedRewards:
    """Minus the summed rewards of all feedbacks, each clipped before it is added (xnas 3.1).

    A feedback is one example in one cell; its reward for an expert is minus the gradient of the example's
    loss in the expert's weight. All come from one backward pass. The network stays in training mode, where
    batch-norms couple the examples, as in the paper's setting: an example's gradient is then that of the
    batch's loss in the example's own weights.

    Args:
        bound: The largest absolute reward, L.
    """

    bound: float = 1.0

    def check(self, relaxation: Relaxation) -> None:
        check_parameters(relaxation)
        if not isinstance(relaxation, Categorical) or not relaxation.on_simplex:
            raise CompositionError(
                "rewards per feedback are gradients in the weights themselves, and "
                f"{type(relaxation).__name__} has none that are parameters; use a simplex relaxation"
            )
        if any(cell.edges is not None for _, cell in relaxation.named_cells()):
            raise CompositionError(
                f"space {relaxation.space.name!r} weighs edges against each other, and XNAS has experts for "
                "ops alone; use another space, or an exponentiated gradient such as gaea-darts"
            )

    def __call__(self, task: Task, train: Batch, arch: Batch, optimizer: Optimizer) -> Tensor:  # noqa: ARG002
        with task.undisturbed(), frozen(task.weights):
            return self._fill(task, arch, [])[0]

    def joint(self, task: Task, batch: Batch) -> tuple[Tensor, Tensor]:
        return self._fill(task, batch, task.weights)

    def _fill(self, task: Task, batch: Batch, weights: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        rewards, slopes, losses, said = [], [], [], []
        for piece, share in task.split(batch):
            mixture = task.relaxation.per_example(len(piece[1]))
            loss, logits = task.loss(piece, mixture)
            leaves = mixture.leaves()
            found = gradients(task.scaled(share * loss), [*leaves, *weights])
            own = task.unscaled(found)[: len(leaves)]
            rewards.append(self._rewards(mixture.gather(own), task.size(batch)))
            slopes.append(found[len(leaves) :])
            losses.append(share * loss.detach())
            said.append(logits.detach())
        fill(task.relaxation.arch_parameters(), [-reward for reward in task.total(rewards)])
        fill(weights, task.total(slopes))
        return torch.stack(losses).sum(), torch.cat(said)

    def _rewards(self, feedback: Mapping[str, Feedback], size: int) -> list[Tensor]:
        """Rewards [E, N] of each arch; the loss is a mean over `size` examples, a reward one example's."""
        return [clip_rewards(own.ops * size, self.bound).sum((0, 1)) for own in feedback.values()]


@GRADIENTS.register("second-order")
@dataclass(frozen=True)
class SecondOrder:
    """The gradient of the validation loss after one virtual step of training (DARTS' second order).

    Args:
        products: How the mixed derivative is multiplied; exact by default, because a ReLU network's finite
            differences can be far off at the papers' radius.
    """

    products: Products = field(default_factory=Exact)

    def check(self, relaxation: Relaxation) -> None:
        check_deterministic(relaxation)

    def __call__(self, task: Task, train: Batch, arch: Batch, optimizer: Optimizer) -> Tensor:
        with task.undisturbed():
            point, losses = make_point(task, train, arch)
            unrolled, rate = virtual_step(optimizer, point.weights, train_slopes(point))
            fill(point.arch, second_order(point, unrolled, rate, self.products))
        return torch.stack(losses).sum()


@GRADIENTS.register("amended")
@dataclass(frozen=True)
class Amended:
    """The first order with an amendment for how the weights follow (amended-darts equation 6).

    Args:
        eta: How much of it; 0 is the first order.
        products: How second derivatives are multiplied.
    """

    eta: float = 0.1
    products: Products = field(default_factory=Exact)

    def check(self, relaxation: Relaxation) -> None:
        check_deterministic(relaxation)

    def __call__(self, task: Task, train: Batch, arch: Batch, optimizer: Optimizer) -> Tensor:  # noqa: ARG002
        with task.undisturbed():
            point, losses = make_point(task, train, arch)
            fill(point.arch, amended(point, self.eta, self.products))
        return torch.stack(losses).sum()


def make_point(task: Task, train: Batch, arch: Batch) -> tuple[Point, list[Tensor]]:
    """The losses of two batches as functions of the weights; the list fills with the second's values."""
    losses: list[Tensor] = []

    def loss(piece: Batch, share: float, place: Group, weights: Sequence[Tensor]) -> Tensor:
        with task.at(place):
            return share * task.probe(piece, weights)

    def valid(piece: Batch, share: float, place: Group, weights: Sequence[Tensor]) -> Tensor:
        value = loss(piece, share, place, weights)
        losses.append(value.detach())
        return value

    parts = [partial(loss, *piece) for piece in task.parts(train)]
    judged = [partial(valid, *piece) for piece in task.parts(arch)]
    leaves = task.own_weights, task.relaxation.arch_parameters()
    return Point(parts, judged, *leaves, task.group), losses


def fill(parameters: Iterable[Tensor], slopes: Iterable[Tensor]) -> None:
    """Puts gradients where optimizers look for them."""
    for parameter, slope in zip(parameters, slopes, strict=True):
        parameter.grad = slope


def check_parameters(relaxation: Relaxation) -> None:
    """Refuses a relaxation without architecture parameters."""
    if not relaxation.arch_parameters():
        raise CompositionError(
            f"{type(relaxation).__name__} has no architecture parameters, so there is no gradient to take; "
            "leave gradient and update out"
        )


def check_deterministic(relaxation: Relaxation) -> None:
    """Refuses a relaxation that draws: losses at different weights would be losses of different networks."""
    check_parameters(relaxation)
    if relaxation.stochastic:
        raise CompositionError(
            f"{type(relaxation).__name__} draws a new network for every loss, and a second order gradient "
            "compares losses of the same one; use the first order, or a relaxation that does not draw"
        )
