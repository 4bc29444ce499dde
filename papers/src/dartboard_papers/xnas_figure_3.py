"""XNAS figure 3: an expert that is punished first and rewarded later, with XNAS and with GD on logits."""

from typing import Any

import torch
from matplotlib.figure import Figure
from pydantic import Field
from torch import Tensor

from dartboard.arch.optim.expert_advice import wipeout
from dartboard.viz.line_styles import line_styles
from dartboard_papers._xnas_toys import GD, RULES, XNAS, Trajectory, follow, numbers
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, Scale, reproduction

AXES = ("x", "y", "z")
BEFORE, AFTER = torch.tensor([0.0, 0.0, 2.0]), torch.tensor([0.0, -1.0, -2.0])
"""Slopes of 2z and of -y - 2z."""
BOUND = 2.0
"""The largest absolute reward."""
ROUNDING = 1e-9
"""Relative difference up to which weights count as equal."""
CORNERS = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.5, 3**0.5 / 2]], dtype=torch.float64)
"""Where the axes' ends are drawn in the plane of the simplex."""
DECAYS, LATER, IN_TURN = "GD's terms are attenuated", "z recovers later with GD", "y leads before z with XNAS"


class Turn(Scale):
    """The problem of section 8.1, which does not say the step size; 0.1 is that of section 8.2."""

    lr: float = Field(default=0.1, gt=0, description="step size of both rules")
    before: int = Field(default=30, ge=1, le=100_000, description="steps with the loss 2z")
    after: int = Field(default=90, ge=1, le=100_000, description="steps with the loss -y - 2z")
    others: tuple[float, ...] = Field(default=(0.03, 0.3, 1.0), description="other step sizes, for the table")


def walk(rule: str, scale: Turn) -> Trajectory:
    """Trajectory of a rule from equal weights."""

    def slope(step: int, point: Tensor) -> Tensor:
        return (BEFORE if step < scale.before else AFTER).to(point)

    return follow(rule, slope, torch.zeros(3), steps=scale.before + scale.after, lr=scale.lr)


def leads(path: Trajectory, axis: str, since: int) -> int | None:
    """The first step from `since` on after which an axis has more weight than any other, if there is one."""
    place = AXES.index(axis)
    weights, others = path.points[:, place], path.points.index_fill(1, torch.tensor(place), 0).max(-1).values
    ahead = weights > others * (1 + ROUNDING)
    return next((step for step in range(since, len(weights)) if ahead[step]), None)


def wiped(path: Trajectory, lr: float) -> dict[str, int]:
    """Step after which Algorithm 1's wipeout would drop each axis that it drops."""
    gone: dict[str, int] = {}
    for step, point in enumerate(path.points):
        left = wipeout(point.log(), lr=lr, remaining=len(path.terms) - step, bound=BOUND)
        gone |= {
            axis: step
            for axis, log_weight in zip(AXES, left, strict=True)
            if log_weight.isinf() and axis not in gone
        }
    return gone


@reproduction(
    "xnas-figure-3",
    about="three axes, of which the last is punished for 30 steps and rewarded for 90",
    claim="with GD the z axis struggles to recover, since its rewards are attenuated by its small weight; "
    "with XNAS the y axis leads for a while, and the z axis once rewards balance out penalties",
    rules={
        DECAYS: "while the slope is constant, GD's term of z shrinks at every step",
        LATER: "with GD z has the largest weight at a later step than with XNAS, or never",
        IN_TURN: "with XNAS y has the largest weight after the turn before z has it",
    },
    setup="the step size is 0.1, that of section 8.2; the paper does not say it",
    minutes=0.1,
    laptop=Turn(),
)
def reproduce(options: RunOptions, scale: Turn) -> ReproductionResult:  # noqa: ARG001
    """Both paths, when which axis leads, and the update terms of the z axis."""
    paths = {rule: walk(rule, scale) for rule in RULES}
    leading = {rule: leads(path, "z", scale.before) for rule, path in paths.items()}
    xnas_step, gd_step, between = leading[XNAS], leading[GD], leads(paths[XNAS], "y", scale.before + 1)
    decays = bool((paths[GD].terms[: scale.before, 2].diff() < 0).all())  # while the slope is constant
    in_turn = between is not None and xnas_step is not None and between < xnas_step
    later = gd_step is None or (xnas_step is not None and gd_step > xnas_step)
    words = {
        rule: "never leads" if step is None else f"leads from step {step}" for rule, step in leading.items()
    }
    ends = {rule: path.points[-1, 2].item() for rule, path in paths.items()}
    gone = ", ".join(f"{axis} after step {step}" for axis, step in wiped(paths[XNAS], scale.lr).items())
    return ReproductionResult(
        rows=_rows(paths, leading, scale),
        parts={
            DECAYS: PartResult(decays, _ends(paths[GD].terms[: scale.before, 2]), None),
            LATER: PartResult(
                later, f"step {_step_or_never(gd_step)}, XNAS {_step_or_never(xnas_step)}", None
            ),
            IN_TURN: PartResult(
                in_turn, f"y from step {_step_or_never(between)}, z from {_step_or_never(xnas_step)}", None
            ),
        },
        sentence="; ".join(f"with {rule} z {words[rule]} and ends at {ends[rule]:.3f}" for rule in RULES)
        + ".",
        size=f"three axes; {scale.before} steps with 2z, then {scale.after} with -y - 2z; lr {scale.lr:g}",
        seeds=0,
        figures={"paths": draw(paths)},
        numbers=numbers(paths),
        remarks=[
            "The paper does not say the step size of this problem.",
            f"The paths are those of the update rules; Algorithm 1's wipeout would drop {gone or 'no axis'}.",
        ],
    )


