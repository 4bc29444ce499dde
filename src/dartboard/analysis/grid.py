"""The grid of a landscape: its points, the network and examples measured there, and the values."""

import hashlib
import json
import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, model_validator
from safetensors.torch import load_file, save_file
from torch import Tensor

from dartboard.analysis.examples import (
    Examples,
    Network,
    check_logits,
    module_of,
    normalized_examples,
    split_batches,
)
from dartboard.analysis.measures import (
    MEASURES,
    DirectionKind,
    MeasureContext,
    Plane,
    Statistics,
    Vectors,
    draw_direction,
)
from dartboard.config.schema import Count, Options, Seed
from dartboard.errors import OptionError, RunError
from dartboard.nn.model_file import Model, load_model, pack_model
from dartboard.utils.atomic import write_text
from dartboard.utils.checksums import seal, unseal
from dartboard.utils.safe_files import read_file

Floats = NDArray[np.float64]
GridPoint = tuple[int, int]
"""Row and column of a point."""
SAVE_INTERVAL = 1.0
"""Least seconds between two writings of the file while values are computed."""
INFINITE = "inf"
FINGERPRINTS = {"network": "another network", "images": "other images"}
"""Settings that are digests, and what a difference means."""
NETWORK, EXAMPLES, OPTIONS = "network.safetensors", "examples.safetensors", "options.json"
"""The files from which other processes load a problem."""


class Grid:
    """Values of the points of a square grid, some of which may still be missing.

    Args:
        side: Points along each side.
        settings: Plain values that identify the computation; a file with other settings is refused.
        path: The file; None for none.

    Raises:
        RunError: If the file has other settings, or is damaged.
    """

    def __init__(self, side: int, settings: Mapping[str, Any], path: Path | None = None) -> None:
        self.settings: dict[str, Any] = json.loads(json.dumps(dict(settings)))
        self.path = path
        self.values: Floats = np.full((side, side), np.nan)
        self._saved_at, self._is_saved = time.monotonic(), True
        if path is not None and os.path.lexists(path):
            self.values = self._read(path)

    def missing(self) -> list[GridPoint]:
        """The points that have no value yet, row by row."""
        rows, columns = np.nonzero(np.isnan(self.values))
        return list(zip(rows.tolist(), columns.tolist(), strict=True))

    def put(self, point: GridPoint, value: float) -> None:
        """Sets a value; NaN counts as infinite."""
        self.values[point] = math.inf if math.isnan(value) else value
        self._is_saved = False
        if time.monotonic() - self._saved_at > SAVE_INTERVAL:
            self.save()

    def save(self) -> None:
        """Writes the file if there are values that it does not have."""
        if self.path is None or self._is_saved:
            return
        rows = [
            [None if math.isnan(value) else INFINITE if math.isinf(value) else value for value in row]
            for row in self.values.tolist()
        ]
        write_text(self.path, seal(json.dumps({"settings": self.settings, "values": rows})))
        self._saved_at, self._is_saved = time.monotonic(), True

    def _read(self, path: Path) -> Floats:
        try:
            stored = json.loads(unseal(read_file(path, root=path.parent), path))
            if set(stored) != {"settings", "values"}:
                raise ValueError("other keys")
            settings, rows = dict(stored["settings"]), stored["values"]
            values = np.array(
                [[math.nan if value is None else float(value) for value in row] for row in rows]
            )
        except (ValueError, KeyError, TypeError, RecursionError):
            raise RunError(f"{path} is damaged; remove it, and its values are computed again") from None
        if settings != self.settings:
            keys = (*self.settings, *settings)
            key = next(key for key in keys if settings.get(key) != self.settings.get(key))
            made = f"with {key}={settings[key]}" if key in settings else f"without {key}={self.settings[key]}"
            if key in FINGERPRINTS:
                made = f"with {FINGERPRINTS[key]}"
            raise RunError(f"{path} was made {made}; name another folder")
        if values.shape != self.values.shape:
            raise RunError(f"{path} is damaged; remove it, and its values are computed again")
        return values


class GridOptions(Options):
    """The points of a grid, and what is measured there."""

    of: Literal["loss", "gradient", "smoothness", "variance"] = Field(
        default="loss", description="what is measured at every point"
    )
    grid: int = Field(default=21, ge=3, le=1001, description="points along each side; odd, to have a middle")
    radius: float = Field(
        default=1.0, ge=1e-38, le=1e38, description="how far the grid reaches along each direction"
    )
    directions: DirectionKind = Field(default="filter", description="filter-normalized, or gaussian as drawn")
    vectors: Vectors = Field(
        default="zero", description="whether biases, scales and shifts stay as they are, or move as well"
    )
    statistics: Statistics = Field(
        default="kept", description="of batch-norms: kept as trained, fresh at every point, or of each batch"
    )
    examples: Count = Field(default=512, description="images, at the most, spread evenly over those given")
    batch: Count = Field(default=128, description="images that pass the network together")
    fresh: Count = Field(default=256, description="training images that fresh statistics are taken from")
    seed: Seed = Field(default=0, description="random seed of directions and batches")

    @model_validator(mode="after")
    def _has_a_middle(self) -> Self:
        if self.grid % 2 == 0:
            raise ValueError(f"grid must be odd: the trained weights are its middle; not {self.grid}")
        return self

    @property
    def steps(self) -> Floats:
        """The coordinates of the points along each direction [grid]; the middle one is exactly 0."""
        half = self.grid // 2
        return np.arange(-half, half + 1, dtype=np.float64) * (self.radius / half)


