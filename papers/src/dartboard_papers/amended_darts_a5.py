"""Amended-DARTS A.5: whether the amending term makes less than a right angle with what it stands for.

The paper takes g2' = -eta M H v for g2 = -M H^-1 v (M the mixed derivative of the training loss, H its
Hessian in the weights, v the slope of the validation loss) and claims <g2', g2> >= 0, since M'M is positive
semi-definite and "so is the matrix after similarity transformation", H^-1 M'M H. Its eigenvalues are not
negative, but the matrix is not symmetric, and they say nothing about v' H^-1 M'M H v. A.5 looks at the
symmetric part, S = H^-1 M'M H + H M'M H^-1, and assumes "in most cases" what it needs of it.

What is true: let M have fewer rows than columns, as it always has (A.5: "hundreds compared to millions"), and
let z be in its kernel. With x = H^-1 z, x'Sx = 0; were S positive semi-definite, S x = H M'M H^-2 z would be
zero, and H would map the kernel to itself. Wherever it does not, S has a negative eigenvalue, and some v
breaks the claim. How often a v does is measured here, on random problems and on small networks with mixtures
of activations.

Each network is searched as DARTS does it, a step of the weights and one of the architecture in turn. There,
during the search, g2' is computed as the paper does, with the weights as they are, whose Hessian can be
indefinite. Then the architecture is fixed and the weights are trained to a minimum of the training loss; the
exact gradient g1 + g2 there is what both are compared with: g2' during the search, and g2' at the minimum.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from pydantic import Field
from torch import Tensor

from dartboard.arch.hvp import Exact
from dartboard.arch.hypergradient import BilevelProblem, amended, first_order, train_grads
from dartboard.config.schema import Count
from dartboard.viz.line_styles import line_styles
from dartboard_papers._differences import SIGNS, more_than_half
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, Scale, reproduction

INPUTS, HIDDEN, EXAMPLES, PENALTY = 4, 5, 24, 0.05
WEIGHTS, ARCHS = INPUTS * HIDDEN + HIDDEN, 6
"""Sizes of a small network."""
FLAT = 1e-11
"""Norm of the training gradient below which a point counts as a minimum."""
LEAST, LONGEST = 1e-3, 0.3
"""The least curvature that Newton's step divides by, and the longest step."""


@dataclass(frozen=True)
class SecondOrderProblem:
    """Second derivatives at a point, or at many with leading axes.

    Args:
        hessian: Of the training loss in the weights, H [W, W].
        mixed: Of the training loss, M [A, W].
        slope: Of the validation loss in the weights, v [W].
    """

    hessian: Tensor
    mixed: Tensor
    slope: Tensor

    def true(self) -> Tensor:
        """g2 = -M H^-1 v, [A]."""
        return -_times(self.mixed, torch.linalg.solve(self.hessian, self.slope.unsqueeze(-1)).squeeze(-1))

    def estimates(self) -> tuple[Tensor, Tensor]:
        """g2' = -M H v and g2'' = -M v, which take its place in amended and second-order DARTS, [A] each."""
        return -_times(self.mixed, _times(self.hessian, self.slope)), -_times(self.mixed, self.slope)

    def cosines(self) -> tuple[Tensor, Tensor]:
        """Cosines of the angles that g2' and g2'' make with g2."""
        true, (amending, second) = self.true(), self.estimates()
        return (
            torch.cosine_similarity(amending, true, dim=-1, eps=0),
            torch.cosine_similarity(second, true, dim=-1, eps=0),
        )

    def worst(self) -> Tensor:
        """The smallest eigenvalue of H^-1 M'M H + H M'M H^-1; below zero some slope breaks the claim."""
        turned = torch.linalg.solve(self.hessian, self.mixed.mT @ self.mixed @ self.hessian)
        values: Tensor = torch.linalg.eigvalsh(turned + turned.mT)
        return values[..., 0]


