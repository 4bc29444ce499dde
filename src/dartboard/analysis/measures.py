"""A plane through trained weights, and what is measured there: loss, gradient, smoothness, gradient variance.

The last is that of the gradients of single examples. With g_i the gradient of example i of N in all weights,
and g their mean, it is the total variance

    V = 1/N sum_i |g_i - g|^2,

the trace of the covariance matrix of g_i where i is drawn uniformly (Shu et al. 2020, section 4.2.2, write
Var(grad f_i)). The gradient of a batch of m examples drawn with replacement has the variance V / m.

Where batch-norms use running statistics examples do not see each other, and all g_i come from one vectorized
pass per batch (`per_example`). Where they use those of the batch there is no gradient of a single example.
Then the N = K m examples are divided at random into K batches of m, with gradients G_k and their mean G, and

    V = m (N - 1) / N  1/(K - 1) sum_k |G_k - G|^2

(`between_batches`). The mean of m of N numbers drawn without replacement has the variance S/m (1 - m/N),
where S = V N / (N - 1); as the K means are those of a division, 1/(K - 1) sum_k |G_k - G|^2 has the
expectation S/m. So were it not for the statistics, the second V would be the first in the mean over all
divisions; for m = 1 it is the first itself.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn.modules.batchnorm import _BatchNorm

from dartboard.arch.objective import Batch, gradients
from dartboard.data.sampler import generator
from dartboard.errors import OptionError
from dartboard.nn.network import CellNet
from dartboard.registry import Registry

DirectionKind = Literal["filter", "gaussian"]
Vectors = Literal["zero", "drawn"]
Statistics = Literal["kept", "fresh", "batch"]
AUXILIARY = "auxiliary."
"""Prefix of the names of an auxiliary classifier's weights, which no prediction depends on."""
MAX_BYTES = 2**28
"""Bytes that the gradients of single examples may take at once; they are computed in chunks."""
MAX_CHUNK = 128
"""The most examples in a chunk."""


def weights_of(net: nn.Module) -> dict[str, nn.Parameter]:
    """The weights by name that a network's logits depend on, in their order, frozen ones included."""
    named = {name: weight for name, weight in net.named_parameters() if weight.is_floating_point()}
    if not isinstance(net, CellNet):
        return named
    return {name: weight for name, weight in named.items() if not name.startswith(AUXILIARY)}


def batch_norms(net: nn.Module) -> list[_BatchNorm]:
    """The batch-norms of a network; a traced program has none that can be found."""
    return [module for module in net.modules() if isinstance(module, _BatchNorm)]


def set_mode(net: nn.Module, *, training: bool) -> None:
    """Sets whether batch-norms use the statistics of the batch; nothing is dropped at random either way."""
    if isinstance(net, CellNet):
        net.drop_path = 0.0
        net.train(training)
        return
    with suppress(NotImplementedError):  # a program of torch.export has one mode
        net.eval()
    for module in batch_norms(net):
        module.train(training)


def draw_direction(
    weights: Sequence[Tensor],
    number: int,
    *,
    kind: DirectionKind = "filter",
    vectors: Vectors = "zero",
    seed: int = 0,
) -> list[Tensor]:
    """A direction shaped like the weights, with normally distributed entries.

    `filter` gives each filter of a convolution, and each row of a matrix, the norm that it has in the weights
    (Li et al. 2018); so distances mean the same in networks whose weights differ in size. `gaussian` leaves
    the entries as they were drawn, with variance 1.

    Args:
        weights: Where the direction starts.
        number: Directions with different numbers are independent.
        kind: `filter` or `gaussian`.
        vectors: What is done with weights of one dimension, which are biases and the scales and shifts of
            batch-norms: `zero` leaves them where they are, `drawn` moves them too, as one filter each.
        seed: Random seed.
    """
    rng = generator("direction", seed, number)
    direction = []
    for weight in weights:
        entries = torch.randn(weight.shape, generator=rng)  # on the CPU, the same for every device
        drawn = torch.empty_like(weight.detach()).copy_(entries)  # in the weight's memory format
        if weight.dim() <= 1 and vectors == "zero":
            drawn.zero_()
        elif kind == "filter":
            axes = tuple(range(1, weight.dim())) or (0,)
            weight_norm, drawn_norm = (
                torch.linalg.vector_norm(tensor.detach(), dim=axes, keepdim=True)
                for tensor in (weight, drawn)
            )
            drawn.mul_(weight_norm / drawn_norm)
        direction.append(drawn)
    return direction


