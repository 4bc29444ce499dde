"""The variance of the gradients of single examples.

With g_i the gradient of example i of N in all weights, and g their mean, it is the total variance

    V = 1/N sum_i |g_i - g|^2,

the trace of the covariance matrix of g_i where i is drawn uniformly (Shu et al. 2020, section 4.2.2, write
Var(grad f_i)). The gradient of a batch of m examples drawn with replacement has the variance V / m.

Where batch-norms use running statistics examples do not see each other, and all g_i come from one vectorized
pass a batch (`per_example`). Where they use those of the batch there is no gradient of a single example. Then
the N = K m examples are divided at random into K batches of m, with gradients G_k and their mean G, and

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

from dartboard.analysis.plane import weights_of
from dartboard.arch.objective import Batch
from dartboard.errors import OptionError
from dartboard.nn.network import CellNet

MAX_BYTES = 2**28
"""Bytes that the gradients of single examples may take at once; they are computed in chunks."""
MAX_CHUNK = 128
"""The most examples in a chunk."""


def per_example(net: CellNet, batches: Sequence[Batch], *, max_bytes: int = MAX_BYTES) -> Tensor:
    """The variance over all examples; a scalar in double precision.

    Args:
        net: A network in evaluation mode.
        batches: Normalized images with labels.
        max_bytes: Bytes that gradients of single examples may take at once.
    """
    weights = {name: weight.detach() for name, weight in weights_of(net).items()}
    size = sum(weight.numel() * weight.element_size() for weight in weights.values())
    chunk, moments = min(max(max_bytes // size, 1), MAX_CHUNK), _Moments(list(weights.values()))

    def loss(at: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
        return F.cross_entropy(functional_call(net, at, (image[None],)), label[None])

    for images, labels in batches:
        for x, y in zip(images.split(chunk), labels.split(chunk), strict=True):
            grads: dict[str, Tensor] = vmap(grad(loss), (None, 0, 0))(weights, x, y)
            moments.add(list(grads.values()))
    return moments.variance()


def between_batches(gradients: Iterable[Sequence[Tensor]], size: int) -> Tensor:
    """The variance over all examples, from gradients of batches; a scalar in double precision.

    Args:
        gradients: Gradient of the mean loss of each batch, one tensor a weight.
        size: Examples in each batch.

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
    """Running sums over vectors given in parts, in double precision.

    Args:
        like: Tensors with the shapes of the parts.
    """

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
