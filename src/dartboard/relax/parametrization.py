"""The two ways to hold points of simplices: as logits, or as the points themselves.

Values come in tables [R, N], a row for each simplex, with a mask of the same shape for the entries that take
part. The others have weight zero and get no gradient; a row with one entry left has weight one there.
"""

from typing import Protocol

import torch
from torch import Tensor


class Form(Protocol):
    """What a table of values says about weights."""

    def start(self, mask: Tensor) -> Tensor:
        """Values for equal weights."""
        ...

    def weights(self, values: Tensor, mask: Tensor) -> Tensor:
        """The weights, rows on the simplex."""
        ...

    def log_weights(self, values: Tensor, mask: Tensor) -> Tensor:
        """The logarithm of the weights, -inf where there is none."""
        ...

    def settle(self, values: Tensor, mask: Tensor) -> Tensor:
        """The values after entries have left the mask."""
        ...


class Logits:
    """Weights are the softmax of the values."""

    def start(self, mask: Tensor) -> Tensor:
        return torch.zeros(mask.shape, device=mask.device)

    def weights(self, values: Tensor, mask: Tensor) -> Tensor:
        return values.masked_fill(~mask, -torch.inf).softmax(-1)

    def log_weights(self, values: Tensor, mask: Tensor) -> Tensor:
        return values.masked_fill(~mask, -torch.inf).log_softmax(-1)

    def settle(self, values: Tensor, mask: Tensor) -> Tensor:
        return values.masked_fill(~mask, 0.0)


class Simplex:
    """Weights are the values themselves; whoever updates them keeps the rows on the simplex (gaea 3.2)."""

    def start(self, mask: Tensor) -> Tensor:
        return mask / mask.sum(-1, keepdim=True)

    def weights(self, values: Tensor, mask: Tensor) -> Tensor:
        chosen = mask & (mask.sum(-1, keepdim=True) > 1)
        return torch.where(chosen, values, mask.to(values.dtype))

    def log_weights(self, values: Tensor, mask: Tensor) -> Tensor:
        weights = self.weights(values, mask)
        tiny = torch.finfo(weights.dtype).tiny  # a weight that has become zero has no gradient, not NaN
        return weights.clamp_min(tiny).log().masked_fill(~mask, -torch.inf)

    def settle(self, values: Tensor, mask: Tensor) -> Tensor:
        """The others in the proportions they had; equal where they had nothing."""
        kept = values.masked_fill(~mask, 0.0)
        total = kept.sum(-1, keepdim=True)
        return torch.where(total > 0, kept / total, self.start(mask).to(values.dtype))