def norm(tensors: Sequence[Tensor]) -> Tensor:
    """The norm of a vector given in parts, in double precision."""
    squares = [torch.linalg.vector_norm(tensor, dtype=torch.float64).square() for tensor in tensors]
    return torch.stack(squares).sum().sqrt()


class Plane:
    """The points w* + a d1 + b d2 around the weights w* of a network.

    It computes with a copy of the network, which is moved in place; with the directions that takes three
    times the memory of the weights, however many points there are. The given network is not changed.

    Args:
        net: The network whose weights are the center.
        statistics: What batch-norms normalize by: `kept`, the running statistics that came with the weights;
            `fresh`, statistics recomputed at every point from the images of `fresh`; `batch`, the statistics
            of each batch itself.
        fresh: Batches of normalized images; needed only for `fresh`.
        device: Where to compute.

    Attributes:
        weights: The weights that move.
        directions: d1 and d2, each shaped like `weights`, which whoever asks for points sets.

    Raises:
        OptionError: If there are no images to compute statistics from, or no batch-norms that could use
            others than those that they keep.
    """

    def __init__(
        self,
        net: nn.Module,
        *,
        statistics: Statistics = "kept",
        fresh: Sequence[Tensor] = (),
        device: torch.device | str = "cpu",
    ) -> None:
        if statistics == "fresh" and not fresh:
            raise OptionError("statistics=fresh takes statistics from training images, and none are given")
        if statistics != "kept" and not batch_norms(net):
            raise OptionError(
                f"statistics={statistics} is of batch-norms, and the network has none that can be changed "
                "(those of a traced program are part of it); use statistics=kept"
            )
        self.statistics, self.fresh = statistics, fresh
        with warnings.catch_warnings(), torch.no_grad():  # TorchScript copies weights as clones
            warnings.simplefilter("ignore", FutureWarning)  # of torch.export, about a class of its own
            self.net: nn.Module = deepcopy(net).to(device)
        if isinstance(net, CellNet):
            self.net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        set_mode(self.net, training=statistics == "batch")
        for weight in weights_of(self.net).values():
            weight.requires_grad_()
        self.weights: list[Tensor] = list(weights_of(self.net).values())
        self.center = [weight.detach().to(device) for weight in weights_of(net).values()]
        self.directions: tuple[list[Tensor], list[Tensor]] = ([], [])

    def at(self, a: float, b: float) -> nn.Module:
        """The network at a point, ready to compute; valid until the next call."""
        with torch.no_grad():
            torch._foreach_copy_(self.weights, self.center)
            for step, direction in zip((a, b), self.directions, strict=True):
                torch._foreach_add_(self.weights, direction, alpha=step)
        if self.statistics == "fresh":
            self.refresh_statistics()
        return self.net

    @torch.no_grad()
    def refresh_statistics(self) -> None:
        """Sets running statistics to the mean of those of the batches of `fresh`."""
        norms = batch_norms(self.net)
        momenta = [module.momentum for module in norms]
        for module in norms:  # those of a point that overflowed would stay: infinity times 0 is NaN
            module.reset_running_stats()
        set_mode(self.net, training=True)
        for number, x in enumerate(self.fresh, 1):
            for module in norms:
                module.momentum = 1 / number
            self.net(x)
        for module, momentum in zip(norms, momenta, strict=True):
            module.momentum = momentum
        set_mode(self.net, training=False)


