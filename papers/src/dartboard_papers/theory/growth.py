"""Growth of measurements: misfit to a curve, and exponents."""

import math
from collections.abc import Sequence

import numpy as np


def misfit(values: Sequence[float], shape: Sequence[float]) -> float:
    """Relative distance of values from the nearest multiple of a curve, from 0 to 1."""
    data, template = np.asarray(values, float), np.asarray(shape, float)
    residual = data - template * (data @ template) / (template @ template)
    return math.sqrt(float(residual @ residual) / float(data @ data))


def power(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The exponent p of the best fit of values by c sizes^p, in logarithms."""
    slope, _ = np.polyfit(np.log(sizes), np.log(values), 1)
    return float(slope)