def _times(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def random_problems(
    count: int, weights: int, archs: int, condition: float, seed: int = 0
) -> SecondOrderProblem:
    """Problems with a positive definite Hessian, `count` of them along the first axis.

    Its axes are random and its eigenvalues lie evenly on a logarithmic scale; M and v are normal.
    """
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(count, *shape, generator=generator, dtype=torch.float64)

    axes = torch.linalg.qr(draw(weights, weights)).Q
    scales = torch.logspace(0.0, float(np.log10(condition)), weights, dtype=torch.float64)
    return SecondOrderProblem((axes * scales) @ axes.mT, draw(archs, weights), draw(weights))


def make_network(seed: int) -> BilevelProblem:
    """The start of a network of two layers, each with a mixture of three activations, with its own data."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    teacher = draw(INPUTS, 1)
    weights = [draw(INPUTS, HIDDEN) / INPUTS**0.5, draw(HIDDEN, 1) / HIDDEN**0.5]
    alpha = (0.5 * draw(2, ARCHS // 2)).requires_grad_()
    images = [draw(EXAMPLES, INPUTS) for _ in range(2)]
    train, valid = ((x, torch.sin(x @ teacher) + 0.3 * draw(EXAMPLES, 1)) for x in images)

    def loss(data: tuple[Tensor, Tensor], at: Sequence[Tensor]) -> Tensor:
        outputs = _mixture(_mixture(data[0] @ at[0], alpha[0]) @ at[1], alpha[1])
        return (outputs - data[1]).square().mean()

    def penalized(at: Sequence[Tensor]) -> Tensor:
        return loss(train, at) + PENALTY * torch.stack([weight.square().sum() for weight in at]).sum()

    return BilevelProblem([penalized], [lambda at: loss(valid, at)], weights, [alpha])


def _mixture(x: Tensor, alpha: Tensor) -> Tensor:
    shares = alpha.softmax(0)
    return shares[0] * torch.tanh(x) + shares[1] * x + shares[2] * torch.sin(x)


def moved(point: BilevelProblem, weights: Sequence[Tensor]) -> BilevelProblem:
    """The same problem at other weights."""
    return BilevelProblem(point.train, point.valid, [weight.detach() for weight in weights], point.arch)


def trained(point: BilevelProblem, steps: int, lr: float = 0.1) -> BilevelProblem:
    """The same problem after gradient descent on the training loss."""
    for _ in range(steps):
        pairs = zip(point.weights, train_grads(point), strict=True)
        point = moved(point, [weight - lr * slope for weight, slope in pairs])
    return point


def at_minimum(point: BilevelProblem, steps: int = 300, most: int = 100) -> BilevelProblem:
    """The same problem at a minimum of the training loss: descent, then Newton's steps that leave saddles."""
    point = trained(point, steps)
    for _ in range(most):
        slope = _flat(train_grads(point))
        if slope.norm() < FLAT:
            break
        values, axes = torch.linalg.eigh(derivatives(point).hessian)
        step = axes @ (axes.mT @ slope / values.abs().clamp_min(LEAST))
        step = step * (LONGEST / step.norm()).clamp_max(1.0)
        point = moved(point, _like(_flat(point.weights) - step, point.weights))
    return point


def _flat(weights: Sequence[Tensor]) -> Tensor:
    return torch.cat([weight.flatten() for weight in weights])


def _like(flat: Tensor, weights: Sequence[Tensor]) -> list[Tensor]:
    parts = flat.split([weight.numel() for weight in weights])
    return [part.view_as(weight) for part, weight in zip(parts, weights, strict=True)]


def derivatives(point: BilevelProblem) -> SecondOrderProblem:
    """Full matrices of second derivatives."""
    flat = _flat(point.weights).requires_grad_()
    loss = point.train[0](_like(flat, point.weights))
    (slope,) = torch.autograd.grad(loss, flat, create_graph=True)
    rows = torch.eye(len(flat), dtype=flat.dtype)
    hessian, mixed = torch.autograd.grad(slope, [flat, *point.arch], rows, is_grads_batched=True)
    (valid,) = torch.autograd.grad(point.valid[0](_like(flat, point.weights)), flat)
    return SecondOrderProblem(hessian, mixed.flatten(1).mT, valid)


def searched(point: BilevelProblem, steps: int, lr: float = 0.1) -> BilevelProblem:
    """The same problem after a search: steps of the weights and of the architecture, by g1, in turn."""
    for _ in range(steps):
        pairs = zip(point.weights, train_grads(point), strict=True)
        point = moved(point, [weight - lr * slope for weight, slope in pairs])
        slopes = first_order(point)
        with torch.no_grad():
            for arch, slope in zip(point.arch, slopes, strict=True):
                arch.sub_(lr * slope)
    return point


@dataclass(frozen=True)
class Angles:
    """Angles at the weights of a network.

    Args:
        curvature: The smallest eigenvalue of its Hessian.
        slope: The norm of the training loss's slope, zero at a minimum.
        amending: The cosine of the angle between g2' and g2.
        second: That between g2'' and g2.
        worst: See `SecondOrderProblem.worst`.
        nearer: Whether g1 + g2' makes a smaller angle with the true gradient than g1 alone.
        bounded: The same with g2' cut to the length of g1.
    """

    curvature: float
    slope: float
    amending: float
    second: float
    worst: float
    nearer: bool
    bounded: bool

    @property
    def minimum(self) -> bool:
        """True at a minimum with a positive definite Hessian."""
        return self.curvature > 0 and self.slope < 1e3 * FLAT


def true_gradient(point: BilevelProblem) -> Tensor:
    """g1 + g2 at a minimum of the training loss, flat."""
    return _flat(first_order(point)) + derivatives(point).true()


def measure_angles(point: BilevelProblem, eta: float, true: Tensor) -> Angles:
    """The angles at a network, with g1 and the amended gradient as searches compute them.

    Args:
        point: The network.
        eta: Amending coefficient.
        true: The true gradient in the architecture, flat.
    """
    problem = derivatives(point)
    estimates = (
        first_order(point),
        amended(point, eta, Exact()),
        amended(point, eta, Exact(), bounded=True),
    )
    alone, together, bounded = (
        torch.cosine_similarity(_flat(estimate), true, dim=0).item() for estimate in estimates
    )
    amending, second = (cosine.item() for cosine in problem.cosines())
    return Angles(
        curvature=torch.linalg.eigvalsh(problem.hessian)[0].item(),
        slope=_flat(train_grads(point)).norm().item(),
        amending=amending,
        second=second,
        worst=problem.worst().item(),
        nearer=together > alone,
        bounded=bounded > alone,
    )


ROUNDING = 1e-9
"""A cosine above minus this counts as not negative."""
LATE = (
    "How minima are found was changed after a first result, as only 22 of 60 networks came to one; the claim "
    "was broken there too. What g2' does during a search was added later, and minima are since then those of "
    "searched architectures."
)
REMARKS = (
    "A similarity transformation keeps eigenvalues, not the sign of a quadratic form.",
    "A.5 assumes what it needs 'in most cases'; section 3.4 does not, and speaks of a guarantee.",
    LATE,
)
RANDOM, MINIMA = "<g2', g2> >= 0 on random problems", "<g2', g2> >= 0 at minima of networks"
DURING = "<g2', g2> >= 0 during searches"
HELPS, HELPS_DURING = "adding g2' helps at trained weights", "adding g2' helps during searches"
Condition = Annotated[float, Field(ge=1)]
ESTIMATES = {"amending": "g2' (amended)", "second": "g2'' (second order)"}


class AngleProblems(Scale):
    """Number and kind of the problems."""

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
    steps: int = Field(default=20, ge=0, description="steps of a search, of the weights and the architecture")
    eta: float = Field(default=0.1, gt=0, description="amending coefficient; the angle of g2' has none")


def share_right(cosines: ArrayLike) -> float:
    """Percentage of cosines that are not negative."""
    return 100 * float(np.mean(np.asarray(cosines) >= -ROUNDING))


@dataclass(frozen=True)
class AngleStudy:
    """Results of all problems.

    Args:
        random: By architecture parameters and condition number, how often the claim holds, in percent.
        minima: Networks at minima with positive definite Hessians.
        early: The same networks as the search left them.
    """

    random: dict[tuple[int, float], float]
    minima: Sequence[Angles]
    early: Sequence[Angles]

    def parts(self) -> dict[str, PartResult]:
        """Parts of the claim; a guarantee is broken by one counterexample, which leaves nothing to chance."""
        least, most = min(self.random.values()), max(self.random.values())
        parts = {RANDOM: PartResult(least == 100.0, f"{least:.0f} to {most:.0f} % of a kind", None)}
        if self.minima:
            share = share_right([angles.amending for angles in self.minima])
            parts |= {
                MINIMA: PartResult(share == 100.0, f"{share:.0f} % of {len(self.minima)}", None),
                DURING: more_than_half([angles.amending >= -ROUNDING for angles in self.early]),
                HELPS: more_than_half([angles.nearer for angles in self.minima]),
                HELPS_DURING: more_than_half([angles.nearer for angles in self.early]),
            }
        return parts


def measure_all(options: RunOptions, scale: AngleProblems) -> AngleStudy:
    """Measures the angles of all problems."""
    kinds = [(archs, condition) for archs in scale.archs for condition in scale.conditions]
    random = {}
    for done, (archs, condition) in enumerate(kinds, 1):
        problems = random_problems(scale.problems, scale.weights, archs, condition)
        random[archs, condition] = share_right(problems.cosines()[0])
        options.tell("random problems", done, len(kinds))
    minima, early = [], []
    for seed in range(scale.networks):
        point = searched(make_network(seed), scale.steps)
        end = at_minimum(point)
        true = true_gradient(end)
        angles = measure_angles(end, scale.eta, true)
        if angles.minimum:
            minima.append(angles)
            early.append(measure_angles(point, scale.eta, true))
        options.tell("networks", seed + 1, scale.networks)
    return AngleStudy(random, minima, early)


@reproduction(
    "amended-darts-a5",
    about="the angle between the amending term and what it stands for, on problems with exact inverses",
    claim="<g2', g2> >= 0 wherever the Hessian of the training loss is positive definite (section 3.4, A.5), "
    "so that adding g2' makes the gradient of the architecture better",
    rules={
        RANDOM: "no random problem with a positive definite Hessian breaks it",
        MINIMA: "no network at a minimum of its training loss with a positive definite Hessian breaks it",
        DURING: "it holds for more than half of the networks as a search leaves them, where the paper uses "
        f"it, {SIGNS}",
        HELPS: "at the minimum, g1 + g2' makes a smaller angle with the exact gradient than g1 for more than "
        f"half of the networks, {SIGNS}",
        HELPS_DURING: "with the weights as the search leaves them, g1 + g2' makes a smaller angle with the "
        f"exact gradient at the minimum than g1 for more than half of the networks, {SIGNS}",
    },
    setup="networks of 25 weights, so that the inverse of the Hessian is exact, instead of a supernet; the "
    "paper has a derivation and no experiment",
    minutes=1,
    laptop=AngleProblems(),
)
def reproduce(options: RunOptions, scale: AngleProblems) -> ReproductionResult:
    """Measures how often the claim holds: on random problems, on networks at minima, on networks before."""
    study = measure_all(options, scale)
    parts = study.parts()
    words = "; ".join(f"{name}: {part.observed}" for name, part in parts.items())
    return ReproductionResult(
        rows=_rows(scale, study),
        parts=parts,
        sentence=words,
        size=f"random problems of {scale.weights} weights, {scale.problems:,} of each kind; "
        f"{scale.networks} networks of {WEIGHTS} weights and {ARCHS} architecture parameters, searched for "
        f"{scale.steps} steps",
        seeds=scale.networks,
        figures={"angles": draw(scale, study)},
        numbers={
            "random": [
                {"archs": archs, "condition": condition, "share": share}
                for (archs, condition), share in study.random.items()
            ],
            "minima": [asdict(angles) for angles in study.minima],
            "during the search": [asdict(angles) for angles in study.early],
        },
        remarks=REMARKS,
    )


def _rows(scale: AngleProblems, study: AngleStudy) -> list[Row]:
    ends = dict.fromkeys((scale.archs[0], scale.archs[-1]))
    rows = [
        Row(f"random, condition {condition:g}, {archs} arch. parameters: <g2', g2> >= 0, %", 100, share)
        for (archs, condition), share in study.random.items()
        if archs in ends
    ]
    rows.append(Row("networks that came to a minimum", None, len(study.minima)))
    if not study.minima:
        return rows
    for when, group in (("at minima", study.minima), ("during searches", study.early)):
        nearer, bounded = ([getattr(angles, key) for angles in group] for key in ("nearer", "bounded"))
        rows += [
            Row(
                f"{when}: <g2', g2> >= 0, %",
                100 if group is study.minima else None,
                share_right([angles.amending for angles in group]),
            ),
            Row(
                f"{when}: <g2'', g2> >= 0, %",
                "no guarantee",
                share_right([angles.second for angles in group]),
            ),
            Row(f"{when}: g1 + g2' nearer to the gradient than g1, %", None, 100 * float(np.mean(nearer))),
            Row(f"{when}: the same with g2' as long as g1 at most, %", None, 100 * float(np.mean(bounded))),
            Row(
                f"{when}: indefinite Hessians, %",
                None,
                100 * float(np.mean([angles.curvature < 0 for angles in group])),
            ),
        ]
    broken = [angles.worst < 0 for angles in study.minima]
    return [*rows, Row("at minima: some other slope breaks the claim, %", 0, 100 * float(np.mean(broken)))]


def draw(scale: AngleProblems, study: AngleStudy) -> Figure:
    """How often the claim holds on random problems, and the angles at minima of networks."""
    figure = Figure((9.6, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.set(title="Random positive definite problems", ylabel="<g2', g2> >= 0, % of problems")
    left.set_xlabel(f"architecture parameters, of {scale.weights} weights")
    left.set_xscale("log", base=2)
    left.set_xticks(scale.archs, [str(archs) for archs in scale.archs])
    left.axhline(100.0, color="0.5", linestyle="--", linewidth=0.9, label="the paper")
    styles = line_styles(f"condition {condition:g}" for condition in scale.conditions)
    for condition, (label, style) in zip(scale.conditions, styles.items(), strict=True):
        heights = [study.random[archs, condition] for archs in scale.archs]
        left.plot(scale.archs, heights, style.line, color=style.color, marker=style.marker, label=label)
    right.set(
        title="Networks at a minimum", xlabel="angle with g2, degrees", ylabel="networks", xlim=(0, 180)
    )
    edges = np.linspace(0.0, 180.0, 19).tolist()
    for key, style in line_styles(ESTIMATES).items():
        cosines = np.clip([getattr(angles, key) for angles in study.minima], -1.0, 1.0)
        right.hist(
            np.degrees(np.arccos(cosines)),
            bins=edges,
            histtype="step",
            color=style.color,
            linewidth=1.8,
            label=ESTIMATES[key],
        )
    right.axvline(90.0, color="0.5", linestyle="--", linewidth=0.9)
    for axes in (left, right):
        axes.legend(fontsize="small")
    return figure
