"""A node as the start of its outgoing edges: what they share is computed once."""

from functools import cached_property

import torch.nn.functional as F
from torch import Tensor


class Source:
    """A node's tensor [B, C, H, W] with what several ops derive from it."""

    def __init__(self, x: Tensor) -> None:
        self.x = x

    @cached_property
    def relu(self) -> Tensor:
        """ReLU of the node."""
        return F.relu(self.x)
