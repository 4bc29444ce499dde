"""One step of a search: the architecture moves, then the weights; or both at once.

Nothing here waits for the device, unless the guard does.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor
from torch.amp import GradScaler
from torch.nn.utils import clip_grads_with_norm_, get_total_norm
from torch.optim import Optimizer

from dartboard.arch.gradient import ArchGradient, JointGradient
from dartboard.arch.objective import Batch, Objective, frozen

Guard = Callable[[Mapping[str, Tensor]], None]
"""Checks numbers by name before anything is moved by them, and raises if they are not finite."""


@dataclass
class Stepper:
    """What a step needs.

    Args:
        objective: The network, its relaxation and what it learns.
        optimizer: Of the weights.
        gradient: Of the architecture parameters, if there are any.
        update: Of the architecture parameters, if there are any.
        clip: The largest norm of the weights' gradient; 0 for no limit.
        scaler: Keeps half-precision gradients in range; None where they need no help.
        guard: Checks losses and norms before they have an effect.
    """

    objective: Objective
    optimizer: Optimizer
    gradient: ArchGradient | None = None
    update: Optimizer | None = None
    clip: float = 0.0
    scaler: GradScaler | None = None
    guard: Guard = lambda _: None

    def arch_step(self, train: Batch, arch: Batch) -> Tensor:
        """Moves the architecture; returns the loss of the architecture's batch."""
        assert self.gradient is not None  # noqa: S101
        self._set_scale()
        loss = self.gradient(self.objective, train, arch, self.optimizer)
        (total,) = self.objective.group.all_reduce([loss])
        self.guard({"loss of the architecture": total})
        self._update_architecture()
        return total

    def weight_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Moves the weights; returns loss and logits of the batch."""
        self._set_scale()
        objective, losses, logits = self.objective, [], []
        with frozen(objective.relaxation.arch_parameters()):
            last = len(objective.split(batch))
            for count, micro in enumerate(objective.passes(batch), 1):
                with objective.sync_gradients(last=count == last):
                    loss, outputs = objective.loss(micro.batch, rows=micro.rows)
                    objective.precision.scaled(micro.weight * loss).backward()
                losses.append(micro.weight * loss.detach())
                logits.append(outputs.detach())
        (total,) = objective.group.all_reduce([torch.stack(losses).sum()])
        self._update_weights(total)
        return total, torch.cat(logits)

    def joint_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Moves both by the gradients of one pass; returns loss and logits of the batch."""
        self._set_scale()
        loss, logits = cast(JointGradient, self.gradient).joint(self.objective, batch)
        (total,) = self.objective.group.all_reduce([loss])
        self._update_weights(total)
        self._update_architecture()
        return total, logits

    def _set_scale(self) -> None:
        if self.scaler is not None:
            one = torch.ones((), device=self.objective.weights[0].device)
            self.objective.precision.scale = self.scaler.scale(one)

    def _update_weights(self, loss: Tensor) -> None:
        if self.scaler is not None:
            self.scaler.unscale_(self.optimizer)
        weights = self.objective.weights
        grads = [weight.grad for weight in weights if weight.grad is not None]
        norm = get_total_norm(grads) if self.clip else None
        numbers = {"loss": loss}
        if norm is not None and self.scaler is None:  # the scaler skips what overflows
            numbers["norm of the gradient"] = norm
        self.guard(numbers)
        if norm is not None:
            clip_grads_with_norm_(weights, self.clip, norm)
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.optimizer.zero_grad()
        self.objective.average_buffers()

    def _update_architecture(self) -> None:
        assert self.update is not None  # noqa: S101
        self.update.step()
        self.update.zero_grad()