@dataclass(frozen=True, eq=False)
class MeasureContext:
    """What measures need: the network with its directions, and batches of normalized images with labels.

    `step` is the distance of neighboring points in units of the directions.
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
    """The mean cross-entropy of all examples, summed in double precision."""
    net = context.plane.at(a, b)
    with torch.inference_mode():
        sums = [F.cross_entropy(net(x).double(), y, reduction="sum") for x, y in context.batches]
        return torch.stack(sums).sum() / count_examples(context.batches)


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
    """The variance of the gradients of single examples; see the top of this file."""
    plane = context.plane
    if plane.statistics == "batch":
        net, size = plane.at(a, b), len(context.batches[0][1])
        return between_batches((mean_gradient(net, plane.weights, [one]) for one in context.batches), size)
    return per_example(plane.at(a, b), context.batches)


def mean_gradient(net: nn.Module, weights: Sequence[Tensor], batches: Sequence[Batch]) -> list[Tensor]:
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


def per_example(net: nn.Module, batches: Sequence[Batch], *, max_bytes: int = MAX_BYTES) -> Tensor:
    """The variance over all examples, for a network in evaluation mode; a scalar in double precision.

    At most `max_bytes` of gradients of single examples exist at once. Modules that cannot be vectorized,
    such as TorchScript, are differentiated for one example after the other.
    """
    weights = {name: weight.detach() for name, weight in weights_of(net).items()}
    size = sum(weight.numel() * weight.element_size() for weight in weights.values())
    chunk, moments = min(max(max_bytes // size, 1), MAX_CHUNK), _Moments(list(weights.values()))

    def loss(at: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
        return F.cross_entropy(functional_call(net, at, (image[None],)), label[None])

    for images, labels in batches:
        for x, y in zip(images.split(chunk), labels.split(chunk), strict=True):
            try:
                grads: dict[str, Tensor] = vmap(grad(loss), (None, 0, 0))(weights, x, y)
                moments.add(list(grads.values()))
            except RuntimeError:
                if isinstance(net, CellNet):
                    raise
                for one in zip(x.split(1), y.split(1), strict=True):
                    single = mean_gradient(net, list(weights_of(net).values()), [one])
                    moments.add([part[None] for part in single])
    return moments.variance()


def between_batches(gradients: Iterable[Sequence[Tensor]], size: int) -> Tensor:
    """The variance over all examples, from gradients of batches; a scalar in double precision.

    Each gradient is that of the mean loss of a batch of `size` examples, with one tensor per weight.

    Raises:
        OptionError: If there are fewer than two batches.
    """
    moments: _Moments | None = None
    for grads in gradients:
        moments = moments or _Moments(grads)
        moments.add([grad_part[None] for grad_part in grads])
    if moments is None or moments.count < 2:
        raise OptionError(
            "the variance between batches takes at least two of them; take more examples or smaller batches"
        )
    count, examples = moments.count, moments.count * size
    return moments.variance() * (count / (count - 1)) * (size * (examples - 1) / examples)


class _Moments:
    """Running sums over vectors given in parts, shaped like the tensors of `like`, in double precision."""

    def __init__(self, like: Sequence[Tensor]) -> None:
        self.squares = torch.zeros((), dtype=torch.float64, device=like[0].device)
        self.sums = [torch.zeros_like(part, dtype=torch.float64) for part in like]
        self.count = 0

    def add(self, parts: Sequence[Tensor]) -> None:
        """Adds B vectors, each part [B, ...]."""
        self.squares += (
            torch.stack([torch.linalg.vector_norm(part, dtype=torch.float64) for part in parts])
            .square()
            .sum()
        )
        torch._foreach_add_(self.sums, [part.sum(0, dtype=torch.float64) for part in parts])
        self.count += len(parts[0])

    def variance(self) -> Tensor:
        """The mean square of the vectors minus the square of their mean, at least 0."""
        mean = torch.stack([total.square().sum() for total in self.sums]).sum() / self.count**2
        return (self.squares / self.count - mean).clamp(min=0)
