"""Image classification: its loss, with label smoothing and an auxiliary head if there is one, and metrics."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from dartboard.distributed.group import SINGLE, Group
from dartboard.errors import DataError, ModelError

TOP = 5
"""Top-5 accuracy: whether the label is among the five largest logits; with fewer classes, among all."""
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


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The metrics of a classifier on some images.

    Args:
        loss: The mean cross-entropy.
        top1: The fraction of images whose label has the largest logit.
        top5: The fraction whose label is among the five largest.
        confusion: How many images of each class (rows) were predicted as each (columns), int64 [C, C].
    """

    loss: float
    top1: float
    top5: float
    confusion: Tensor

    @property
    def examples(self) -> int:
        """Number of images."""
        return int(self.confusion.sum())

    @property
    def per_class(self) -> tuple[float | None, ...]:
        """The accuracy on the images of each class; None for a class without images."""
        hits, counts = self.confusion.diagonal().tolist(), self.confusion.sum(1).tolist()
        return tuple(hit / count if count else None for hit, count in zip(hits, counts, strict=True))

    def facts(self) -> dict[str, Any]:
        """The metrics as plain values for JSON; a loss that is not finite is None."""
        return {
            "loss": self.loss if math.isfinite(self.loss) else None,
            "top1": self.top1,
            "top5": self.top5,
            "examples": self.examples,
            "per_class": list(self.per_class),
            "confusion": self.confusion.tolist(),
        }


def measure(
    forward: Callable[[Tensor], Tensor],
    batches: Iterable[tuple[Tensor, Tensor]],
    classes: int,
    group: Group = SINGLE,
    device: torch.device | str = "cpu",
) -> Evaluation:
    """Evaluates all batches; counts stay on their device, and the host waits once, at the end.

    Args:
        forward: From images [B, ...] to logits [B, classes]; the caller sets the mode of the network.
        batches: Images with labels, int64 [B].
        classes: How many classes there are.
        group: The processes that have the other batches; the result is that of all.
        device: Device of the counts on ranks without a batch.

    Raises:
        DataError: If there are no images.
        ModelError: If there are not as many logits as classes.
    """
    counts: EvaluationCounts | None = None
    with torch.no_grad():
        for images, labels in batches:
            logits = forward(images)
            counts = counts or EvaluationCounts(classes, logits.device)
            counts.add(logits, labels)
    counts = counts or EvaluationCounts(classes, torch.device(device))
    return counts.evaluation(group)


class EvaluationCounts:
    """Sums over batches, on the device of the logits."""

    def __init__(self, classes: int, device: torch.device) -> None:
        self.classes = classes
        wide = torch.float32 if device.type == "mps" else torch.float64  # which that does not have
        self.sums = torch.zeros(2, dtype=wide, device=device)  # of losses, and of top-5 hits
        self.confusion = torch.zeros(classes * classes, dtype=torch.int64, device=device)

    def add(self, logits: Tensor, labels: Tensor) -> None:
        """Counts one batch: logits [B, classes] and labels [B]."""
        if logits.shape != (len(labels), self.classes):
            raise ModelError(
                f"{len(labels)} images and {self.classes} classes make logits "
                f"{[len(labels), self.classes]}, not {list(logits.shape)}"
            )
        labels = labels.to(logits.device)
        top = logits.topk(min(TOP, self.classes)).indices
        hits = (top == labels.unsqueeze(1)).sum()
        loss = F.cross_entropy(logits.to(self.sums), labels, reduction="sum")
        self.sums += torch.stack([loss, hits.to(self.sums)])
        entries = labels * self.classes + logits.argmax(1)
        self.confusion.scatter_add_(0, entries, torch.ones_like(entries))

    def evaluation(self, group: Group) -> Evaluation:
        """The result over all ranks; raises if there were no images."""
        sums, confusion = group.all_reduce([self.sums, self.confusion])
        confusion = confusion.view(self.classes, self.classes).cpu()
        if not (examples := int(confusion.sum())):
            raise DataError("there are no images to measure on")
        loss, hits = (sums / examples).tolist()
        return Evaluation(loss, int(confusion.trace()) / examples, hits, confusion)
