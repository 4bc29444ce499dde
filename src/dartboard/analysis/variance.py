"""The variance of the gradients of single examples.

With g_i the gradient of example i of N in all weights, and g their mean, it is the total variance

    V = 1/N sum_i |g_i - g|^2,

the trace of the covariance matrix of g_i where i is drawn uniformly (Shu et al. 2020, section 4.2.2, write
Var(grad f_i)). The gradient of a batch of m examples drawn with replacement has the variance V / m.

Where batch-norms use running statistics examples do not see each other, and all g_i come from one vectorised
pass a batch (`per_example`). Where they use those of the batch there is no gradient of a single example. Then
the N = K m examples are divided by chance into K batches of m, with gradients G_k and their mean G, and

    V = m (N - 1) / N  1/(K - 1) sum_k |G_k - G|^2

(`between_batches`). The mean of m of N numbers drawn without replacement has the variance S/m (1 - m/N),
where S = V N / (N - 1); as the K means are those of a division, 1/(K - 1) sum_k |G_k - G|^2 has the
expectation S/m. So were it not for the statistics, the second V would be the first in the mean over all
divisions; for m = 1 it is the first itself.
"""

from collections.abc import Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call, grad, vmap

from dartboard.analysis.directions import weights_of
from dartboard.arch.objective import Batch
from dartboard.errors import OptionError
from dartboard.nn.network import CellNet

ROOM = 2**28
"""Bytes that the gradients of single examples may take at once; they are made in chunks of so many."""
CHUNK = 128
"""Examples in a chunk, at the most."""


def per_example(net: CellNet, batches: Sequence[Batch], *, room: int = ROOM) -> Tensor:
    """The variance over all examples; a scalar in double precision.

    Args:
        net: A network in evaluation mode.
        batches: Normalised images with labels.
        room: Bytes that gradients of single examples may take at once.
    """
    weights = {name: weight.detach() for name, weight in weights_of(net).items()}
    chunk, moments = _chunk(list(weights.values()), room), _Moments(list(weights.values()))
    for images, labels in batches:
        for x, y in zip(images.split(chunk), labels.split(chunk), strict=True):
            moments.add(_gradients(net, weights, x, y))
    return moments.variance()


def _chunk(weights: Sequence[Tensor], room: int) -> int:
    size = sum(own.numel() * own.element_size() for own in weights)
    return min(max(room // size, 1), CHUNK)


def _gradients(net: CellNet, weights: dict[str, Tensor], x: Tensor, y: Tensor) -> list[Tensor]:
    """The gradients of each example, for each weight [B, ...]."""

    def loss(at: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
        return F.cross_entropy(functional_call(net, at, (image[None],)), label[None])

    found: dict[str, Tensor] = vmap(grad(loss), (None, 0, 0))(weights, x, y)
    return list(found.values())


def between_batches(gradients: Iterable[Sequence[Tensor]], size: int) -> Tensor:
    """The variance over all examples, from gradients of batches; a scalar in double precision.

    Args:
        gradients: Of the mean loss of each batch, in parts.
        size: Examples in each batch.

    Raises:
        OptionError: If there are fewer than two batches.
    """
    moments: _Moments | None = None
    for found in gradients:
        moments = moments or _Moments(found)
        moments.add([own[None] for own in found])
    if moments is None or moments.count < 2:
        raise OptionError(
            "the variance between batches takes at least two of them; take more examples or smaller batches"
        )
    count, examples = moments.count, moments.count * size
    return moments.variance() * (count / (count - 1)) * (size * (examples - 1) / examples)


class _Moments:
    """Sums over vectors that come in parts, in double precision.

    Args:
        like: Parts of the shape that the vectors have.
    """

    def __init__(self, like: Sequence[Tensor]) -> None:
        self.squares = torch.zeros((), dtype=torch.float64, device=like[0].device)
        self.sums = [torch.zeros_like(own, dtype=torch.float64) for own in like]
        self.count = 0

    def add(self, parts: Sequence[Tensor]) -> None:
        """Counts vectors, each part [B, ...]."""
        self.squares += (
            torch.stack([torch.linalg.vector_norm(own, dtype=torch.float64) for own in parts]).square().sum()
        )
        torch._foreach_add_(self.sums, [own.sum(0, dtype=torch.float64) for own in parts])
        self.count += len(parts[0])

    def variance(self) -> Tensor:
        """The mean square of the vectors without the square of their mean; not below 0 by rounding."""
        mean = torch.stack([own.square().sum() for own in self.sums]).sum() / self.count**2
        return (self.squares / self.count - mean).clamp(min=0)
