"""Amended-DARTS A.1: a problem of one weight on which first-order DARTS goes the wrong way."""

import numpy as np
import torch
from matplotlib.figure import Figure
from pydantic import Field

from dartboard.viz.line_styles import line_styles
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, Scale, reproduction

Curves = dict[str, list[float]]

TERMS = ("g1", "g2", "g1 + g2")
TRAIN, VALID = 1.0, 2.0
"""The inputs."""
PAPER = {"g1": -2.0, "g2": 4.0, "g1 + g2": 2.0}
"""Slopes in alpha: what the paper derives at the best weight, w = alpha."""
SAME, WRONG = "the terms are -2 alpha and 4 alpha", "g1 goes the wrong way"


class Toy(Scale):
    """The problem of A.1."""

    alpha: float = Field(default=1.5, description="where the table is taken")


def terms(alpha: float) -> dict[str, float]:
    """The direct and the indirect term of the gradient at the best weight, by automatic differentiation."""
    a = torch.tensor(alpha, dtype=torch.float64, requires_grad=True)
    w = (a.detach() / TRAIN).requires_grad_()
    train, valid = (w * TRAIN - a) ** 2, (w * VALID - a) ** 2
    direct, pull = torch.autograd.grad(valid, (a, w))
    (slope,) = torch.autograd.grad(train, w, create_graph=True)
    curvature, mixed = torch.autograd.grad(slope, (w, a))
    indirect = -mixed * pull / curvature
    return dict(zip(TERMS, (direct.item(), indirect.item(), (direct + indirect).item()), strict=True))


@reproduction(
    "amended-darts-a1",
    about="the toy problem on which the direct term of the gradient has the wrong sign",
    claim="with loss (w x - alpha)^2 the terms are g1 = -2 alpha and g2 = 4 alpha, so g1 goes the wrong way",
    rules={
        SAME: "g1, g2 and their sum are what the paper derives at 41 values of alpha, up to rounding",
        WRONG: "g1 has the opposite sign of g1 + g2 wherever that is not zero",
    },
    minutes=0.1,
    laptop=Toy(),
)
def reproduce(options: RunOptions, scale: Toy) -> ReproductionResult:  # noqa: ARG001
    """Both terms on a grid of alphas, beside what the paper derives."""
    grid = np.linspace(-2.0, 2.0, 41)
    curves = {name: [terms(float(alpha))[name] for alpha in grid] for name in TERMS}
    measured = terms(scale.alpha)
    rows = [
        Row(f"{name} at alpha = {scale.alpha:g}", PAPER[name] * scale.alpha, measured[name]) for name in TERMS
    ]
    same = all(np.allclose(curves[name], PAPER[name] * grid) for name in TERMS)
    wrong = is_wrong(curves)
    distance = max(np.abs(np.array(curves[name]) - PAPER[name] * grid).max() for name in TERMS)
    words = f"{'are' if same else 'differ from'} the paper's, and the direct one has the "
    return ReproductionResult(
        rows=rows,
        parts={
            SAME: PartResult(same, f"at most {distance:.1g} apart", None),
            WRONG: PartResult(
                wrong, f"{measured['g1']:g} and {measured['g1 + g2']:g} at {scale.alpha:g}", None
            ),
        },
        sentence=f"The three slopes {words}{'wrong' if wrong else 'right'} sign.",
        size=f"one weight; inputs {TRAIN:g} and {VALID:g}",
        seeds=0,
        figures={"terms": draw(grid.tolist(), curves)},
        numbers={"alpha": grid.tolist(), **curves},
    )


def is_wrong(curves: Curves) -> bool:
    """True if the direct term is opposite to the gradient wherever that is not zero."""
    direct, total = np.array(curves["g1"]), np.array(curves["g1 + g2"])
    return bool(np.all(direct * total < 0, where=~np.isclose(total, 0)))


def draw(grid: list[float], curves: Curves) -> Figure:
    """The terms of the gradient against alpha."""
    figure = Figure((6, 3.6), layout="constrained")
    axes = figure.add_subplot(xlabel="alpha", ylabel="slope of the validation loss")
    for name, style in line_styles(TERMS).items():
        axes.plot(grid, curves[name], style.line, color=style.color, label=name)
    axes.axhline(0.0, color="0.6", linewidth=0.8)
    axes.legend()
    return figure
