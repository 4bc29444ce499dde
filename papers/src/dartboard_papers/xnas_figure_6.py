"""XNAS figure 6: by how much descent on softmax logits attenuates gradients, along the simplex."""

import torch
from matplotlib.figure import Figure
from pydantic import Field
from torch import Tensor

from dartboard.arch.optim.expert_advice import softmax_rewards
from dartboard.viz.line_styles import COLORS
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, Scale, reproduction

CENTER = 0.25
"""The largest factor, that of equal weights: x (1 - x) at one half."""
FALLS, SAME = "attenuation grows away from x = 1/2", "the factor is x (1 - x)"


class Line(Scale):
    """Where the factor is taken."""

    reach: float = Field(default=6.0, gt=0, description="logits from minus this to this")
    points: int = Field(
        default=201, ge=3, le=100_000, description="points along the line; odd, to meet the center"
    )


def factor(logit: Tensor) -> Tensor:
    """What GD makes of a slope of 1 between two axes whose logits are `logit` and 0, shaped like it."""
    weights = torch.stack([logit, torch.zeros_like(logit)], -1).softmax(-1)
    rewards = torch.tensor([1.0, 0.0], dtype=logit.dtype)
    return softmax_rewards(weights, rewards.expand_as(weights))[..., 0]


@reproduction(
    "xnas-figure-6",
    about="the attenuation factor x (1 - x) of GD with softmax",
    claim="gradients are attenuated the more, the farther weights are from the dense solution x = y = 1/2",
    rules={
        FALLS: "the factor of GD with softmax never grows with the distance from x = 1/2",
        SAME: "it is x (1 - x) at all points, up to rounding",
    },
    minutes=0.1,
    laptop=Line(),
)
def reproduce(options: RunOptions, scale: Line) -> ReproductionResult:  # noqa: ARG001
    """The factor against x, and against the logit of x."""
    logits = torch.linspace(-scale.reach, scale.reach, scale.points, dtype=torch.float64)
    factors, x = factor(logits), logits.sigmoid()
    order = (x - 0.5).abs().argsort(stable=True)
    falls = bool((factors[order].diff() <= 1e-12).all())
    same = bool(torch.allclose(factors, x * (1 - x), rtol=1e-9))
    half, end = scale.reach / 2, scale.reach
    places = {"x = 1/2": 0.0, f"a logit of {half:g}": half, f"a logit of {end:g}": end}
    return ReproductionResult(
        rows=[
            Row(f"factor at {name}", None if place else CENTER, factor(logits.new_tensor(place)).item())
            for name, place in places.items()
        ],
        parts={
            FALLS: PartResult(falls, f"from {factors.max():.3f} to {factors.min():.4f}", None),
            SAME: PartResult(same, f"at most {(factors - x * (1 - x)).abs().max():.1g} apart", None),
        },
        sentence=f"The factor {'is' if same else 'is not'} x (1 - x), and "
        f"{'falls' if falls else 'does not fall'} all the way from the dense solution to the corners.",
        size=f"two axes, {scale.points} points",
        seeds=0,
        figures={"factor": draw(logits, factors)},
        numbers={"logit": logits.tolist(), "x": x.tolist(), "factor": factors.tolist()},
    )


def draw(logits: Tensor, factors: Tensor) -> Figure:
    """The factor along the simplex, and against the logit."""
    figure = Figure((9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    line = torch.linspace(0, 1, len(logits), dtype=torch.float64)
    left.plot(line, line * (1 - line), "--", color="0.5", label="x (1 - x)")
    left.plot(logits.sigmoid(), factors, ".", color=COLORS[0], markersize=4, label="of GD with softmax")
    right.plot(logits, factors, "-", color=COLORS[0])
    left.set(xlabel="x = 1 - y", ylabel="attenuation factor", ylim=(0, None))
    right.set(xlabel="logit of x; that of y is 0")
    left.legend()
    return figure
