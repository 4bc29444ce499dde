"""Relaxations of a space's choices: each gives a mixture for every forward pass of the network."""

from dartboard.relax.attention import Attention, SlotAttention
from dartboard.relax.base import Feedback, Fixed, PerExample, Relaxation, RngState, Strength, fork_rng
from dartboard.relax.catalog import RELAXATIONS
from dartboard.relax.categorical import Categorical, simplex, softmax
from dartboard.relax.sampling import Gumbel, RandomArchitecture

__all__ = [
    "RELAXATIONS",
    "Attention",
    "Categorical",
    "Feedback",
    "Fixed",
    "Gumbel",
    "PerExample",
    "RandomArchitecture",
    "Relaxation",
    "RngState",
    "SlotAttention",
    "Strength",
    "fork_rng",
    "simplex",
    "softmax",
]
