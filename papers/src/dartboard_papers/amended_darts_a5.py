"""Amended-DARTS A.5: whether the amending term makes less than a right angle with what it stands for.

The paper takes g2' = -eta M H v for g2 = -M H^-1 v (M the mixed derivative of the training loss, H its
Hessian in the weights, v the slope of the validation loss) and claims <g2', g2> >= 0, since M'M is positive
semi-definite and "so is the matrix after similarity transformation", H^-1 M'M H. Its eigenvalues are not
negative, but the matrix is not symmetric, and they say nothing about v' H^-1 M'M H v. A.5 looks at the
symmetric part, S = H^-1 M'M H + H M'M H^-1, and assumes "in most cases" what it needs of it.

What is true: let M have fewer rows than columns, as it always has (A.5: "hundreds compared to millions"), and
let z be in its kernel. With x = H^-1 z, x'Sx = 0; were S positive semi-definite, S x = H M'M H^-2 z would be
zero, and H would map the kernel to itself. Wherever it does not, S has a negative eigenvalue, and some v
breaks the claim. How often a v does is measured here.

The test, fixed before: the claim is of a guarantee, so it holds if no problem with a positive definite H
breaks it. The problems are random ones and small networks with mixtures of activations at minima of their
training losses. Networks that are trained little have indefinite Hessians and are counted apart: the paper
uses g2' there as well, but claims nothing. Changed after a first result: how minima are found, as only 22 of
60 networks came to one; the claim was broken there too.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from pydantic import Field

from dartboard.config.schema import Count
from dartboard.viz.line_styles import line_styles
from dartboard_papers._amended_angles import (
    ARCHS,
    WEIGHTS,
    Angles,
    at_minimum,
    look_at,
    make_network,
    random_problems,
    trained,
)
from dartboard_papers.base import Finding, Row, Scale, Setting, Verdict, reproduction

ROUNDING = 1e-9
"""A cosine above minus this counts as not negative."""
LATE = (
    "How minima are found was changed after a first result, as only 22 of 60 networks came to one; the claim "
    "was broken there too."
)
REMARKS = (
    "A similarity transformation keeps eigenvalues, not the sign of a quadratic form.",
    "A.5 assumes what it needs 'in most cases'; section 3.4 does not, and speaks of a guarantee.",
    LATE,
)
Condition = Annotated[float, Field(ge=1)]
ESTIMATES = {"amending": "g2' (amended)", "second": "g2'' (second order)"}


class Sizes(Scale):
    """How many problems there are, and of what kind."""

    problems: Count = Field(default=2000, description="random problems of each kind")
    weights: Count = Field(default=24, description="weights of a random problem")
    archs: tuple[Count, ...] = Field(
        default=(1, 3, 6, 12, 24, 48), min_length=1, description="architecture parameters"
    )
    conditions: tuple[Condition, ...] = Field(
        default=(2.0, 10.0, 100.0, 1000.0),
        min_length=1,
        description="largest over smallest eigenvalue of the Hessian",
    )
    networks: Count = Field(default=60, description="small networks")
    short: int = Field(default=5, ge=0, description="steps of networks that are trained little")
    eta: float = Field(default=0.1, gt=0, description="amending coefficient; the angle of g2' has none")


def share_right(cosines: ArrayLike) -> float:
    """The percentage of cosines that are not negative."""
    return 100 * float(np.mean(np.asarray(cosines) >= -ROUNDING))


@dataclass(frozen=True)
class Found:
    """What all problems came to.

    Args:
        random: By architecture parameters and condition number, how often the claim holds, in percent.
        minima: Networks at minima with positive definite Hessians.
        bent: Networks, little trained, with indefinite ones.
    """

    random: dict[tuple[int, float], float]
    minima: Sequence[Angles]
    bent: Sequence[Angles]

    @property
    def broken(self) -> bool:
        """Whether some problem with a positive definite Hessian breaks the claim."""
        shares = [*self.random.values(), share_right([own.amending for own in self.minima])]
        return min(shares) < 100.0


def find(setting: Setting, scale: Sizes) -> Found:
    """Looks at all problems."""
    kinds = [(archs, condition) for archs in scale.archs for condition in scale.conditions]
    random = {}
    for done, (archs, condition) in enumerate(kinds, 1):
        problems = random_problems(scale.problems, scale.weights, archs, condition)
        random[archs, condition] = share_right(problems.cosines()[0])
        setting.tell("random problems", done, len(kinds))
    ends, early = [], []
    for seed in range(scale.networks):
        start = make_network(seed)
        ends.append(look_at(at_minimum(start), scale.eta))
        early.append(look_at(trained(start, scale.short), scale.eta))
        setting.tell("networks", seed + 1, scale.networks)
    minima = [own for own in ends if own.minimum]
    return Found(random, minima, [own for own in early if own.curvature < 0])


@reproduction(
    "amended-darts-a5",
    about="the angle between the amending term and what it stands for, on problems with exact inverses",
    claim="<g2', g2> >= 0 wherever the Hessian of the training loss is positive definite (section 3.4, A.5)",
    minutes=0.7,
    laptop=Sizes(),
)
def reproduce(setting: Setting, scale: Sizes) -> Finding:
    """How often the claim holds: random positive definite problems, networks at minima, networks before."""
    found = find(setting, scale)
    return Finding(
        rows=_rows(scale, found),
        verdict=Verdict.NOT_HELD if found.broken else Verdict.HELD,
        sentence=_sentence(found),
        size=f"random problems of {scale.weights} weights, {scale.problems:,} of each kind; "
        f"{scale.networks} networks of {WEIGHTS} weights and {ARCHS} architecture parameters",
        seeds=scale.networks,
        figures={"angles": draw(scale, found)},
        numbers={
            "random": [
                {"archs": archs, "condition": condition, "share": share}
                for (archs, condition), share in found.random.items()
            ],
            "minima": [asdict(own) for own in found.minima],
            "indefinite": [asdict(own) for own in found.bent],
        },
        remarks=REMARKS,
    )


def _rows(scale: Sizes, found: Found) -> list[Row]:
    ends = dict.fromkeys((scale.archs[0], scale.archs[-1]))
    rows = [
        Row(f"random, condition {condition:g}, {archs} arch. parameters: <g2', g2> >= 0, %", 100, share)
        for (archs, condition), share in found.random.items()
        if archs in ends
    ]
    return rows + _network_rows(found)


def _network_rows(found: Found) -> list[Row]:
    minima, bent = found.minima, found.bent
    rows = [Row("networks that came to a minimum", None, len(minima))]
    if minima:
        broken, nearer = ([own.worst < 0 for own in minima], [own.nearer for own in minima])
        rows += [
            Row("minima: <g2', g2> >= 0, %", 100, share_right([own.amending for own in minima])),
            Row("minima: <g2'', g2> >= 0, %", "no guarantee", share_right([own.second for own in minima])),
            Row("minima: some other slope breaks the claim, %", 0, 100 * float(np.mean(broken))),
            Row("minima: g1 + g2' nearer to the gradient than g1, %", None, 100 * float(np.mean(nearer))),
        ]
    if bent:
        share = share_right([own.amending for own in bent])
        rows.append(Row("indefinite Hessians: <g2', g2> >= 0, %", None, share))
    return rows


def _sentence(found: Found) -> str:
    if not found.broken:
        return "No problem with a positive definite Hessian broke it."
    low, high = min(found.random.values()), max(found.random.values())
    share = share_right([own.amending for own in found.minima])
    return (
        f"It is no guarantee: it held in {low:.0f} to {high:.0f} % of the random problems of a kind, all of "
        f"them positive definite, and at {share:.0f} % of the {len(found.minima)} minima of networks."
    )


def draw(scale: Sizes, found: Found) -> Figure:
    """How often the claim holds on random problems, and the angles at minima of networks."""
    figure = Figure((9.6, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_shares(left, scale, found.random)
    _draw_angles(right, found.minima)
    return figure


def _draw_shares(axes: Axes, scale: Sizes, shares: dict[tuple[int, float], float]) -> None:
    axes.set(title="Random positive definite problems", ylabel="<g2', g2> >= 0, % of problems")
    axes.set_xlabel(f"architecture parameters, of {scale.weights} weights")
    axes.set_xscale("log", base=2)
    axes.set_xticks(scale.archs, [str(archs) for archs in scale.archs])
    axes.axhline(100.0, color="0.5", linestyle="--", linewidth=0.9, label="the paper")
    every = line_styles(f"condition {condition:g}" for condition in scale.conditions)
    for condition, (label, look) in zip(scale.conditions, every.items(), strict=True):
        heights = [shares[archs, condition] for archs in scale.archs]
        axes.plot(scale.archs, heights, look.line, color=look.color, marker=look.marker, label=label)
    axes.legend(fontsize="small")


def _draw_angles(axes: Axes, minima: Sequence[Angles]) -> None:
    axes.set(title="Networks at a minimum", xlabel="angle with g2, degrees", ylabel="networks", xlim=(0, 180))
    edges = np.linspace(0.0, 180.0, 19).tolist()
    for key, look in line_styles(ESTIMATES).items():
        angles = np.degrees(np.arccos(np.clip([getattr(own, key) for own in minima], -1.0, 1.0)))
        axes.hist(angles, bins=edges, histtype="step", color=look.color, linewidth=1.8, label=ESTIMATES[key])
    axes.axvline(90.0, color="0.5", linestyle="--", linewidth=0.9)
    axes.legend(fontsize="small")
