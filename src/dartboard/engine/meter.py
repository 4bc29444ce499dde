"""Means over an epoch, added up on the device."""

import torch
from torch import Tensor

from dartboard.distributed.group import SINGLE, Group


class Meter:
    """Loss and accuracy in training, and the loss the architecture was judged by.

    Args:
        device: Where the sums are kept.
        group: The processes that share the batches; all of them hold the same sums.
    """

    def __init__(self, device: torch.device, group: Group = SINGLE) -> None:
        self._group = group
        self.sums = torch.zeros(3, device=device)
        self.counts = [0, 0]

    def add(self, loss: Tensor, logits: Tensor, labels: Tensor, arch_loss: Tensor | None) -> None:
        """Notes one step: losses of the whole batch, and what was said of this rank's part."""
        (right,) = self._group.all_reduce([(logits.argmax(1) == labels).float().mean() / self._group.size])
        judged = torch.zeros_like(loss) if arch_loss is None else arch_loss
        self.sums += torch.stack([loss.float(), right, judged.float()])
        self.counts[0] += 1
        self.counts[1] += arch_loss is not None

    def read(self) -> dict[str, float]:
        """The means so far, by name; waits for the device."""
        loss, right, judged = self.sums.tolist()
        steps, arch_steps = self.counts
        means = {"train_loss": loss / steps, "train_accuracy": right / steps} if steps else {}
        return means | ({"arch_loss": judged / arch_steps} if arch_steps else {})

    def state_dict(self) -> dict[str, object]:
        """The sums, for a checkpoint."""
        return {"sums": self.sums, "counts": list(self.counts)}

    def load_state_dict(self, state: dict[str, object]) -> None:
        """The sums, from a checkpoint."""
        sums, counts = state["sums"], state["counts"]
        assert isinstance(sums, Tensor) and isinstance(counts, list)  # noqa: S101, PT018
        self.sums.copy_(sums)
        self.counts = list(counts)
