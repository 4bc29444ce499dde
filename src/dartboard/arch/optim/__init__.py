"""Update rules for architecture parameters: torch optimisers that anybody can use on their own."""

from dartboard.arch.optim.exponentiated import ExponentiatedGradient, exponentiated_gradient_

__all__ = ["ExponentiatedGradient", "exponentiated_gradient_"]
