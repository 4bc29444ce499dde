"""XNAS figure 8: regret and correct selection against the number of experts and against the noise.

The paper says neither the rates, nor how unbounded rewards are clipped, nor the grids. Here:

- XNAS clips rewards at L = 3 (1 + sigma^2)^(1/2), three standard deviations, drops experts, and has the rate
  (2 ln N / T)^(1/2) / L that its equation 4 gives. Regret is in the rewards as they are.
- GD with softmax has the same rate (as in the paper's section 8.2), and the same clipping.
- Both are also tried with each of `rates`, of which the best counts: that with the smallest mean regret at
  the point of the grid.
- XNAS with L = 1, as in the paper's search, is looked at as well.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import Field
from scipy.special import ndtr

from dartboard.arch.optim.expert_advice import theoretical_lr
from dartboard.config.schema import MAX_COUNT, Count, Seed
from dartboard.utils.atomic import write_text
from dartboard.utils.processes import parallel_map
from dartboard.utils.safe_files import read_file
from dartboard.viz.line_styles import line_styles
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, Scale, reproduction
from dartboard_papers.chance import DRAWS, SEED, chance_within
from dartboard_papers.theory.expert_problems import Gaussian
from dartboard_papers.theory.forecasters import Forecaster, Standing, stand

XNAS, GD = "XNAS", "GD, same rate"
BEST_XNAS, BEST_GD = "XNAS, best rate", "GD, best rate"
UNIT = "XNAS, rewards clipped to 1"
NAMES = (XNAS, GD, BEST_XNAS, BEST_GD, UNIT)
SHAPES: dict[str, Callable[[float], float]] = {
    "sqrt(ln N)": lambda n: math.sqrt(math.log(n)),
    "sqrt(N)": math.sqrt,
}
"""How regret may grow with the number of experts."""
NOISE = 2.0
"""Standard errors within which a difference counts as chance."""
LESS, FALLS = "XNAS has less regret than GD", "correct selection falls where regret grows"
GROWTH = {
    "XNAS' regret grows like sqrt(ln N)": (XNAS, "sqrt(ln N)"),
    "GD's regret grows like sqrt(N)": (GD, "sqrt(N)"),
}
"""Forecaster and shape, by the name of the part."""


@dataclass(frozen=True)
class RegretCurve:
    """Forecasters along a grid.

    Args:
        name: What varies.
        grid: Values of it.
        standings: Results at each value, by forecaster.
    """

    name: str
    grid: Sequence[float]
    standings: Sequence[Mapping[str, Standing]]

    def of(self, forecaster: str, field: str) -> list[float]:
        """Values of one forecaster along the grid."""
        return [float(getattr(standings[forecaster], field)) for standings in self.standings]

    def facts(self) -> dict[str, Any]:
        """The curve, ready for JSON."""
        by_forecaster = {name: [asdict(standings[name]) for standings in self.standings] for name in NAMES}
        return {"grid": list(self.grid), "forecasters": by_forecaster}


def below(curves: Sequence[RegretCurve], first: str, second: str, errors: float = 0.0) -> tuple[int, int]:
    """Number of points of all curves at which the first forecaster has less regret, and of all points.

    Args:
        curves: The curves.
        first: Name of the one forecaster.
        second: Name of the other.
        errors: By more than how many standard errors of the difference.
    """
    pairs = [(standings[first], standings[second]) for curve in curves for standings in curve.standings]
    less = [b.regret - a.regret > errors * math.hypot(a.error or 0.0, b.error or 0.0) for a, b in pairs]
    return sum(less), len(pairs)


def selects(curves: Sequence[RegretCurve], first: str, second: str) -> tuple[int, int]:
    """Number of points at which the first selects correctly at least as often, and of all points."""
    shares = [(curve.of(first, "correct"), curve.of(second, "correct")) for curve in curves]
    pairs = [pair for pair_of_curves in shares for pair in zip(*pair_of_curves, strict=True)]
    return sum(a >= b for a, b in pairs), len(pairs)


def misfit(values: Sequence[float], shape: Sequence[float]) -> float:
    """Relative distance of values from the nearest multiple of a curve, from 0 to 1."""
    data, template = np.asarray(values, float), np.asarray(shape, float)
    residual = data - template * (data @ template) / (template @ template)
    return math.sqrt(float(residual @ residual) / float(data @ data))


def conclude(
    left: RegretCurve, right: RegretCurve, runs: int
) -> tuple[dict[str, PartResult], str, list[Row], list[str]]:
    """Parts, sentence, rows and remarks of curves whose points are means over a number of runs."""
    both = left, right
    same, best = below(both, XNAS, GD, NOISE), below(both, BEST_XNAS, BEST_GD, NOISE)
    shapes = {
        name: {
            shape: misfit(left.of(name, "regret"), [growth(n) for n in left.grid])
            for shape, growth in SHAPES.items()
        }
        for name in (XNAS, GD)
    }
    nearest = {name: min(misfits, key=lambda shape: misfits[shape]) for name, misfits in shapes.items()}
    falls = all(_falls_with_regret(curve, name, runs) for curve in both for name in (XNAS, GD))
    sentence = (
        f"XNAS has less regret than GD at {_of(same)} points with the same rate and at {_of(best)} with the "
        f"best rates; with the same rate its regret is nearest to {nearest[XNAS]}, GD's to {nearest[GD]}; "
        f"where regret grows, correct selection {'falls' if falls else 'does not always fall'}."
    )
    paper = {(XNAS, "sqrt(ln N)"): "like it", (GD, "sqrt(N)"): "like it"}
    rows = [
        Row(f"{name}: misfit of the regret to {shape}", paper.get((name, shape)), value)
        for name, misfits in shapes.items()
        for shape, value in misfits.items()
    ]
    rows += [row for curve in both for row in _rows(curve)]
    parts = {
        LESS: PartResult(
            same[0] == same[1] and best[0] == best[1],
            f"{_of(same)} points at the same rate, {_of(best)} at the best",
            float(ndtr(-NOISE)),
        ),
        **{
            name_of_part: PartResult(
                nearest[name] == shape,
                f"misfits of {', '.join(f'{value:.3f} to {key}' for key, value in shapes[name].items())}",
                chance_of_shape(left, name, shape),
            )
            for name_of_part, (name, shape) in GROWTH.items()
        },
        FALLS: PartResult(
            falls,
            f"{'nowhere' if falls else 'somewhere'} a rise of more than two standard errors",
            math.prod(chance_of_fall(curve, name, runs) for curve in both for name in (XNAS, GD)),
        ),
    }
    return parts, sentence, rows, _remarks(both)


LATE = (
    "That correct selection falls is judged only since a first result was known, and so it is that rises "
    "below two standard errors of the difference count as chance. That less regret must be less by two "
    "standard errors came later too; without it that part held."
)


def _of(count: tuple[int, int]) -> str:
    return f"{count[0]} of {count[1]}"


def _rows(curve: RegretCurve) -> list[Row]:
    """Regret and correct selection of all forecasters, a row for each point and each of both."""
    rows = []
    correct = zip(*(curve.of(name, "correct") for name in NAMES[:4]), strict=True)
    for value, standings, selected in zip(curve.grid, curve.standings, correct, strict=True):
        regrets = " / ".join(f"{standings[name].regret:.0f}" for name in NAMES[:4])
        shares = " / ".join(f"{100 * share:.0f}" for share in selected)
        what = f"{curve.name} {value:g}"
        rows += [
            Row(f"{what}: regret of XNAS / GD / best XNAS / best GD", "XNAS < GD", regrets),
            Row(f"{what}: correct selection in %", "XNAS > GD", shares),
        ]
    return rows


def _remarks(curves: Sequence[RegretCurve]) -> list[str]:
    tuned = below(curves, BEST_GD, XNAS)
    same, best = selects(curves, XNAS, GD), selects(curves, BEST_XNAS, BEST_GD)
    unit = below(curves, UNIT, XNAS)
    falls = all(_falls_with_regret(curve, name) for curve in curves for name in (XNAS, GD))
    words = "it falls" if falls else "it does not always fall"
    often = f"{_of(same)} points with the same rate, at {_of(best)} with the best rates"
    return [
        LATE,
        f"Without that allowance {words}.",
        "The paper says neither rates nor clipping nor grids; here XNAS clips at three standard deviations.",
        f"GD at its best rate has less regret than XNAS at the theoretical one at {_of(tuned)} points.",
        f"XNAS selects correctly at least as often as GD at {often}, which is not judged.",
        f"Clipped to 1, as in the paper's search, XNAS has less regret at {_of(unit)} points.",
    ]


def _falls_with_regret(curve: RegretCurve, name: str, runs: int | None = None) -> bool:
    """True if correct selection never rises where the regret grows along a curve.

    Args:
        curve: The curve.
        name: Name of the forecaster.
        runs: Number of runs behind each fraction; rises within two standard errors are then ignored.
    """
    pairs = sorted(zip(curve.of(name, "regret"), curve.of(name, "correct"), strict=True))
    return _falls([share for _, share in pairs], runs)


def _falls(shares: Sequence[float], runs: int | None) -> bool:
    """True if no share is above the one before it, or above it by two standard errors if `runs` is given."""
    for a, b in pairwise(shares):
        allowance = 0.0 if runs is None else NOISE * math.sqrt((a * (1 - a) + b * (1 - b)) / runs)
        if b - a > allowance:
            return False
    return True


def chance_of_shape(curve: RegretCurve, name: str, shape: str, draws: int = DRAWS) -> float:
    """How often regrets are nearer to a shape if they are a multiple of the other, with their errors."""
    shapes = {key: np.array([growth(n) for n in curve.grid]) for key, growth in SHAPES.items()}
    (other,) = (values for key, values in shapes.items() if key != shape)
    regrets, errors = np.array(curve.of(name, "regret")), np.array(curve.of(name, "error"))
    truth, rng = other * (regrets @ other) / (other @ other), np.random.default_rng(SEED)
    drawn = truth + errors * rng.standard_normal((draws, len(truth)))
    claimed = shapes[shape].tolist()
    nearer = sum(misfit(values, claimed) < misfit(values, other.tolist()) for values in drawn.tolist())
    return (1 + nearer) / (1 + draws)


def chance_of_fall(curve: RegretCurve, name: str, runs: int) -> float:
    """How often correct selection falls with regret if it has nothing to do with it."""
    order = np.argsort(curve.of(name, "regret"))
    correct = np.array(curve.of(name, "correct"))[order]
    return chance_within(lambda shares: _falls(shares[:, 0].tolist(), runs), correct[:, None])


def draw(left: RegretCurve, right: RegretCurve) -> Figure:
    """Regret above, correct selection below; against experts on the left and against noise on the right."""
    figure = Figure((11, 7), layout="constrained")
    axes = figure.subplots(2, 2)
    for column, curve in enumerate((left, right)):
        _draw_curve(axes[0][column], curve, "regret")
        _draw_curve(axes[1][column], curve, "correct")
        axes[0][column].set(yscale="log", ylabel="mean regret")
        axes[1][column].set(ylabel="correct selection", ylim=(None, 1.02))
        for panel in axes[:, column]:
            panel.set_xscale("log", base=2)
            panel.set_xlabel({"experts": "experts, N", "noise": "noise, sigma"}[curve.name])
    half = len(left.grid) // 2
    for (shape, growth), name in zip(SHAPES.items(), (XNAS, GD), strict=True):
        values = [growth(n) for n in left.grid]
        factor = left.of(name, "regret")[half] / values[half]  # through the middle of those at the same rate
        scaled = [factor * value for value in values]
        axes[0][0].plot(left.grid, scaled, "--", color="0.5", linewidth=1, label=shape)
    note = {"title": "bands: mean +- 1 standard error over runs", "title_fontsize": 8}
    axes[1][0].legend(*axes[0][0].get_legend_handles_labels(), fontsize=8, loc="lower left", **note)
    return figure


def _draw_curve(axes: Axes, curve: RegretCurve, field: str) -> None:
    for name, style in line_styles(NAMES).items():
        values, errors = curve.of(name, field), curve.of(name, "error")
        axes.plot(
            curve.grid, values, style.line, color=style.color, marker=style.marker, label=name, markersize=4
        )
        if field == "regret":
            low, high = ([v + sign * e for v, e in zip(values, errors, strict=True)] for sign in (-1, 1))
            axes.fill_between(curve.grid, low, high, color=style.color, alpha=0.2, linewidth=0)


Above = Annotated[float, Field(gt=0)]
"""Positive number."""
Several = Annotated[int, Field(ge=2, le=MAX_COUNT)]
"""Experts, of which one is the best."""


class MonteCarlo(Scale):
    """The statistical setting of section 8.3, with the paper's runs and steps."""

    runs: Count = Field(default=1000, description="runs at each point of the grids")
    steps: Count = Field(default=1000, description="time steps of a run")
    experts: tuple[Several, ...] = Field(
        default=(2, 4, 8, 16, 32, 64), min_length=1, description="numbers of experts"
    )
    noise: float = Field(default=1.0, gt=0, description="noise while the number of experts varies")
    noises: tuple[Above, ...] = Field(
        default=(0.25, 0.5, 1.0, 2.0, 4.0, 8.0), min_length=1, description="noises"
    )
    among: Several = Field(default=8, description="experts while the noise varies")
    rates: tuple[Above, ...] = Field(
        default=(0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
        min_length=1,
        description="rates of which both have the best",
    )
    seed: Seed = Field(default=0, description="random seed at every point")


@dataclass(frozen=True)
class GridPoint:
    """A point of a grid as it is sent to a worker process.

    Args:
        experts: N.
        noise: sigma.
        scale: All other settings.
        folder: Folder of its results.
        device: Where it is computed.
    """

    experts: int
    noise: float
    scale: MonteCarlo
    folder: Path
    device: str

    @property
    def file(self) -> Path:
        """File of its results, named after everything that they depend on."""
        scale = self.scale
        parts = (scale.runs, scale.steps, scale.rates, scale.seed, self.experts, self.noise)
        return self.folder / f"point-{sha256(repr(parts).encode()).hexdigest()[:12]}.json"

    def problem(self) -> Gaussian:
        """A fresh problem."""
        size = self.scale.runs, self.experts, self.scale.steps
        return Gaussian(*size, seed=self.scale.seed, device=torch.device(self.device), noise=self.noise)


def measure(point: GridPoint) -> list[Standing]:
    """Results of every forecaster at a point; finished ones are read."""
    if point.file.is_file():
        return [Standing(**fields) for fields in json.loads(read_file(point.file, root=point.file.parent))]
    standings = [stand(name, point.problem(), forecaster) for name, forecaster in forecasters(point).items()]
    chosen = [
        _best(BEST_XNAS, standings),
        _best(BEST_GD, standings),
        *(standing for standing in standings if "/" not in standing.forecaster),
    ]
    write_text(point.file, json.dumps([asdict(standing) for standing in chosen]))
    return chosen


def forecasters(point: GridPoint) -> dict[str, Forecaster]:
    """Forecasters at the theoretical rate, and at each other rate, which follows a slash in the name."""
    bound = point.problem().bound
    lr, unit = (
        theoretical_lr(point.experts, point.scale.steps, reward_bound) for reward_bound in (bound, 1.0)
    )
    by_name = {
        XNAS: Forecaster(lr, bound, wipes=True),
        GD: Forecaster(lr, bound, softmax=True),
        UNIT: Forecaster(unit, 1.0, wipes=True),
    }
    for rate in point.scale.rates:
        by_name[f"{BEST_XNAS}/{rate:g}"] = Forecaster(rate, bound, wipes=True)
        by_name[f"{BEST_GD}/{rate:g}"] = Forecaster(rate, bound, softmax=True)
    return by_name


def _best(name: str, standings: Sequence[Standing]) -> Standing:
    """The result with the smallest regret of those at other rates, under the common name."""
    best = min(
        (standing for standing in standings if standing.forecaster.startswith(f"{name}/")),
        key=lambda standing: standing.regret,
    )
    return Standing(**(asdict(best) | {"forecaster": name}))


@reproduction(
    "xnas-figure-8",
    about="regret and correct selection of XNAS and of GD with softmax with Gaussian rewards",
    claim="the regret of XNAS is much smaller than that of GD with softmax and grows like sqrt(ln N), "
    "GD's like sqrt(N); where regret grows, correct selection falls",
    rules={
        LESS: "its mean regret is smaller by more than two standard errors at every point of both grids, "
        "with the same rate and with the best rate of each",
        **{
            part: f"at the same rate, regret against the number of experts is nearer to a multiple of {shape}"
            " than of the other"
            for part, (_, shape) in GROWTH.items()
        },
        FALLS: "along both grids, at the same rate, the share of correct selections of both never rises with "
        "regret by more than two standard errors",
    },
    setup="rates, clipping and grids are ours; the paper does not say them",
    minutes=2,
    laptop=MonteCarlo(),
)
def reproduce(options: RunOptions, scale: MonteCarlo) -> ReproductionResult:
    """Measures both curves of the figure, with equal rates and with the best for each."""
    grid = [(count, scale.noise) for count in scale.experts] + [
        (scale.among, noise) for noise in scale.noises
    ]
    measured = _measured(options, scale, sorted(set(grid)))
    left = RegretCurve("experts", scale.experts, [measured[count, scale.noise] for count in scale.experts])
    right = RegretCurve("noise", scale.noises, [measured[scale.among, noise] for noise in scale.noises])
    rates = ", ".join(f"{rate:g}" for rate in scale.rates)
    parts, sentence, rows, remarks = conclude(left, right, scale.runs)
    return ReproductionResult(
        rows=rows,
        parts=parts,
        sentence=sentence,
        size=f"{scale.runs:,} runs of {scale.steps:,} steps; noise {scale.noise:g} while experts vary, "
        f"{scale.among} experts while noise varies; best of the rates {rates}",
        seeds=scale.runs,
        figures={"regret": draw(left, right)},
        numbers={curve.name: curve.facts() for curve in (left, right)},
        remarks=remarks,
    )


def _measured(
    options: RunOptions, scale: MonteCarlo, grid: Sequence[tuple[int, float]]
) -> dict[tuple[int, float], dict[str, Standing]]:
    """Results by forecaster, for each number of experts and noise."""
    options.folder.mkdir(parents=True, exist_ok=True)
    points = [GridPoint(*place, scale, options.folder, str(options.device)) for place in grid]
    measured = {}
    for done, (point, standings) in enumerate(parallel_map(measure, points, options.jobs), 1):
        options.tell("points of the grids", done, len(points))
        measured[point.experts, point.noise] = {standing.forecaster: standing for standing in standings}
    return measured
