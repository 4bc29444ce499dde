"""One step of a loop: the architecture moves, then the weights, or both at once; its checks and its means.

Nothing here waits for the device, unless a check does.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor
from torch.amp import GradScaler
from torch.nn.utils import clip_grads_with_norm_, get_total_norm
from torch.optim import Optimizer

from dartboard.arch.gradient import ArchGradient, JointGradient
from dartboard.arch.objective import Batch, Objective, frozen
from dartboard.arch.penalties import Penalty, add_penalties
from dartboard.distributed.group import SINGLE, Group
from dartboard.errors import DivergedError

if TYPE_CHECKING:
    from dartboard.engine.loop import Loop

CHECK_STEPS = 50
"""Steps between two checks for numbers that are not finite, on devices that the host would wait for."""
ADVICE = "start again with a smaller weights.lr (or method.lr), weights.clip=5, or precision=full"


def check_finite(objective: Objective, numbers: Mapping[str, Tensor], *, epoch: int, step: int) -> None:
    """Raises if a number is not finite; waits for the device.

    Raises:
        DivergedError: Says the step, the tensor of the objective that is not finite and what to try.
    """
    bad = next((name for name, number in numbers.items() if not number.isfinite().all()), None)
    if bad is None:
        return
    tensor = _not_finite(objective)
    where = f"{tensor} is not finite" if tensor else "all weights are finite, so the forward pass overflowed"
    raise DivergedError(
        f"the {bad} is {float(numbers[bad])} at step {step} (epoch {epoch}): {where}; {ADVICE}"
    )


def check_step(loop: "Loop[Any, Any]", numbers: Mapping[str, Tensor]) -> None:
    """Raises if a number of a loop's current step is not finite, at steps that are checked."""
    if loop.device.type == "cpu" or loop.step % CHECK_STEPS == 0:  # the same on all ranks
        check_finite(loop.objective, numbers, epoch=loop.epoch, step=loop.step)


def check_state(loop: "Loop[Any, Any]") -> None:
    """Raises if anything that would be saved of a loop is not finite; waits for the device."""
    check_finite(loop.objective, {"mean loss": loop.meter.sums.sum()}, epoch=loop.epoch, step=loop.step)
    tensor = _not_finite(loop.objective)
    if tensor is not None:
        raise DivergedError(f"{tensor} is not finite after step {loop.step} (epoch {loop.epoch}); {ADVICE}")


def _not_finite(objective: Objective) -> str | None:
    """The name of the first tensor that is not finite: architecture, weights, statistics, gradients."""
    named: dict[str, list[tuple[str, Tensor]]] = {
        "architecture parameter": list(objective.relaxation.named_parameters()),
        "weight": list(objective.net.named_parameters()),
        "batch-norm statistic": list(objective.net.named_buffers()),
    }
    for kind, tensors in named.items():
        for name, tensor in tensors:
            if not torch.isfinite(tensor).all():
                return f"{kind} {name}"
    for kind in ("architecture parameter", "weight"):
        for name, tensor in named[kind]:
            if tensor.grad is not None and not torch.isfinite(tensor.grad).all():
                return f"the gradient of {kind} {name}"
    return None


class Meter:
    """Means over an epoch, summed on the device: training loss and accuracy, and the architecture's loss.

    All processes of the group, which share the batches, hold the same sums.
    """

    def __init__(self, device: torch.device, group: Group = SINGLE) -> None:
        self._group = group
        self.sums = torch.zeros(3, device=device)
        self.counts = [0, 0]

    def add(self, loss: Tensor, logits: Tensor, labels: Tensor, arch_loss: Tensor | None) -> None:
        """Adds one step: losses of the batch of all ranks, logits and labels of this rank's part."""
        accuracy = (logits.argmax(1) == labels).float().mean() / self._group.size
        if self._group.size > 1:
            (accuracy,) = self._group.all_reduce([accuracy])
        arch = torch.zeros_like(loss) if arch_loss is None else arch_loss
        self.sums += torch.stack([loss.float(), accuracy, arch.float()])
        self.counts[0] += 1
        self.counts[1] += arch_loss is not None

    def read(self) -> dict[str, float]:
        """The means so far, by name; waits for the device."""
        loss, accuracy, arch_loss = self.sums.tolist()
        steps, arch_steps = self.counts
        means = {"train_loss": loss / steps, "train_accuracy": accuracy / steps} if steps else {}
        return means | ({"arch_loss": arch_loss / arch_steps} if arch_steps else {})

    def state_dict(self) -> dict[str, object]:
        """The sums, for a checkpoint."""
        return {"sums": self.sums, "counts": list(self.counts)}

    def load_state_dict(self, state: dict[str, object]) -> None:
        """The sums, from a checkpoint."""
        sums, counts = state["sums"], state["counts"]
        assert isinstance(sums, Tensor) and isinstance(counts, list)  # noqa: S101, PT018
        self.sums.copy_(sums)
        self.counts = list(counts)


Guard = Callable[[Mapping[str, Tensor]], None]
"""Checks numbers by name before anything is moved by them, and raises if they are not finite."""


@dataclass
class Stepper:
    """Takes the steps of a loop.

    Args:
        objective: The network, its relaxation and what it learns.
        optimizer: Of the weights.
        gradient: Of the architecture parameters, if there are any.
        update: Of the architecture parameters, if there are any.
        clip: The largest norm of the weights' gradient; 0 for no limit.
        scaler: Keeps half-precision gradients in range, by the objective's `precision`; None for no scale.
        penalties: Terms that are added to the loss that the architecture descends.
        guard: Checks losses and norms before they have an effect.
    """

    objective: Objective
    optimizer: Optimizer
    gradient: ArchGradient | None = None
    update: Optimizer | None = None
    clip: float = 0.0
    scaler: GradScaler | None = None
    penalties: tuple[Penalty, ...] = ()
    guard: Guard = lambda _: None

    def arch_step(self, train: Batch, arch: Batch) -> Tensor:
        """Moves the architecture; returns the loss of the architecture's batch."""
        assert self.gradient is not None  # noqa: S101
        self._set_scale()
        loss = self.gradient(self.objective, train, arch, self.optimizer)
        (loss,) = self.objective.reduce([[loss]])
        self.guard({"loss of the architecture": loss})
        self._update_architecture()
        return loss

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
        (total,) = objective.reduce([[torch.stack(losses).sum()]])
        self._update_weights(total)
        return total, torch.cat(logits)

    def joint_step(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Moves both by the gradients of one pass; returns loss and logits of the batch."""
        self._set_scale()
        loss, logits = cast(JointGradient, self.gradient).joint(self.objective, batch)
        (loss,) = self.objective.reduce([[loss]])
        self._update_weights(loss)
        self._update_architecture()
        return loss, logits

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
        if self.penalties:
            add_penalties(self.penalties, self.objective.relaxation)
        self.update.step()
        self.update.zero_grad()
