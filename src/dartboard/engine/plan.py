"""How long a search or a training will be."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """How long a search will be, for those who must know before it starts.

    Args:
        epochs: Passes over the training images.
        steps: Steps in an epoch.
        batch: Examples in a step.
        warmup: Epochs at the start in which the architecture rests.
    """

    epochs: int
    steps: int
    batch: int
    warmup: int = 0

    @property
    def arch_steps(self) -> int:
        """How many times the architecture is updated."""
        return max(self.epochs - self.warmup, 0) * self.steps
