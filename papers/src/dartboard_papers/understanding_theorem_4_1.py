"""Theorem 4.1 of Shu et al., after Ghadimi & Lan (2013): how close to stationary SGD comes.

The expectation of the squared gradient at a random iterate is computed exactly: the noise of a gradient is
+sigma or -sigma with equal probability, and all sequences of N signs are gone through. The functions have one
variable, a known smoothness L and a known minimum 0, and are not convex: g(s w) with g(u) = 1 - cos u or u^2
/ (1 + u^2), so that L = g''(0) s^2.

The theorem itself holds, and its proof is short: f(w - gamma (f' + noise)) is at most f - (gamma - L gamma^2
/ 2) f'^2 + L gamma^2 sigma^2 / 2 in expectation, the factor is at least gamma / 2 for gamma <= 1 / L, and the
sum over all steps telescopes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field

from dartboard.config.schema import Count, Seed
from dartboard.utils.statistics import Floats
from dartboard.viz.line_styles import line_styles
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, Scale, reproduction

BOUND = "the bound"
NOISE = "less gradient variance, a smaller error"
SMOOTHNESS = "a smaller Lipschitz constant, a smaller error"
ROUNDING = 1e-9
"""Relative tolerance of comparisons."""


@dataclass(frozen=True)
class Landscape1D:
    """A function of one variable with its minimum 0 at 0.

    Args:
        value: g(u).
        slope: g'(u).
        smoothness: Largest |g''|, which is g''(0).
    """

    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    smoothness: float


FUNCTIONS = {
    "1 - cos u": Landscape1D(lambda u: 1 - np.cos(u), np.sin, 1.0),
    "u^2 / (1 + u^2)": Landscape1D(lambda u: u**2 / (1 + u**2), lambda u: 2 * u / (1 + u**2) ** 2, 2.0),
}
"""Functions that are not convex, by their formulas."""


@dataclass(frozen=True)
class DescentProblem:
    """A run of SGD on f(w) = g(s w).

    Args:
        function: g.
        smoothness: L of f, which sets s.
        start: s w at the start, so that f there does not depend on L.
        rates: Learning rates of all steps [N].
        noise: sigma.
    """

    function: Landscape1D
    smoothness: float
    start: float
    rates: tuple[float, ...]
    noise: float


def expected_error(problem: DescentProblem) -> float:
    """E f'(w_R)^2, where step k is chosen with probability gamma_k / H: exact, over all signs of the
    noise."""
    scale = (problem.smoothness / problem.function.smoothness) ** 0.5
    w, total = np.array([problem.start / scale]), 0.0
    for rate in problem.rates:  # w has all iterates that are possible, equally probable [2^k]
        slopes = scale * problem.function.slope(scale * w)
        total += rate * float((slopes**2).mean())
        w = np.concatenate([w - rate * (slopes + sign * problem.noise) for sign in (-1, 1)])
    return total / sum(problem.rates)


def error_bound(problem: DescentProblem) -> float:
    """The theorem's bound 2 (f(w_0) - f*) / H + L sigma^2 / H sum gamma_k^2."""
    gap = float(problem.function.value(np.array(problem.start)))
    squares = sum(rate**2 for rate in problem.rates)
    return (2 * gap + problem.smoothness * problem.noise**2 * squares) / sum(problem.rates)


class Descents(Scale):
    """Random problems."""

    problems: Count = Field(default=100, description="random problems with each function")
    steps: int = Field(
        default=12, ge=1, le=18, description="steps of SGD; the signs of noise are 2 to this power"
    )
    seed: Seed = Field(default=0, description="random seed")


def random_problems(function: Landscape1D, scale: Descents) -> list[DescentProblem]:
    """Problems with L, start, noise and learning rates below 1 / L at random, the latter falling or
    constant."""
    rng = np.random.default_rng(scale.seed)
    problems = []
    for decays in rng.permutation(np.arange(scale.problems) % 2):
        smoothness, noise = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-1.5, 0.5)
        largest = rng.uniform(0.1, 0.99) / smoothness
        rates = largest / np.sqrt(np.arange(1, scale.steps + 1)) ** decays
        start = rng.uniform(0.3, 3.0)
        problems.append(DescentProblem(function, smoothness, start, tuple(rates.tolist()), noise))
    return problems


