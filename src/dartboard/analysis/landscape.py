"""The loss around trained weights, on a grid over a plane through them, and the shape of that surface."""

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.ndimage import label

from dartboard.analysis.examples import Examples, Network
from dartboard.analysis.grid import (
    Floats,
    Grid,
    GridOptions,
    GridPoint,
    GridProblem,
    PointEvaluator,
    evaluate_saved,
    make_problem,
)
from dartboard.nn.model_file import Model
from dartboard.utils.processes import parallel_map, using_threads
from dartboard.utils.progress import Progress, no_progress

if TYPE_CHECKING:
    from dartboard.viz.plots import Surfaces

RISE = 1.0
"""How far above the loss at the trained weights a point of the basin may lie."""
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
    def center(self) -> float:
        """The value at the trained weights."""
        half = self.options.grid // 2
        return float(self.values[half, half])

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON; None for what is infinite."""
        rows = [[value if np.isfinite(value) else None for value in row] for row in self.values.tolist()]
        return {"options": self.options.model_dump(), "steps": self.steps.tolist(), "values": rows}


def landscape(
    network: Network,
    data: Examples,
    options: GridOptions | None = None,
    *,
    train: Examples | None = None,
    folder: Path | None = None,
    device: torch.device | str = "cpu",
    jobs: int = 1,
    progress: Progress = no_progress,
) -> Landscape:
    """Measures a trained network on a grid of points around its weights w*.

    By default that is s(a, b), the mean loss at w* + a d1 + b d2 (Li et al. 2018). Values that the folder
    keeps are not computed again: what was stopped goes on where it was. On a CPU each point is computed with
    one thread, so that the same machine gives the same bits however many jobs and threads there are. Memory
    does not grow with the grid.

    Args:
        network: A model, or any module from images to logits; it is not changed.
        data: What it is measured on, labeled with the network's own class indices: a data set, images, a pair
            of tensors, or a data set of torch.
        options: Which points, and what is measured.
        train: Training examples; needed for `statistics=fresh` alone.
        folder: Keeps the values in a file that is named after what is measured; None keeps nothing.
        device: Where to compute.
        jobs: How many processes work, which on a CPU is quicker than as many threads; threads for a module
            that is not a `Model`, as other processes could not build it.
        progress: Called with the number of points done.

    Raises:
        DataError: If there are no examples, or it is not known how their pixels are normalized.
        OptionError: If options do not fit each other, the network or the examples.
        RunError: If the folder keeps values of another network, device, of other images or options.

    Examples:
        >>> import torch
        >>> from dartboard import load_dataset
        >>> from dartboard.analysis.landscape import GridOptions, landscape
        >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
        >>> surface = landscape(net, load_dataset("digits"), GridOptions(of="variance", grid=3, examples=64))
        >>> surface.values.shape
        (3, 3)
    """
    options = options or GridOptions()
    problem = make_problem(network, data, train, options)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    grid = Grid(
        options.grid, problem.settings(device), None if folder is None else folder / f"{options.of}.json"
    )
    missing = grid.missing()
    try:
        with using_threads(1), _values(problem, missing, jobs, device) as values:
            for done, (point, value) in enumerate(values, 1):
                grid.put(point, value)
                progress(options.of, grid.values.size - len(missing) + done, grid.values.size)
    finally:
        grid.save()
    return Landscape(options, grid.values)


@contextmanager
def _values(
    problem: GridProblem, points: Sequence[GridPoint], jobs: int, device: torch.device | str
) -> Iterator[Iterator[tuple[GridPoint, float]]]:
    """Points with their values, in the order of completion: measured here, by processes or by threads."""
    jobs = min(jobs, len(points))
    if jobs < 2:
        yield parallel_map(PointEvaluator(problem, device), points, 1)
    elif isinstance(problem.network, Model):
        with TemporaryDirectory(prefix="dartboard-") as folder:
            problem.save(Path(folder))
            yield parallel_map(partial(evaluate_saved, folder, str(device)), points, jobs)
    else:
        of_thread = threading.local()  # each thread moves a copy of the network

        def evaluate(point: GridPoint) -> tuple[GridPoint, float]:
            if not hasattr(of_thread, "evaluator"):
                torch.set_num_threads(1)  # which is a setting of the thread
                of_thread.evaluator = PointEvaluator(problem, device)
            return point, of_thread.evaluator(point)

        with ThreadPoolExecutor(jobs) as pool:
            futures = [pool.submit(evaluate, point) for point in points]
            try:
                yield (future.result() for future in as_completed(futures))
            finally:
                pool.shutdown(cancel_futures=True)


def surfaces(landscapes: Mapping[str, Landscape], *, top: float | None = None) -> "Surfaces":
    """Landscapes of one measure by title, ready for `plot_contours`, `plot_heat` and `plot_surfaces`.

    Values above `top` are cut off; None for four times the median of all finite values.
    """
    from dartboard.viz.plots import Surfaces

    measure = next(iter(landscapes.values())).options.of
    values = {
        title: np.sqrt(one.values) if measure == "variance" else one.values
        for title, one in landscapes.items()
    }
    steps = {title: one.steps for title, one in landscapes.items()}
    return Surfaces.make(values, steps, VALUE_LABELS[measure], top)


def sharpness(surface: Landscape, radius: float | None = None) -> float:
    """How much the loss rises within a radius, in percent: 100 (max f - f*) / (1 + f*).

    That is the sharpness of Keskar et al. (2017), with the maximum over the points of the grid. The radius
    is in units of the directions; None for that of the grid.
    """
    distances = np.hypot(surface.steps[:, None], surface.steps)
    near = distances <= (surface.options.radius if radius is None else radius)
    return 100 * (float(surface.values[near].max()) - surface.center) / (1 + surface.center)


def basin(surface: Landscape, rise: float = RISE) -> float:
    """The fraction of the grid that is the basin around the trained weights.

    The basin are the points that can be reached from the middle, from neighbor to neighbor along rows and
    columns, without the value being more than `rise` above that of the middle; NaN where that is infinite.
    """
    if not np.isfinite(surface.center):
        return math.nan
    regions, _ = label(surface.values <= surface.center + rise)
    half = surface.options.grid // 2
    return float((regions == regions[half, half]).mean())


def steepness(surface: Landscape) -> float:
    """The largest difference of neighboring values, per distance; NaN where all values are infinite."""
    with np.errstate(invalid="ignore"):  # between two infinite values there is no difference
        changes = [np.abs(np.diff(surface.values, axis=axis)) for axis in (0, 1)]
    finite = np.concatenate([change[~np.isnan(change)] for change in changes])
    step = surface.options.steps[1] - surface.options.steps[0]
    return float(finite.max() / step) if finite.size else math.nan


def convexity(surface: Landscape) -> float:
    """The fraction of inner points at which second differences make a positive semi-definite matrix."""
    values = np.where(np.isfinite(surface.values), surface.values, np.finfo(np.float64).max ** 0.25)
    xx, yy = _second_difference(values), _second_difference(values.T).T
    xy = (values[2:, 2:] - values[2:, :-2] - values[:-2, 2:] + values[:-2, :-2]) / 4
    return float(((xx + yy >= 0) & (xx * yy - xy**2 >= 0)).mean())


def _second_difference(values: Floats) -> Floats:
    """Second differences along columns, of inner points."""
    difference: Floats = values[1:-1, 2:] - 2 * values[1:-1, 1:-1] + values[1:-1, :-2]
    return difference


def summary(surface: Landscape) -> dict[str, float]:
    """The numbers that summarize what was measured, by name.

    Of losses the shape; of all else mean and median, and the maximum: of gradients and of their changes it is
    a lower bound of the Lipschitz constant of the loss, or of its gradient.
    """
    if surface.options.of == "loss":
        shape = {"sharpness": sharpness(surface), "basin": basin(surface), "steepness": steepness(surface)}
        return {"centre": surface.center, **shape, "convexity": convexity(surface)}
    values = {"mean": float(surface.values.mean()), "median": float(np.median(surface.values))}
    return {"centre": surface.center, **values, "maximum": float(surface.values.max())}
