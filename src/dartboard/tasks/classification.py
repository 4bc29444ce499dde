"""Image classification: cross-entropy with label smoothing, and an auxiliary head if there is one."""

from dataclasses import dataclass
from typing import Protocol

import torch.nn.functional as F
from torch import Tensor

Outputs = Tensor | tuple[Tensor, ...]
"""The outputs of a network: logits, or those and the logits of auxiliary heads."""


class Task(Protocol):
    """What the outputs of a network are for."""

    @property
    def auxiliary(self) -> float:
        """The weight of the auxiliary head's loss; 0 leaves the head out."""
        ...

    def loss(self, outputs: Outputs, targets: Tensor) -> Tensor:
        """The mean loss of a batch, a scalar."""
        ...


@dataclass(frozen=True)
class Classification:
    """One class for each example.

    Args:
        auxiliary: The weight of the auxiliary head's loss; 0 leaves the head out.
        smoothing: How much of each label is spread over all classes.
    """

    auxiliary: float = 0.0
    smoothing: float = 0.0

    def loss(self, outputs: Outputs, targets: Tensor) -> Tensor:
        """The mean cross-entropy, with that of the auxiliary head.

        Args:
            outputs: Logits [B, classes], or those and the auxiliary head's.
            targets: Labels [B], or probabilities [B, classes].
        """
        logits, *auxiliary = outputs if isinstance(outputs, tuple) else (outputs,)
        loss = F.cross_entropy(logits, targets, label_smoothing=self.smoothing)
        for head in auxiliary:
            loss = loss + self.auxiliary * F.cross_entropy(head, targets, label_smoothing=self.smoothing)
        return loss
