"""What can be measured at a point of a plane through a network's weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from dartboard.analysis.directions import norm
from dartboard.analysis.plane import Plane
from dartboard.analysis.variance import between_batches, per_example
from dartboard.arch.hvp import gradients
from dartboard.arch.objective import Batch
from dartboard.nn.network import CellNet
from dartboard.registry import Registry


@dataclass(frozen=True, eq=False)
class Scene:
    """A plane and what is looked at on it.

    Args:
        plane: The network, with its directions.
        batches: Normalised images with labels.
        step: How far neighbouring points are apart, in units of the directions.
    """

    plane: Plane
    batches: Sequence[Batch]
    step: float

    def slope(self, a: float, b: float) -> list[Tensor]:
        """The gradient of the mean loss at a point, shaped like the plane's weights."""
        return mean_gradient(self.plane.at(a, b), self.plane.weights, self.batches)


Measure = Callable[[Scene, float, float], Tensor]
"""One number for the point (a, b) of a scene."""
MEASURES: Registry[Measure] = Registry("measure of a landscape")


@MEASURES.register("loss")
def loss(scene: Scene, a: float, b: float) -> Tensor:
    """The mean cross-entropy of all examples."""
    return mean_loss(scene.plane.at(a, b), scene.batches)


@MEASURES.register("gradient")
def gradient(scene: Scene, a: float, b: float) -> Tensor:
    """The norm of the gradient of the mean loss: its maximum bounds the loss's Lipschitz constant below."""
    return norm(scene.slope(a, b))


@MEASURES.register("smoothness")
def smoothness(scene: Scene, a: float, b: float) -> Tensor:
    """By how much the gradient differs at the next two points of the grid, per distance; the larger ratio.

    Every value is a lower bound of the constant L with |grad f(v) - grad f(w)| <= L |v - w|.
    """
    here, step = scene.slope(a, b), scene.step
    ratios = []
    for there, along in zip(((a + step, b), (a, b + step)), scene.plane.directions, strict=True):
        difference = torch._foreach_sub(scene.slope(*there), here)
        ratios.append(norm(list(difference)) / (step * norm(along)))
    return torch.stack(ratios).max()


@MEASURES.register("variance")
def variance(scene: Scene, a: float, b: float) -> Tensor:
    """The variance of the gradients of single examples; see `dartboard.analysis.variance`."""
    plane = scene.plane
    if plane.statistics == "batch":
        net, size = plane.at(a, b), len(scene.batches[0][1])
        return between_batches((mean_gradient(net, plane.weights, [own]) for own in scene.batches), size)
    return per_example(plane.at(a, b), scene.batches)


@torch.inference_mode()
def mean_loss(net: CellNet, batches: Sequence[Batch]) -> Tensor:
    """The mean cross-entropy of all examples, summed in double precision; a scalar."""
    sums = [F.cross_entropy(net(x).double(), y, reduction="sum") for x, y in batches]
    return torch.stack(sums).sum() / _count(batches)


def mean_gradient(net: CellNet, weights: Sequence[Tensor], batches: Sequence[Batch]) -> list[Tensor]:
    """The gradient of the mean cross-entropy of all examples, shaped like the weights.

    It is zero in weights that no logit depends on, as those of a node that feeds nothing.
    """
    total = [torch.zeros_like(weight) for weight in weights]
    for x, y in batches:
        torch._foreach_add_(total, gradients(F.cross_entropy(net(x), y, reduction="sum"), weights))
    torch._foreach_div_(total, float(_count(batches)))
    return total


def _count(batches: Sequence[Batch]) -> int:
    return sum(len(y) for _, y in batches)
