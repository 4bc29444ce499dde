"""Several curves as one: their mean and how far they spread."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Band:
    """The mean of several curves with their standard deviation.

    Args:
        x: Epochs or seconds [points].
        mean: Mean of the curves that have a point there [points].
        std: Sample standard deviation (n - 1); zero where a single curve has a point [points].
    """

    x: NDArray[np.float64]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]

    def scaled(self, factor: float) -> "Band":
        """The band of all curves times a number, such as 100 for percent."""
        return Band(self.x, factor * self.mean, factor * self.std)
