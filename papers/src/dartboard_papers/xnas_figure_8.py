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
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import torch
from pydantic import Field

from dartboard.arch.optim.expert_advice import theoretical_lr
from dartboard.config.schema import MOST, Count, Seed
from dartboard.utils.atomic import write_text
from dartboard.utils.parallel import in_processes
from dartboard_papers._xnas_figure_8 import (
    BEST_GD,
    BEST_XNAS,
    GD,
    UNIT,
    XNAS,
    Curve,
    conclude,
    draw,
)
from dartboard_papers.base import Finding, Scale, Setting, reproduction
from dartboard_papers.theory.expert_problems import Gaussian
from dartboard_papers.theory.forecasters import Forecaster, Standing, stand

Above = Annotated[float, Field(gt=0)]
"""A number above 0."""
Several = Annotated[int, Field(ge=2, le=MOST)]
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
    seed: Seed = Field(default=0, description="where the chance starts at every point")


@dataclass(frozen=True)
class Point:
    """A point of a grid as it travels to another process.

    Args:
        experts: N.
        noise: sigma.
        scale: All other numbers.
        folder: Where what comes of it is kept.
        device: Where it is computed.
    """

    experts: int
    noise: float
    scale: MonteCarlo
    folder: Path
    device: str

    @property
    def file(self) -> Path:
        """Of what came of it, by everything that it depends on."""
        own = self.scale
        parts = (own.runs, own.steps, own.rates, own.seed, self.experts, self.noise)
        return self.folder / f"point-{sha256(repr(parts).encode()).hexdigest()[:12]}.json"

    def problem(self) -> Gaussian:
        """The problem, which no forecaster has played."""
        size = self.scale.runs, self.experts, self.scale.steps
        return Gaussian(*size, seed=self.scale.seed, device=torch.device(self.device), noise=self.noise)


def measure(point: Point) -> list[Standing]:
    """Every forecaster at a point; what is measured already is read."""
    if point.file.is_file():
        return [Standing(**own) for own in json.loads(point.file.read_text(encoding="utf-8"))]
    found = [stand(name, point.problem(), own) for name, own in forecasters(point).items()]
    kept = [
        _best(BEST_XNAS, found),
        _best(BEST_GD, found),
        *(own for own in found if "/" not in own.forecaster),
    ]
    write_text(point.file, json.dumps([asdict(own) for own in kept]))
    return kept


def forecasters(point: Point) -> dict[str, Forecaster]:
    """Those at the theoretical rate, and those at each other rate, with the rate behind a slash."""
    bound = point.problem().bound
    own, unit = (theoretical_lr(point.experts, point.scale.steps, each) for each in (bound, 1.0))
    found = {
        XNAS: Forecaster(own, bound, wipes=True),
        GD: Forecaster(own, bound, softmax=True),
        UNIT: Forecaster(unit, 1.0, wipes=True),
    }
    for rate in point.scale.rates:
        found[f"{BEST_XNAS}/{rate:g}"] = Forecaster(rate, bound, wipes=True)
        found[f"{BEST_GD}/{rate:g}"] = Forecaster(rate, bound, softmax=True)
    return found


def _best(name: str, found: Sequence[Standing]) -> Standing:
    """The one with the smallest regret of those with other rates, under the common name."""
    best = min((own for own in found if own.forecaster.startswith(f"{name}/")), key=lambda own: own.regret)
    return Standing(**(asdict(best) | {"forecaster": name}))


@reproduction(
    "xnas-figure-8",
    about="regret and correct selection of XNAS and of GD with softmax with Gaussian rewards",
    claim="the regret of XNAS is much smaller than that of GD with softmax and grows like sqrt(ln N), "
    "GD's like sqrt(N); where regret grows, correct selection falls",
    minutes=2,
    laptop=MonteCarlo(),
)
def reproduce(setting: Setting, scale: MonteCarlo) -> Finding:
    """Both curves of the figure, with rates that are the same and with the best for each."""
    grid = [(count, scale.noise) for count in scale.experts] + [(scale.among, own) for own in scale.noises]
    found = _measured(setting, scale, sorted(set(grid)))
    left = Curve("experts", scale.experts, [found[count, scale.noise] for count in scale.experts])
    right = Curve("noise", scale.noises, [found[scale.among, own] for own in scale.noises])
    verdict, sentence, rows, remarks = conclude(left, right, scale.runs)
    return Finding(
        rows=rows,
        verdict=verdict,
        sentence=sentence,
        size=_words(scale),
        seeds=scale.runs,
        figures={"regret": draw(left, right)},
        numbers={own.name: own.facts() for own in (left, right)},
        remarks=remarks,
    )


def _words(scale: MonteCarlo) -> str:
    rates = ", ".join(f"{rate:g}" for rate in scale.rates)
    grids = f"noise {scale.noise:g} while experts vary, {scale.among} experts while noise varies"
    return f"{scale.runs:,} runs of {scale.steps:,} steps; {grids}; best of the rates {rates}"


def _measured(
    setting: Setting, scale: MonteCarlo, grid: Sequence[tuple[int, float]]
) -> dict[tuple[int, float], dict[str, Standing]]:
    """By experts and noise, the forecasters by name."""
    setting.folder.mkdir(parents=True, exist_ok=True)
    points = [Point(*own, scale, setting.folder, str(setting.device)) for own in grid]
    found = {}
    for done, (point, own) in enumerate(in_processes(measure, points, setting.jobs), 1):
        setting.tell("points of the grids", done, len(points))
        found[point.experts, point.noise] = {each.forecaster: each for each in own}
    return found
