"""Architecture gradients: each fills the `.grad` of the architecture parameters and changes nothing else.

`FirstOrder` is the gradient of the loss itself, `ClippedRewards` the per-feedback one of XNAS; `SecondOrder`
and `Amended` look through the training of the weights (`dartboard.arch.hypergradient`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import torch
from torch import Tensor
from torch.optim import Optimizer

from dartboard.arch.hvp import Exact, HessianProducts
from dartboard.arch.hypergradient import BilevelProblem, amended, second_order, train_grads, virtual_step
from dartboard.arch.microbatch import MicroBatch
from dartboard.arch.objective import Batch, Objective, frozen, gradients
from dartboard.arch.optim.expert_advice import RewardRange, clip_rewards
from dartboard.errors import CompositionError
from dartboard.registry import Registry
from dartboard.relax.base import Relaxation


class ArchGradient(Protocol):
    """Where the gradient of the architecture parameters comes from."""

    def __call__(self, objective: Objective, train: Batch, arch: Batch, optimizer: Optimizer) -> Tensor:
        """Fills the `.grad` of the architecture parameters; returns the loss of the architecture's batch.

        Args:
            objective: The network, its relaxation and what it learns.
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

    def joint(self, objective: Objective, batch: Batch) -> tuple[Tensor, Tensor]:
        """Fills the `.grad` of architecture parameters and weights; returns loss and logits of the batch.

        Those of the weights are as `backward` leaves them: of the scaled loss, where there is a scale.
        """
        ...


GRADIENTS: Registry[Callable[[], ArchGradient]] = Registry("gradient")


