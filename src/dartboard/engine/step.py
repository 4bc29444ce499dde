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
from dartboard.arch.objective import Batch, Task, frozen

Guard = Callable[[Mapping[str, Tensor]], None]
"""Looks at numbers by name before anything is moved by them, and raises if they are not finite."""


def _no_guard(_: Mapping[str, Tensor]) -> None:
    """Looks at nothing."""


@dataclass
class Stepper:
    """What a step needs.

    Args:
        task: The problem.
        optimizer: Of the weights.
        gradient: Of the architecture parameters, if there are any.
        update: Of the architecture parameters, if there are any.
        clip: The largest norm of the weights' gradient; 0 for no limit.
        scaler: Keeps half-precision gradients in range; None where they need no help.
        guard: Looks at losses and norms before they have an effect.
    """

    task: Task
    optimizer: Optimizer
    gradient: ArchGradient | None = None
    update: Optimizer | None = None
    clip: float = 0.0
    scaler: GradScaler | None = None
    guard: Guard = _no_guard

    def arch_step(self, train: Batch, arch: Batch) -> Tensor:
        """Moves the architecture; returns the loss it was judged by."""
        assert self.gradient is not None  # noqa: S101
        self._start()
        loss = self._whole(self.gradient(self.task, train, arch, self.optimizer))
        self.guard({"loss of the architecture": loss})
        self._move_architecture()
        return loss

    def weight_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Moves the weights; returns loss and logits of the batch."""
        self._start()
        losses, said = [], []
        with frozen(self.task.relaxation.arch_parameters()):
            last = len(self.task.parts(batch))
            for count, (piece, share) in enumerate(self.task.split(batch), 1):
                with self.task.gathered(last=count == last):
                    loss, logits = self.task.loss(piece)
                    self.task.scaled(share * loss).backward()
                losses.append(share * loss.detach())
                said.append(logits.detach())
        whole = self._whole(torch.stack(losses).sum())
        self._move_weights(whole)
        return whole, torch.cat(said)

    def joint_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Moves both by the gradients of one pass; returns loss and logits of the batch."""
        self._start()
        loss, logits = cast(JointGradient, self.gradient).joint(self.task, batch)
        whole = self._whole(loss)
        self._move_weights(whole)
        self._move_architecture()
        return whole, logits

    def _whole(self, loss: Tensor) -> Tensor:
        """The loss of the whole batch from that of this rank's part."""
        return self.task.group.all_reduce([loss])[0]

    def _start(self) -> None:
        if self.scaler is not None:
            self.task.scale = self.scaler.scale(torch.ones((), device=self.task.weights[0].device))

    def _move_weights(self, loss: Tensor) -> None:
        if self.scaler is not None:
            self.scaler.unscale_(self.optimizer)
        weights = self.task.weights
        norm = get_total_norm([own.grad for own in weights if own.grad is not None]) if self.clip else None
        seen = {"loss": loss}
        if norm is not None and self.scaler is None:  # the scaler skips what overflows
            seen["norm of the gradient"] = norm
        self.guard(seen)
        if norm is not None:
            clip_grads_with_norm_(weights, self.clip, norm)
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.optimizer.zero_grad()
        self.task.average_buffers()

    def _move_architecture(self) -> None:
        assert self.update is not None  # noqa: S101
        self.update.step()
        self.update.zero_grad()
