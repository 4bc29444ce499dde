"""Random number generators whose state is saved with a module."""

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import torch
from torch import Tensor, nn


class RngState(nn.Module):
    """A generator whose state is in the `state_dict` of the module that holds it.

    Args:
        generator: The generator.
    """

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.generator = generator

    def gumbel(self, like: Tensor) -> Tensor:
        """Gumbel noise -log(-log U), of the shape, type and device of `like`."""
        device = self.generator.device
        exponential = torch.empty(like.shape, device=device).exponential_(generator=self.generator)
        return -exponential.log().to(like)

    def random(self) -> Random:
        """A generator for Python, seeded by the next draw."""
        device = self.generator.device
        return Random(int(torch.randint(2**63 - 1, (), generator=self.generator, device=device)))

    def get_extra_state(self) -> Tensor:
        return self.generator.get_state()

    def set_extra_state(self, state: Tensor) -> None:
        self.generator.set_state(state.cpu())


@contextmanager
def fork_rng(module: nn.Module) -> Iterator[None]:
    """Inside, every `RngState` of a module draws as usual; afterwards its state is what it was before."""
    rngs = [child for child in module.modules() if isinstance(child, RngState)]
    states = [rng.generator.get_state() for rng in rngs]
    try:
        yield
    finally:
        for rng, state in zip(rngs, states, strict=True):
            rng.generator.set_state(state)
