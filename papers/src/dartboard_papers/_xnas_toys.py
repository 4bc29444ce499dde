"""XNAS' toy problems of sections 8.1 and 8.2: experts that are axes, paths over the simplex, their pictures.

Each axis is an expert with a constant prediction, so the forecaster's prediction is the vector of its
weights. Both rules add -lr times an update term to the logarithms of the weights: for XNAS the slope of the
loss along the axis (equation 35), for descent on softmax logits u_i (slope_i - sum_j u_j slope_j)
(equations 37, 44 and 52; where those have derivatives in alpha on the right side, derivatives in the axes are
meant).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.figure import Figure
from pydantic import Field
from torch import Tensor

from dartboard.arch.optim.expert_advice import expert_rewards, softmax_rewards, update_log_weights
from dartboard.viz.line_styles import line_styles
from dartboard_papers.base import Scale

XNAS, GD = "XNAS", "GD with softmax"
RULES = (XNAS, GD)
OPTIMUM = torch.tensor([1.0, 0.0], dtype=torch.float64)
"""Where both losses of section 8.2 are smallest."""

Slope = Callable[[int, Tensor], Tensor]
"""From the step (from 0) and the prediction [N] to the gradient of the loss there [N]."""


class Steps(Scale):
    """How both rules walk in section 8.2."""

    lr: float = Field(default=0.1, gt=0, description="step size of both rules")
    steps: int = Field(default=50, ge=1, le=100_000, description="steps")


@dataclass(frozen=True)
class Trajectory:
    """Trajectory of a rule over the simplex.

    Args:
        points: The predictions, from the start on, [T + 1, N].
        terms: What each step subtracted from the logarithms of the weights, before lr, [T, N].
    """

    points: Tensor
    terms: Tensor

    @property
    def distance(self) -> Tensor:
        """Distance from the optimum of section 8.2, [T + 1]."""
        return (self.points - OPTIMUM).square().sum(-1).sqrt()

    @property
    def magnitude(self) -> Tensor:
        """Norm of the update terms, [T]."""
        return self.terms.square().sum(-1).sqrt()


def update_term(rule: str, weights: Tensor, slope: Tensor) -> Tensor:
    """What a rule subtracts from the logarithms of the weights [N], before lr."""
    rewards = expert_rewards(slope, torch.eye(len(slope), dtype=slope.dtype))
    return -(rewards if rule == XNAS else softmax_rewards(weights, rewards))


def follow(rule: str, slope: Slope, start: Tensor, *, steps: int, lr: float) -> Trajectory:
    """Trajectory of a rule from log weights `start` [N]."""
    logs, points, terms = start.double(), [start.double().softmax(-1)], []
    for step in range(steps):
        terms.append(update_term(rule, points[-1], slope(step, points[-1])))
        logs = update_log_weights(logs, terms[-1], -lr)
        points.append(logs.softmax(-1))
    return Trajectory(torch.stack(points), torch.stack(terms))


def both(slope: Slope, start: Tensor, scale: Steps) -> dict[str, Trajectory]:
    """Trajectories of both rules in a problem of section 8.2."""
    return {rule: follow(rule, slope, start, steps=scale.steps, lr=scale.lr) for rule in RULES}


def linear(_: int, point: Tensor) -> Tensor:
    """Slope of -x, for any two axes."""
    return torch.tensor([-1.0, 0.0], dtype=point.dtype)


def opposed(_: int, point: Tensor) -> Tensor:
    """Slope of y - x: "gradients with respect to the axes are the negative values of one another"."""
    return torch.tensor([-1.0, 1.0], dtype=point.dtype)


def quadratic(_: int, point: Tensor) -> Tensor:
    """Slope of 0.5 (x - 1)^2 + 0.5 y^2."""
    return point - OPTIMUM


def numbers(paths: Mapping[str, Trajectory]) -> dict[str, dict[str, list[list[float]]]]:
    """Paths and terms for JSON."""
    return {
        rule: {"points": path.points.tolist(), "terms": path.terms.tolist()} for rule, path in paths.items()
    }


def draw_plane(
    paths: Mapping[str, Trajectory], contours: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> Figure:
    """The picture of figures 4, 5 and 7: paths, distances from the optimum, and sizes of the terms.

    Args:
        paths: By rule.
        contours: The loss at x and y.
    """
    figure = Figure((12, 3.8), layout="constrained")
    plane, middle, right = figure.subplots(1, 3)
    x, y = np.meshgrid(np.linspace(-0.1, 1.1, 121), np.linspace(-0.1, 1.1, 121))
    lines = plane.contour(x, y, contours(x, y), levels=10, colors="0.75", linewidths=0.8)
    plane.clabel(lines, fontsize=6)
    plane.plot([0, 1], [1, 0], "--", color="0.4", linewidth=1)
    plane.set(xlabel="x", ylabel="y", aspect="equal")
    for index, (rule, style) in enumerate(line_styles(paths).items()):
        offset = 0.035 * (index - 0.5)  # two paths on the same line are both visible
        x, y = (paths[rule].points[:, axis].numpy() + offset for axis in (0, 1))
        plane.plot(x, y, style.line, color=style.color, label=rule, linewidth=2)
        plane.plot(x[0], y[0], "o", color=style.color, fillstyle="none")
        plane.plot(x[-1], y[-1], "o", color=style.color)
        middle.plot(paths[rule].distance, style.line, color=style.color, label=rule)
        right.plot(paths[rule].magnitude, style.line, color=style.color, label=rule)
    middle.set(xlabel="step", ylabel="distance from (1, 0)", ylim=(0, None))
    right.set(xlabel="step", ylabel="size of the update term", ylim=(0, None))
    plane.legend(loc="upper right", fontsize=8)
    middle.legend(fontsize=8)
    return figure
