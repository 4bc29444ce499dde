"""A node as the start of its outgoing edges: what they share is computed once."""

from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor


class Source:
    """A node's tensor [B, C, H, W] with what several ops derive from it."""

    def __init__(self, x: Tensor) -> None:
        self.x = x
        self._tiled: dict[int, Tensor] = {}

    @cached_property
    def relu(self) -> Tensor:
        """ReLU of the node."""
        return F.relu(self.x)

    def tiled_relu(self, copies: int) -> Tensor:
        """ReLU of the node with its channels repeated [B, copies * C, H, W]."""
        if copies not in self._tiled:
            self._tiled[copies] = self.relu if copies == 1 else torch.cat([self.relu] * copies, dim=1)
        return self._tiled[copies]
