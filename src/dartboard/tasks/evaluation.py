"""How well logits tell classes apart: loss, accuracy and which classes are taken for which."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from dartboard.distributed.group import SINGLE, Group
from dartboard.errors import DataError, ModelError

TOP = 5
"""Top-5 accuracy asks whether the true class is among so many; with fewer classes, among all."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What was measured on some images.

    Args:
        loss: The mean cross-entropy.
        top1: The share of images whose class has the largest logit.
        top5: The share whose class is among the five largest.
        confusion: How many images of each class (rows) were taken for each (columns), int64 [C, C].
    """

    loss: float
    top1: float
    top5: float
    confusion: Tensor

    @property
    def examples(self) -> int:
        """How many images there were."""
        return int(self.confusion.sum())

    @property
    def per_class(self) -> tuple[float | None, ...]:
        """The share of each class's images that were got right; None for a class without images."""
        rights, counts = self.confusion.diagonal().tolist(), self.confusion.sum(1).tolist()
        return tuple(right / count if count else None for right, count in zip(rights, counts, strict=True))

    def facts(self) -> dict[str, Any]:
        """The same as plain values that JSON has; a loss that is not finite is None."""
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
    """Runs all batches and counts on their device; the host waits once, at the end.

    Args:
        forward: From images [B, ...] to logits [B, classes]; whoever gives a network sets its mode.
        batches: Images with labels, int64 [B].
        classes: How many classes there are.
        group: The processes that have the other batches; what they count is counted in.
        device: Where ranks that have no batch count their nothing.

    Raises:
        DataError: If there are no images.
        ModelError: If there are not as many logits as classes.
    """
    tally: _Tally | None = None
    with torch.no_grad():
        for x, y in batches:
            logits = forward(x)
            tally = tally or _Tally(classes, logits.device)
            tally.add(logits, y)
    tally = tally or _Tally(classes, torch.device(device))
    tally.gather(group)
    return tally.result()


class _Tally:
    """Sums over batches, on a device.

    Args:
        classes: How many classes there are.
        device: Where the logits are.
    """

    def __init__(self, classes: int, device: torch.device) -> None:
        self.classes = classes
        self.sums = torch.zeros(2, dtype=torch.float64, device=device)  # of losses, and of top-5 hits
        self.confusion = torch.zeros(classes * classes, dtype=torch.int64, device=device)

    def add(self, logits: Tensor, labels: Tensor) -> None:
        """Counts one batch: logits [B, classes] and labels [B]."""
        if logits.shape != (len(labels), self.classes):
            raise ModelError(
                f"{len(labels)} images and {self.classes} classes make logits "
                f"{[len(labels), self.classes]}, not {list(logits.shape)}"
            )
        labels = labels.to(logits.device)
        nearest = logits.topk(min(TOP, self.classes)).indices
        hits = (nearest == labels.unsqueeze(1)).sum()
        self.sums += torch.stack([F.cross_entropy(logits.double(), labels, reduction="sum"), hits.double()])
        places = labels * self.classes + logits.argmax(1)
        self.confusion.scatter_add_(0, places, torch.ones_like(places))

    def gather(self, group: Group) -> None:
        """Adds what the other ranks have counted."""
        self.sums, self.confusion = group.all_reduce([self.sums, self.confusion])

    def result(self) -> Evaluation:
        """What the sums come to; raises if there were no images."""
        confusion = self.confusion.view(self.classes, self.classes).cpu()
        if not (examples := int(confusion.sum())):
            raise DataError("there are no images to measure on")
        loss, hits = (self.sums / examples).tolist()
        return Evaluation(loss, int(confusion.trace()) / examples, hits, confusion)