@dataclass(frozen=True, eq=False)
class GridProblem:
    """A network with normalized examples.

    Args:
        network: The network.
        options: The points and what is measured there.
        tensors: Images `x` [N, C, H, W] with labels `y` [N], shuffled, and images `fresh` from which
            statistics are computed if the options need them.
    """

    network: Network
    options: GridOptions
    tensors: dict[str, Tensor]

    def settings(self, device: torch.device | str) -> dict[str, Any]:
        """What identifies the values, as plain values; the device only if it is not a CPU."""
        state, kind = module_of(self.network).state_dict(), torch.device(device).type
        digests = {"network": digest_tensors(state), "images": digest_tensors(self.tensors)}
        return self.options.model_dump() | digests | ({} if kind == "cpu" else {"device": kind})

    def context(self, device: torch.device | str) -> MeasureContext:
        """The plane with its directions and the examples, on a device."""
        options = self.options
        tensors = {
            name: values.to(  # channels-last images, with which networks are fastest
                device, memory_format=torch.channels_last if values.dim() == 4 else torch.preserve_format
            )
            for name, values in self.tensors.items()
        }
        plane = Plane(
            module_of(self.network),
            statistics=options.statistics,
            fresh=tensors["fresh"].split(options.batch) if "fresh" in tensors else (),
            device=device,
        )
        draw = partial(draw_direction, plane.weights, kind=options.directions, vectors=options.vectors)
        plane.directions = draw(1, seed=options.seed), draw(2, seed=options.seed)
        batches = split_batches(
            tensors["x"], tensors["y"], options.batch, drop_last=options.statistics == "batch"
        )
        if not isinstance(self.network, Model):
            check_logits(plane.net, batches)
        return MeasureContext(plane, batches, 2 * options.radius / (options.grid - 1))

    def save(self, folder: Path) -> None:
        """Saves the problem, which must be of a `Model`, to a folder for other processes."""
        assert isinstance(self.network, Model)  # noqa: S101
        (folder / NETWORK).write_bytes(pack_model(self.network))
        save_file(self.tensors, folder / EXAMPLES)
        (folder / OPTIONS).write_text(self.options.model_dump_json(), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Loads what `save` wrote."""
        options = GridOptions.model_validate_json((folder / OPTIONS).read_text(encoding="utf-8"))
        return cls(load_model(folder / NETWORK), options, load_file(folder / EXAMPLES))


class PointEvaluator:
    """Measures points of the grid of a problem, on a device."""

    def __init__(self, problem: GridProblem, device: torch.device | str) -> None:
        self.context, self.steps = problem.context(device), problem.options.steps
        self.measure = MEASURES[problem.options.of]

    def __call__(self, point: GridPoint) -> float:
        """The value of a point."""
        row, column = point
        return float(self.measure(self.context, float(self.steps[column]), float(self.steps[row])))


def evaluate_saved(folder: str, device: str, point: GridPoint) -> float:
    """The value of a point of the problem saved in a folder, which each process reads once."""
    return _load_evaluator(folder, device)(point)


@lru_cache(1)
def _load_evaluator(folder: str, device: str) -> PointEvaluator:
    return PointEvaluator(GridProblem.load(Path(folder)), device)


def make_problem(
    network: Network, data: Examples, train: Examples | None, options: GridOptions
) -> GridProblem:
    """Normalizes the examples of a landscape, once for all points, and shuffles them.

    Raises:
        DataError: If there are no examples, or it is not known how they are normalized.
        OptionError: If statistics shall be fresh and there are no training images.
    """
    if options.statistics == "fresh" and train is None:
        raise OptionError("statistics=fresh takes statistics from training images; give them, or use kept")
    x, y = normalized_examples(network, data, options.examples, options.seed)
    tensors = {"x": x, "y": y}
    if options.statistics == "fresh" and train is not None:
        tensors["fresh"] = normalized_examples(network, train, options.fresh, options.seed)[0]
    return GridProblem(network, options, tensors)


def digest_tensors(tensors: dict[str, Tensor]) -> str:
    """A text that changes with names, types, shapes or values."""
    digest = hashlib.sha256()
    for name, values in sorted(tensors.items()):
        digest.update(f"{name} {values.dtype} {list(values.shape)}".encode())
        known = values.float() if values.dtype == torch.bfloat16 else values  # which numpy does not have
        digest.update(known.detach().cpu().contiguous().numpy().data)
    return digest.hexdigest()
