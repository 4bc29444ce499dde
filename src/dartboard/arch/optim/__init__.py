"""Update rules for architecture parameters: torch optimizers that can be used on their own."""

from dartboard.arch.optim.expert_advice import (
    ExpertAdvice,
    clip_rewards,
    expert_advice_,
    expert_rewards,
    feedback_horizon,
    softmax_rewards,
    theoretical_lr,
    update_log_weights,
    wipeout,
    wipeout_threshold,
)
from dartboard.arch.optim.exponentiated_gradient import ExponentiatedGradient, exponentiated_gradient_
from dartboard.arch.optim.mirror_descent import GEOMETRIES, Entropy, Euclidean, Geometry, MirrorDescent

__all__ = [
    "GEOMETRIES",
    "Entropy",
    "Euclidean",
    "ExpertAdvice",
    "ExponentiatedGradient",
    "Geometry",
    "MirrorDescent",
    "clip_rewards",
    "expert_advice_",
    "expert_rewards",
    "exponentiated_gradient_",
    "feedback_horizon",
    "softmax_rewards",
    "theoretical_lr",
    "update_log_weights",
    "wipeout",
    "wipeout_threshold",
]
