"""Relaxations: continuous stand-ins for a space's choices, each giving a mixture for every forward pass."""

from dartboard.relax.attention import Attention
from dartboard.relax.base import Relaxation, Strength
from dartboard.relax.catalog import RELAXATIONS
from dartboard.relax.categorical import Categorical, simplex, softmax
from dartboard.relax.per_example import Feedback, PerExample
from dartboard.relax.sampling import Gumbel, RandomArchitecture, aside

__all__ = [
    "RELAXATIONS",
    "Attention",
    "Categorical",
    "Feedback",
    "Gumbel",
    "PerExample",
    "RandomArchitecture",
    "Relaxation",
    "Strength",
    "aside",
    "simplex",
    "softmax",
]