@reproduction(
    "understanding-theorem-4-1",
    about="the squared gradient that SGD reaches on functions that are not convex, against the bound of the "
    "theorem",
    claim="the expected squared gradient at a random iterate of SGD is at most 2 (f(w_0) - f*) / H + L "
    "sigma^2 / H sum gamma_k^2, so that a smaller Lipschitz constant L or gradient variance sigma^2 leads "
    "to a smaller convergence error",
    rules={
        BOUND: "no expectation is above the bound, in any problem",
        NOISE: "the expectation is smaller with half of sigma, in every problem",
        SMOOTHNESS: "the expectation is smaller with half of L and the same f(w_0), learning rates and "
        "sigma, in every problem",
    },
    setup="the paper proves nothing here, but quotes; functions of one variable, for which expectations are "
    "exact",
    minutes=0.2,
    laptop=Descents(),
)
def reproduce(options: RunOptions, scale: Descents) -> ReproductionResult:
    """Compares exact expectations with the bound, and with those of less noise and of smoother functions."""
    problems = {name: random_problems(function, scale) for name, function in FUNCTIONS.items()}
    every = [problem for group in problems.values() for problem in group]
    errors, bounds, quieter, smoother = [], [], [], []
    for done, problem in enumerate(every):
        options.tell("problems", done, len(every))
        errors.append(expected_error(problem))
        bounds.append(error_bound(problem))
        quieter.append(expected_error(replace(problem, noise=problem.noise / 2)))
        smoother.append(expected_error(replace(problem, smoothness=problem.smoothness / 2)))
    parts = {
        BOUND: _count(errors, bounds, "expectations are within the bound"),
        NOISE: _count(quieter, errors, "errors are smaller with half of sigma"),
        SMOOTHNESS: _count(smoother, errors, "errors are smaller with half of L"),
    }
    return ReproductionResult(
        rows=[
            Row("largest expectation / bound", "<= 1", max(np.divide(errors, bounds))),
            Row("smallest expectation / bound", None, min(np.divide(errors, bounds))),
            Row(
                "median error with half of sigma / error", "< 1", float(np.median(np.divide(quieter, errors)))
            ),
            Row("median error with half of L / error", "< 1", float(np.median(np.divide(smoother, errors)))),
        ],
        parts=parts,
        sentence="; ".join(part.observed for part in parts.values()),
        size=f"{scale.problems} problems with each of {len(FUNCTIONS)} functions, {scale.steps} steps",
        seeds=0,
        figures={"bounds": draw(problems, errors, bounds)},
        numbers={"errors": errors, "bounds": bounds, "quieter": quieter, "smoother": smoother},
        remarks=[
            (
                "The bound is that of any function; that it falls with L and sigma does not say that the "
                "error of each function does, which is what the last two parts look at."
            ),
            (
                "Learning rates above 1 / L break the bound: without noise one step with a rate of 1.9 / L "
                "on L w^2 / 2 has 1.9 times it."
            ),
        ],
    )


def _count(smaller: Sequence[float], larger: Sequence[float], words: str) -> PartResult:
    """Whether all values of the first list are at most those of the second."""
    good = sum(first <= second * (1 + ROUNDING) for first, second in zip(smaller, larger, strict=True))
    return PartResult(good == len(smaller), f"{good} of {len(smaller)} {words}", None)


def draw(
    problems: dict[str, list[DescentProblem]], errors: Sequence[float], bounds: Sequence[float]
) -> Figure:
    """Each expectation against its bound; points above the line would break it."""
    figure = Figure((4.6, 4.2), layout="constrained")
    axes = figure.add_subplot(xlabel="bound", ylabel="expected squared gradient", xscale="log", yscale="log")
    start = 0
    for name, style in line_styles(problems).items():
        end = start + len(problems[name])
        axes.plot(
            bounds[start:end], errors[start:end], style.marker, color=style.color, markersize=3, label=name
        )
        start = end
    low, high = min(errors), max(bounds)
    axes.plot([low, high], [low, high], "--", color="0.4", linewidth=1)
    axes.legend(fontsize=8)
    return figure
