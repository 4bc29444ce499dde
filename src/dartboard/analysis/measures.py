"""What can be measured at a point of a plane through a network's weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from dartboard.analysis.plane import Plane, norm
from dartboard.analysis.variance import between_batches, per_example
from dartboard.arch.objective import Batch, gradients
from dartboard.nn.network import CellNet
from dartboard.registry import Registry


@dataclass(frozen=True, eq=False)
class MeasureContext:
    """What measures are given.

    Args:
        plane: The network, with its directions.
        batches: Normalized images with labels.
        step: Distance of neighboring points in units of the directions.
    """

    plane: Plane
    batches: Sequence[Batch]
    step: float

    def gradient(self, a: float, b: float) -> list[Tensor]:
        """The gradient of the mean loss at a point, shaped like the plane's weights."""
        return mean_gradient(self.plane.at(a, b), self.plane.weights, self.batches)


Measure = Callable[[MeasureContext, float, float], Tensor]
"""A number for the point (a, b) of a plane."""
MEASURES: Registry[Measure] = Registry("measure of a landscape")


@MEASURES.register("loss")
def loss(context: MeasureContext, a: float, b: float) -> Tensor:
    """The mean cross-entropy of all examples."""
    return mean_loss(context.plane.at(a, b), context.batches)


@MEASURES.register("gradient")
def gradient(context: MeasureContext, a: float, b: float) -> Tensor:
    """The norm of the gradient of the mean loss: its maximum bounds the loss's Lipschitz constant below."""
    return norm(context.gradient(a, b))


@MEASURES.register("smoothness")
def smoothness(context: MeasureContext, a: float, b: float) -> Tensor:
    """The change of the gradient to the next two points of the grid per distance; the larger ratio.

    Every value is a lower bound of the constant L with |grad f(v) - grad f(w)| <= L |v - w|.
    """
    here, step = context.gradient(a, b), context.step
    ratios = []
    for there, along in zip(((a + step, b), (a, b + step)), context.plane.directions, strict=True):
        difference = torch._foreach_sub(context.gradient(*there), here)
        ratios.append(norm(list(difference)) / (step * norm(along)))
    return torch.stack(ratios).max()


@MEASURES.register("variance")
def variance(context: MeasureContext, a: float, b: float) -> Tensor:
    """The variance of the gradients of single examples; see `dartboard.analysis.variance`."""
    plane = context.plane
    if plane.statistics == "batch":
        net, size = plane.at(a, b), len(context.batches[0][1])
        return between_batches(
            (mean_gradient(net, plane.weights, [batch]) for batch in context.batches), size
        )
    return per_example(plane.at(a, b), context.batches)


@torch.inference_mode()
def mean_loss(net: CellNet, batches: Sequence[Batch]) -> Tensor:
    """The mean cross-entropy of all examples, summed in double precision; a scalar."""
    sums = [F.cross_entropy(net(x).double(), y, reduction="sum") for x, y in batches]
    return torch.stack(sums).sum() / count_examples(batches)


def mean_gradient(net: CellNet, weights: Sequence[Tensor], batches: Sequence[Batch]) -> list[Tensor]:
    """The gradient of the mean cross-entropy of all examples, shaped like the weights.

    It is zero in weights that no logit depends on, as those of a node that feeds nothing.
    """
    total = [torch.zeros_like(weight) for weight in weights]
    for x, y in batches:
        torch._foreach_add_(total, gradients(F.cross_entropy(net(x), y, reduction="sum"), weights))
    torch._foreach_div_(total, float(count_examples(batches)))
    return total


def count_examples(batches: Sequence[Batch]) -> int:
    """The number of examples in batches."""
    return sum(len(y) for _, y in batches)
