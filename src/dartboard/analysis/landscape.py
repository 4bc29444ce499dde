"""What a loss is like around trained weights: on a grid over a plane through them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from dartboard.analysis.grid import Floats, Grid, Place
from dartboard.analysis.site import GridOptions, Site, Surveyor, prepare_site, survey_saved
from dartboard.data import Images
from dartboard.nn.model_file import Model
from dartboard.utils.processes import one_thread, parallel_map
from dartboard.utils.progress import Progress, no_progress

if TYPE_CHECKING:
    from dartboard.viz.plots import Surfaces

VALUE_LABELS = {
    "loss": "mean loss",
    "gradient": "norm of the gradient",
    "smoothness": "change of the gradient per distance",
    "variance": "standard deviation of the gradients",
}
"""Labels of measured values in plots, where variances are shown as standard deviations."""


@dataclass(frozen=True, eq=False)
class Landscape:
    """Values on a grid around trained weights.

    Args:
        options: How it was made.
        values: Of the points with the coordinates `steps[column]` along the first direction and `steps[row]`
            along the second [grid, grid]; infinite where they overflowed.
    """

    options: GridOptions
    values: Floats

    @property
    def steps(self) -> Floats:
        """The coordinates of the points along each direction [grid]."""
        return self.options.steps

    @property
    def centre(self) -> float:
        """The value at the trained weights."""
        half = self.options.grid // 2
        return float(self.values[half, half])

    @cached_property
    def distances(self) -> Floats:
        """How far each point is from the trained weights, in units of the directions [grid, grid]."""
        found: Floats = np.hypot(self.steps[:, None], self.steps)
        return found

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON; None for what is infinite."""
        rows = [[value if np.isfinite(value) else None for value in row] for row in self.values.tolist()]
        return {"options": self.options.model_dump(), "steps": self.steps.tolist(), "values": rows}


def landscape(
    model: Model,
    images: Images,
    options: GridOptions | None = None,
    *,
    train: Images | None = None,
    folder: Path | None = None,
    device: torch.device | str = "cpu",
    jobs: int = 1,
    tell: Progress = no_progress,
) -> Landscape:
    """Measures a trained network on a grid of points around its weights w*.

    By default that is s(a, b), the mean loss at w* + a d1 + b d2 (Li et al. 2018). Values that the folder
    keeps are not computed again: what was stopped goes on where it was. On a CPU each point is computed with
    one thread, so that the same machine gives the same bits however many jobs and threads there are. Memory
    does not grow with the grid.

    Args:
        model: The network; it is not changed.
        images: What it is measured on, with the network's own numbers of the classes.
        options: Which points, and what is measured.
        train: Training images; needed for `statistics=fresh` alone.
        folder: Keeps the values in a file that is named after what is measured; None keeps nothing.
        device: Where to compute.
        jobs: How many processes work, which on a CPU is quicker than as many threads.
        tell: Is told how far it is.

    Raises:
        DataError: If there are no images.
        OptionError: If options do not fit each other or the images.
        RunError: If the folder keeps values of another network, device, of other images or options.
    """
    options = options or GridOptions()
    site = prepare_site(model, images, train, options)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    grid = Grid(
        options.grid, site.settings(device), None if folder is None else folder / f"{options.of}.json"
    )
    missing = grid.missing()
    try:
        with one_thread(), _work(site, min(jobs, len(missing)), device) as work:
            for done, (place, value) in enumerate(parallel_map(work, missing, jobs), 1):
                grid.put(place, value)
                tell(options.of, grid.values.size - len(missing) + done, grid.values.size)
    finally:
        grid.save()
    return Landscape(options, grid.values)


@contextmanager
def _work(site: Site, jobs: int, device: torch.device | str) -> Iterator[Callable[[Place], float]]:
    """Lends what measures a point, here or in other processes."""
    if jobs < 2:
        yield Surveyor(site, device)
        return
    with TemporaryDirectory(prefix="dartboard-") as folder:
        site.save(Path(folder))
        yield partial(survey_saved, folder, str(device))


def surfaces(landscapes: Mapping[str, Landscape], *, top: float | None = None) -> "Surfaces":
    """Landscapes of one measure by title, ready for `plot_contours`, `plot_heat` and `plot_surfaces`.

    Args:
        landscapes: By title.
        top: Values above are cut off; None for four times the median of all finite values.
    """
    from dartboard.viz.plots import Surfaces

    measure = next(iter(landscapes.values())).options.of
    values = {
        title: np.sqrt(one.values) if measure == "variance" else one.values
        for title, one in landscapes.items()
    }
    steps = {title: one.steps for title, one in landscapes.items()}
    return Surfaces.make(values, steps, VALUE_LABELS[measure], top)
