"""XNAS figure 5: the loss -x on two axes, from weights far on the wrong side.

The text says that XNAS reaches the minimum. With the stated loss it cannot: 50 steps of 0.1 against a slope
of 1 move the difference of the logarithms by 5, from -5 to 0, which is x = 1/2. It does with the slopes -1
and +1 that the introduction of section 8.2 speaks of, which is the loss y - x: the same on the simplex, but
for a constant and a factor of two.
"""

import torch
from pydantic import Field

from dartboard_papers._xnas_toys import (
    GD,
    XNAS,
    Steps,
    Trajectory,
    both,
    draw_plane,
    linear,
    numbers,
    opposed,
)
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, reproduction

SLOPES = "The section begins with slopes that are each other's negatives, -1 and +1: the figure's, it seems."


STUCK, REACHES = "GD makes no progress", "XNAS reaches the minimum"


class Imbalanced(Steps):
    """Steps from weights that differ."""

    behind: float = Field(default=5.0, gt=0, description="how far the logarithm of x is behind that of y")
    near: float = Field(
        default=0.05, gt=0, description="the distance that counts as having reached the minimum"
    )


def walk(scale: Imbalanced) -> dict[str, dict[str, Trajectory]]:
    """The paths of both rules, by the loss."""
    start = torch.tensor([0.0, scale.behind])
    return {name: both(slope, start, scale) for name, slope in (("-x", linear), ("y - x", opposed))}


@reproduction(
    "xnas-figure-5",
    about="two axes and the loss -x, from weights whose logarithms are 0 and 5",
    claim="GD makes no progress, while XNAS reaches the minimum",
    rules={
        STUCK: "with the stated loss, GD's distance from the minimum ends above 95 % of that at the start",
        REACHES: "with the stated loss, XNAS ends nearer than 0.05 to the minimum",
    },
    minutes=0.1,
    laptop=Imbalanced(),
)
def reproduce(options: RunOptions, scale: Imbalanced) -> ReproductionResult:  # noqa: ARG001
    """Both paths, with the stated loss and with slopes that are negatives of one another."""
    paths = walk(scale)
    stated = paths["-x"]
    stuck = bool(stated[GD].distance[-1] > 0.95 * stated[GD].distance[0])
    reached, gd = bool(stated[XNAS].distance[-1] < scale.near), stated[GD].distance
    words = {
        name: f"x = {by_rule[XNAS].points[-1, 0].item():.4f} with {name}" for name, by_rule in paths.items()
    }
    paper = {XNAS: "at the minimum", GD: "no progress"}
    moved = f"lr times steps, {scale.lr * scale.steps:g}, and x starts {scale.behind:g} behind"
    return ReproductionResult(
        rows=[
            Row(f"{rule}, {name}, x at the end", paper[rule], path.points[-1, 0].item())
            for name, by_rule in paths.items()
            for rule, path in by_rule.items()
        ],
        parts={
            STUCK: PartResult(stuck, f"from {gd[0]:.3f} to {gd[-1]:.3f}", None),
            REACHES: PartResult(reached, f"{stated[XNAS].distance[-1]:.3f} at the end", None),
        },
        sentence=f"GD {'makes hardly any' if stuck else 'makes'} progress; XNAS ends at "
        f"{' and at '.join(words.values())}.",
        size=f"two axes, {scale.steps} steps with lr {scale.lr:g}",
        seeds=0,
        figures={
            "paths": draw_plane(stated, lambda x, _: -x),
            "opposed": draw_plane(paths["y - x"], lambda x, y: y - x),
        },
        numbers={name: numbers(by_rule) for name, by_rule in paths.items()},
        remarks=[
            f"With the stated loss XNAS moves the difference of the logarithms by {moved}.",
            SLOPES,
        ],
    )