class OnePassGradient(ABC):
    """A gradient of the loss itself, from a pass of its own or from that of the weights."""

    def check(self, relaxation: Relaxation) -> None:
        check_parameters(relaxation)

    def __call__(self, objective: Objective, train: Batch, arch: Batch, optimizer: Optimizer) -> Tensor:  # noqa: ARG002
        with objective.preserve_buffers(), frozen(objective.weights):
            return self._fill(objective, arch, [])[0]

    def joint(self, objective: Objective, batch: Batch) -> tuple[Tensor, Tensor]:
        return self._fill(objective, batch, objective.weights)

    @abstractmethod
    def _fill(self, objective: Objective, batch: Batch, weights: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Fills the `.grad` of architecture parameters and `weights`; returns loss and logits."""


@GRADIENTS.register("first-order")
@dataclass(frozen=True)
class FirstOrder(OnePassGradient):
    """The gradient of the loss at the weights as they are (DARTS' first order)."""

    def _fill(self, objective: Objective, batch: Batch, weights: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        parameters = objective.relaxation.arch_parameters()
        all_grads, losses, logits = [], [], []
        for micro in objective.passes(batch):
            loss, outputs = objective.loss(micro.batch, rows=micro.rows)
            scaled = objective.precision.scaled(micro.weight * loss)
            all_grads.append(gradients(scaled, [*parameters, *weights]))
            losses.append(micro.weight * loss.detach())
            logits.append(outputs.detach())
        grads = objective.reduce(all_grads)
        fill(parameters, objective.precision.unscaled(grads)[: len(parameters)])
        fill(weights, grads[len(parameters) :])
        return torch.stack(losses).sum(), torch.cat(logits)


@GRADIENTS.register("clipped-rewards")
@dataclass(frozen=True)
class ClippedRewards(OnePassGradient):
    """Minus the summed rewards of all feedbacks, each clipped before it is added (xnas 3.1).

    A feedback is one example in one cell; its reward for an expert is minus the gradient of the example's
    loss in the expert's weight. All come from one backward pass. The network stays in training mode, where
    batch-norms couple the examples, as in the paper's setting: an example's gradient is then that of the
    batch's loss in the example's own weights.

    Each parameter gets a `RewardRange` as its attribute `rewards`, beside its gradient.

    Args:
        bound: The largest absolute reward, L; None does not clip.
    """

    bound: float | None = 1.0

    def check(self, relaxation: Relaxation) -> None:
        super().check(relaxation)
        if not (relaxation.has_examples and relaxation.on_simplex):
            raise CompositionError(
                "rewards per feedback are gradients in the weights themselves, and "
                f"{type(relaxation).__name__} has none that are parameters; use a simplex relaxation"
            )
        if relaxation.has_edge_weights:
            raise CompositionError(
                f"space {relaxation.space.name!r} weighs edges against each other, and XNAS has experts for "
                "ops alone; use another space, or an exponentiated gradient such as gaea-darts"
            )

    def _fill(self, objective: Objective, batch: Batch, weights: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        examples = objective.group.size * len(batch[1])  # of all ranks
        rewards, largest, clipped, weight_grads, losses, logits = [], [], [], [], [], []
        for micro in objective.passes(batch):
            mixture = objective.relaxation.per_example(len(micro.batch[1]))
            leaves = mixture.leaves()
            loss, outputs = objective.loss(micro.batch, mixture, rows=micro.rows)
            scaled = objective.precision.scaled(micro.weight * loss)
            grads = gradients(scaled, [*leaves, *weights])
            feedback = mixture.gather(objective.precision.unscaled(grads)[: len(leaves)])
            # The loss is a mean over all examples, a reward is one example's: [S, B, E, N] of each group.
            grads_by_group = [group.ops * examples for group in feedback.values()]
            rewards.append([clip_rewards(grad, self.bound).sum((0, 1)) for grad in grads_by_group])
            largest.append(torch.stack([grad.abs().amax() for grad in grads_by_group]))
            clipped.append([self._clipped(grad) * micro.weight for grad in grads_by_group])
            weight_grads.append(grads[len(leaves) :])
            losses.append(micro.weight * loss.detach())
            logits.append(outputs.detach())
        parameters = objective.relaxation.arch_parameters()
        fill(parameters, [-reward for reward in objective.reduce(rewards)])
        fractions, maxima = objective.reduce(clipped), objective.maximum(torch.stack(largest).amax(0))
        for parameter, fraction, maximum in zip(parameters, fractions, maxima, strict=True):
            parameter.rewards = RewardRange(maximum, fraction)  # type: ignore[attr-defined]
        fill(weights, objective.reduce(weight_grads))
        return torch.stack(losses).sum(), torch.cat(logits)

    def _clipped(self, grads: Tensor) -> Tensor:
        """The fraction of rewards beyond the bound."""
        if self.bound is None:
            return grads.new_zeros(())
        return (grads.abs() > self.bound).to(grads).mean()


class Hypergradient(ABC):
    """A gradient that looks through the training of the weights (`dartboard.arch.hypergradient`)."""

    def check(self, relaxation: Relaxation) -> None:
        check_parameters(relaxation)
        if relaxation.stochastic:  # losses at different weights would be losses of different networks
            raise CompositionError(
                f"{type(relaxation).__name__} draws a new network for every loss, and a second order "
                "gradient compares losses of the same one; use the first order, or a relaxation that does "
                "not draw"
            )

    def __call__(self, objective: Objective, train: Batch, arch: Batch, optimizer: Optimizer) -> Tensor:
        arch_losses: list[Tensor] = []

        def train_loss(micro: MicroBatch, weights: Sequence[Tensor]) -> Tensor:
            return micro.weight * objective.probe(micro.batch, weights, rows=micro.rows)

        def arch_loss(micro: MicroBatch, weights: Sequence[Tensor]) -> Tensor:
            loss = train_loss(micro, weights)
            arch_losses.append(loss.detach())
            return loss

        with objective.preserve_buffers():
            problem = BilevelProblem(
                [partial(train_loss, micro) for micro in objective.split(train)],
                [partial(arch_loss, micro) for micro in objective.split(arch)],
                objective.net_weights,
                objective.relaxation.arch_parameters(),
                objective.reduce,
            )
            fill(problem.arch, self._grads(problem, optimizer))
        return torch.stack(arch_losses).sum()

    @abstractmethod
    def _grads(self, problem: BilevelProblem, optimizer: Optimizer) -> list[Tensor]:
        """The gradient of the architecture parameters."""


@GRADIENTS.register("second-order")
@dataclass(frozen=True)
class SecondOrder(Hypergradient):
    """The gradient of the validation loss after one virtual step of training (DARTS' second order).

    Args:
        products: How the mixed derivative is multiplied; exact by default, because a ReLU network's finite
            differences can be far off at the papers' radius.
    """

    products: HessianProducts = field(default_factory=Exact)

    def _grads(self, problem: BilevelProblem, optimizer: Optimizer) -> list[Tensor]:
        unrolled, rate = virtual_step(optimizer, problem.weights, train_grads(problem))
        return second_order(problem, unrolled, rate, self.products)


@GRADIENTS.register("amended")
@dataclass(frozen=True)
class Amended(Hypergradient):
    """The first order with an amendment for how the weights follow (amended-darts equation 6).

    Args:
        eta: How much of it; 0 is the first order.
        bounded: Whether it is cut to the length of the first order where it is longer.
        products: How second derivatives are multiplied.
    """

    eta: float = 0.1
    bounded: bool = field(default=False, kw_only=True)
    products: HessianProducts = field(default_factory=Exact)

    def _grads(self, problem: BilevelProblem, optimizer: Optimizer) -> list[Tensor]:  # noqa: ARG002
        return amended(problem, self.eta, self.products, bounded=self.bounded)


def fill(parameters: Iterable[Tensor], grads: Iterable[Tensor]) -> None:
    """Puts gradients where optimizers look for them."""
    for parameter, grad in zip(parameters, grads, strict=True):
        parameter.grad = grad


def check_parameters(relaxation: Relaxation) -> None:
    """Refuses a relaxation without architecture parameters."""
    if not relaxation.arch_parameters():
        raise CompositionError(
            f"{type(relaxation).__name__} has no architecture parameters, so there is no gradient to take; "
            "leave gradient and update out"
        )