def _ends(terms: Tensor) -> str:
    return f"from {terms[0]:.3f} to {terms[-1]:.3f}"


def _rows(paths: dict[str, Trajectory], leading: dict[str, int | None], scale: Turn) -> list[Row]:
    terms, turn = paths[GD].terms[:, 2], scale.before
    distinct = sorted(set(paths[XNAS].terms[:, 2].tolist()), reverse=True)
    values = " and ".join(f"{value:g}" for value in distinct)
    rows = [
        Row("XNAS, terms of z before and after the turn", "constant", values),
        Row("GD, term of z at the first step", None, terms[0].item()),
        Row("GD, term of z at the last step before the turn", "decays", terms[turn - 1].item()),
        Row("GD, term of z at the first step after it", "attenuated", terms[turn].item()),
        Row("XNAS, y leads from step", "in the meanwhile", leads(paths[XNAS], "y", turn + 1)),
    ]
    rows += [Row(f"{rule}, z at the turn", None, paths[rule].points[turn, 2].item()) for rule in RULES]
    rows += [Row(f"{rule}, z leads from step", None, _step_or_never(leading[rule])) for rule in RULES]
    rows += [Row(f"{rule}, z at the end", None, paths[rule].points[-1, 2].item()) for rule in RULES]
    for lr in scale.others:
        for rule in RULES:
            step = leads(walk(rule, scale.model_copy(update={"lr": lr})), "z", turn)
            rows.append(Row(f"{rule} with lr {lr:g}, z leads from step", None, _step_or_never(step)))
    return rows


def _step_or_never(step: int | None) -> int | str:
    return "never" if step is None else step


def draw(paths: dict[str, Trajectory]) -> Figure:
    """Paths in space, on the simplex (the later, the lighter), and the terms of the z axis."""
    figure = Figure((13, 4.2), layout="constrained")
    space: Any = figure.add_subplot(1, 3, 1, projection="3d")
    plane, terms = figure.add_subplot(1, 3, 2), figure.add_subplot(1, 3, 3, xlabel="step", ylabel="term of z")
    space.plot(*torch.eye(3)[[0, 1, 2, 0]].T.numpy(), "--", color="0.5", linewidth=1)
    space.set(xlabel="x", ylabel="y", zlabel="z")
    space.view_init(25, 45)
    plane.plot(*CORNERS[[0, 1, 2, 0]].T.numpy(), "--", color="0.5", linewidth=1)
    for axis, corner in zip(AXES, CORNERS.tolist(), strict=True):
        plane.annotate(axis, corner, xytext=(0, -12 if corner[1] == 0 else 6), textcoords="offset points")
    plane.set_aspect("equal")
    plane.axis("off")
    for rule, style in line_styles(RULES).items():
        path, color = paths[rule], style.color
        flat = (path.points @ CORNERS).numpy()
        space.plot(*path.points.T.numpy(), style.line, color=color, label=rule)
        plane.plot(*flat.T, "-", color=color, linewidth=4, alpha=0.4)
        plane.annotate(
            rule, flat[-1], (-8, 0), textcoords="offset points", ha="right", color=color, fontsize=8
        )
        plane.scatter(
            flat[:, 0], flat[:, 1], c=range(len(flat)), cmap="viridis", s=14, marker=style.marker, zorder=3
        )
        terms.plot(path.terms[:, 2].numpy(), style.line, color=color, label=rule)
    terms.axhline(0, color="0.6", linewidth=0.8)
    terms.legend()
    space.legend(loc="upper left", fontsize=8)
    return figure
