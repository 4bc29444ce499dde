"""How numbers grow: distance from a shape, and exponents."""

import math
from collections.abc import Sequence

import numpy as np


def misfit(values: Sequence[float], shape: Sequence[float]) -> float:
    """How far values are from the nearest multiple of a shape, as a share of their size: from 0 to 1."""
    found, like = np.asarray(values, float), np.asarray(shape, float)
    left = found - like * (found @ like) / (like @ like)
    return math.sqrt(float(left @ left) / float(found @ found))


def power(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The exponent p of the best fit of values by c sizes^p, in logarithms."""
    slope, _ = np.polyfit(np.log(sizes), np.log(values), 1)
    return float(slope)
