"""Shared parts of figures 6 to 8 of "Understanding": landscapes around DARTS' cell and its variants.

Variants are drawn as those of figure 3 are, from another draw; in the paper they are the same.

The paper says neither how far its grids reach nor how many points and images they have, nor what batch-norms
normalize by. Here directions are filter-normalized (Li et al. 2018, whose method the paper takes), biases and
batch-norms stay as trained, running statistics are kept, and a grid reaches `radius` times the norm of each
filter; the default was chosen on the original cell alone, with another seed, so that its basin is neither a
point nor everything. At full scale it is the grid of Li et al.: 51 x 51 points, from -1 to 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean

from pydantic import Field, field_validator

from dartboard.analysis.comparison import Entry
from dartboard.analysis.convergence import RUNS
from dartboard.analysis.grid import GridOptions
from dartboard.analysis.landscape import Landscape, landscape
from dartboard.config.schema import Count, Seed
from dartboard.data import Images, LoadOptions
from dartboard.nn.model_file import LAST, load_model
from dartboard.search.config import load_images
from dartboard.space import Genotype
from dartboard.utils.processes import parallel_map
from dartboard_papers._understanding_training import Variants, shape, spearman, train
from dartboard_papers.base import RunOptions
from dartboard_papers.understanding_figure_3 import ORIGINAL, family

ENOUGH = 0.5
"""Size of Spearman's correlation with the width that a claim needs to hold."""
LARGEST = 1001
"""Points along a side, at the most."""


class Landscapes(Variants):
    """The networks, and the grid around them."""

    variants: Count = Field(default=4, description="randomly connected variants")
    lr: float = Field(default=0.025, gt=0, description="learning rate at the start")
    grid: int = Field(default=13, ge=3, le=LARGEST, description="points along each side of the grid; odd")
    radius: float = Field(default=0.4, gt=0, description="how far the grid reaches along each direction")
    examples: Count = Field(default=256, description="test images, at the most")
    directions: Seed = Field(default=0, description="random seed of the directions")

    @field_validator("grid")
    @classmethod
    def _has_a_middle(cls, grid: int) -> int:
        if grid % 2 == 0:
            raise ValueError(f"must be odd, for the trained weights are its middle; not {grid}")
        return grid

    def options(self, of: str) -> GridOptions:
        """The grid of one measure."""
        chosen = {"grid": self.grid, "radius": self.radius, "examples": self.examples}
        return GridOptions.model_validate({"of": of, "seed": self.directions, **chosen})


class Variances(Landscapes):
    """The same for gradients of single images, which take longer."""

    grid: int = Field(default=9, ge=3, le=LARGEST, description="points along each side of the grid; odd")
    examples: Count = Field(default=64, description="test images, at the most")


@dataclass(frozen=True, eq=False)
class LandscapeSurvey:
    """Cells and the landscapes around their trained networks.

    Args:
        cells: By label, from wide to narrow.
        landscapes: Landscapes by label, one per seed.
    """

    cells: Mapping[str, Genotype]
    landscapes: Mapping[str, list[Landscape]]

    def mean(self, values: Mapping[str, list[float]]) -> dict[str, float]:
        """Mean over seeds of a number of each landscape, by label."""
        return {label: fmean(values[label]) for label in self.cells}

    def trend(self, values: Mapping[str, float]) -> float | None:
        """Spearman's correlation of the width with a number of each cell."""
        return spearman(
            [shape(cell)[0] for cell in self.cells.values()], [values[cell] for cell in self.cells]
        )

    def first(self, called: Mapping[str, str]) -> dict[str, Landscape]:
        """Landscapes of the first seed by the names of the cells."""
        return {called[label]: seeds[0] for label, seeds in self.landscapes.items()}


def measure_landscapes(options: RunOptions, scale: Landscapes, of: str) -> LandscapeSurvey:
    """Trains DARTS' cell and its variants, and measures the landscape around each; finished ones are read."""
    cells = family(scale.variants, scale.draw)
    trained = train(options, scale, cells, [scale.lr])
    images = load_images(options.data or scale.images, LoadOptions(progress=options.tell)).test
    assert images is not None  # noqa: S101  # or there would have been nothing to measure trainings with
    work = partial(look_around, options.folder, images, scale.options(of), str(options.device))
    entries = [training.entry for label in trained.cells for training in trained.of(label)]
    done: dict[Entry, Landscape] = {}
    options.tell("landscapes", 0, len(entries))
    for entry, surface in parallel_map(work, entries, options.jobs):
        done[entry] = surface
        options.tell("landscapes", len(done), len(entries))
    return LandscapeSurvey(
        cells, {label: [done[entry] for entry in entries if entry.cell == label] for label in cells}
    )


def look_around(folder: Path, images: Images, options: GridOptions, device: str, entry: Entry) -> Landscape:
    """The landscape of a trained network."""
    model = load_model(folder / "comparison" / RUNS / entry.name / LAST)
    return landscape(model, images, options, folder=folder / "landscapes" / entry.name, device=device)


def judge(
    survey: LandscapeSurvey, values: Mapping[str, float], *, rising: bool
) -> tuple[bool, str, float | None]:
    """Whether wide cells have the best of something: if the claim held, whose value is best, and the trend.

    It held if the original cell has the best value and Spearman's correlation with the width is at least
    `ENOUGH`, or at most its negative where values shall fall with the width.

    Args:
        survey: The cells.
        values: A number of each.
        rising: Whether the largest value is best, not the smallest.
    """
    sign = 1 if rising else -1
    best, trend = max(values, key=lambda label: sign * values[label]), survey.trend(values)
    return best == ORIGINAL and trend is not None and sign * trend >= ENOUGH, best, trend
