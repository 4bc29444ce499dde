"""Shared parts of figures 6 to 8 of "Understanding": landscapes around DARTS' cell and its variants.

The cells are those of figure 3. The paper says neither how far its grids reach nor how many points and images
they have, nor what batch-norms normalize by; the authors' code has 51x51 points and a radius of 1. Here
directions are filter-normalized (Li et al. 2018, whose method the paper takes), biases and batch-norms stay
as trained, running statistics are kept, and a grid reaches `radius` times the norm of each filter; the
default was chosen on the original cell alone, with another seed, so that its basin is neither a point nor
everything.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
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
from dartboard.utils.statistics import Floats
from dartboard_papers._understanding_training import Networks, darts_family, train
from dartboard_papers.base import RunOptions

SMALL = (
    "With networks and images of this size the order of speeds of figure 3 did not show either; landscapes "
    "of figure 3's larger networks were not measured."
)
LATE = (
    "With 2 seeds and variants of our own the claim held, by a rule that passes by chance one time in ten; "
    "the rule was replaced before these trainings."
)
SETUP = (
    "5 cells of 4 channels instead of 20 of 36, digits instead of CIFAR, 8 epochs instead of 600, and a "
    "grid of fewer points and images that reaches less far"
)
LARGEST = 1001
"""Points along a side, at the most."""


class Landscapes(Networks):
    """The networks, and the grid around them."""

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

    def table(self, number: Callable[[Landscape], float]) -> Floats:
        """A number of each landscape [cells, seeds]."""
        return np.array([[number(landscape) for landscape in seeds] for seeds in self.landscapes.values()])

    def first(self, called: Mapping[str, str]) -> dict[str, Landscape]:
        """Landscapes of the first seed by the names of the cells."""
        return {called[label]: seeds[0] for label, seeds in self.landscapes.items()}


def measure_landscapes(options: RunOptions, scale: Landscapes, of: str) -> LandscapeSurvey:
    """Trains DARTS' cell and its variants, and measures the landscape around each; finished ones are read."""
    cells = darts_family()
    trained = train(options, scale, cells, [scale.lr])
    images = load_images(
        options.data or scale.images, LoadOptions(size=scale.size, progress=options.tell)
    ).test
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
