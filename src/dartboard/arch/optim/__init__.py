"""Update rules for architecture parameters: torch optimizers that anybody can use on their own."""

from dartboard.arch.optim.expert_advice import ExpertAdvice, expert_advice_
from dartboard.arch.optim.exponentiated_gradient import ExponentiatedGradient, exponentiated_gradient_
from dartboard.arch.optim.geometry import GEOMETRIES, Entropy, Euclidean, Geometry
from dartboard.arch.optim.mirror_descent import MirrorDescent

__all__ = [
    "GEOMETRIES",
    "Entropy",
    "Euclidean",
    "ExpertAdvice",
    "ExponentiatedGradient",
    "Geometry",
    "MirrorDescent",
    "expert_advice_",
    "exponentiated_gradient_",
]
