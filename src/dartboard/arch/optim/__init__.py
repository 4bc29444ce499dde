"""Update rules for architecture parameters: torch optimisers that anybody can use on their own."""

from dartboard.arch.optim.advice import ExpertAdvice, expert_advice_
from dartboard.arch.optim.exponentiated import ExponentiatedGradient, exponentiated_gradient_

__all__ = ["ExpertAdvice", "ExponentiatedGradient", "expert_advice_", "exponentiated_gradient_"]
