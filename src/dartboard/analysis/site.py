"""Everything that a landscape is made from: a network, examples, and what shall be looked at."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from pydantic import Field, model_validator
from safetensors.torch import load_file, save_file
from torch import Tensor

from dartboard.analysis.directions import Kind, Vectors, draw_direction
from dartboard.analysis.grid import Floats, Place
from dartboard.analysis.measures import MEASURES, Scene
from dartboard.analysis.plane import Plane, Statistics
from dartboard.arch.objective import Batch
from dartboard.config.schema import Count, Options, Seed
from dartboard.data import Images, evaluation_batches
from dartboard.data.rng import generator
from dartboard.errors import DataError, OptionError
from dartboard.nn.model_file import Model, load_model, pack_model

NETWORK, EXAMPLES, OPTIONS = "network.safetensors", "examples.safetensors", "options.json"
"""The files that other processes read a site from."""


class GridOptions(Options):
    """Which points are looked at, and what is measured there."""

    of: Literal["loss", "gradient", "smoothness", "variance"] = Field(
        default="loss", description="what is measured at every point"
    )
    grid: int = Field(default=21, ge=3, le=1001, description="points along each side; odd, to have a middle")
    radius: float = Field(
        default=1.0, ge=1e-38, le=1e38, description="how far the grid reaches along each direction"
    )
    directions: Kind = Field(default="filter", description="filter-normalised, or gaussian as drawn")
    vectors: Vectors = Field(
        default="zero", description="whether biases, scales and shifts stay as they are, or move as well"
    )
    statistics: Statistics = Field(
        default="kept", description="of batch-norms: kept as trained, fresh at every point, or of each batch"
    )
    examples: Count = Field(default=512, description="images, at the most, spread evenly over those given")
    batch: Count = Field(default=128, description="images that pass the network together")
    fresh: Count = Field(default=256, description="training images that fresh statistics are taken from")
    seed: Seed = Field(default=0, description="where chance starts: of directions and of batches")

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
class Site:
    """A network with normalised examples.

    Args:
        model: The network.
        options: What shall be looked at.
        tensors: Images `x` [N, C, H, W] with labels `y` [N], in an order by chance, and images `fresh` that
            statistics are taken from, where they are asked for.
    """

    model: Model
    options: GridOptions
    tensors: dict[str, Tensor]

    def settings(self, device: torch.device | str) -> dict[str, Any]:
        """What must be the same for values to be of use, as plain values; a CPU needs no name."""
        state, kind = self.model.net.state_dict(), torch.device(device).type
        prints = {"network": _digest(state), "images": _digest(self.tensors)}
        return self.options.model_dump() | prints | ({} if kind == "cpu" else {"device": kind})

    def scene(self, device: torch.device | str) -> Scene:
        """The plane with its directions and the examples, on a device."""
        options = self.options
        here = {name: _placed(values, device) for name, values in self.tensors.items()}
        plane = Plane(
            self.model.net,
            statistics=options.statistics,
            fresh=here["fresh"].split(options.batch) if "fresh" in here else (),
            device=device,
        )
        draw = partial(draw_direction, plane.weights, kind=options.directions, vectors=options.vectors)
        plane.span(draw(1, seed=options.seed), draw(2, seed=options.seed))
        batches = batches_of(here["x"], here["y"], options.batch, whole=options.statistics == "batch")
        return Scene(plane, batches, 2 * options.radius / (options.grid - 1))

    def save(self, folder: Path) -> None:
        """Writes it to a folder for other processes."""
        (folder / NETWORK).write_bytes(pack_model(self.model))
        save_file(self.tensors, folder / EXAMPLES)
        (folder / OPTIONS).write_text(self.options.model_dump_json(), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """What `save` wrote."""
        options = GridOptions.model_validate_json((folder / OPTIONS).read_text(encoding="utf-8"))
        return cls(load_model(folder / NETWORK), options, load_file(folder / EXAMPLES))


class Surveyor:
    """Measures points of a site.

    Args:
        site: What is measured.
        device: Where.
    """

    def __init__(self, site: Site, device: torch.device | str) -> None:
        self.scene, self.steps = site.scene(device), site.options.steps
        self.measure = MEASURES[site.options.of]

    def __call__(self, place: Place) -> float:
        """The value of a point."""
        row, column = place
        return float(self.measure(self.scene, float(self.steps[column]), float(self.steps[row])))


def survey_saved(folder: str, device: str, place: Place) -> float:
    """The value of a point of the site in a folder, which is read once by each process."""
    return _surveyor(folder, device)(place)


@lru_cache(1)
def _surveyor(folder: str, device: str) -> Surveyor:
    return Surveyor(Site.load(Path(folder)), device)


def prepare_site(model: Model, images: Images, train: Images | None, options: GridOptions) -> Site:
    """Normalises as many images as are asked for, once for all points, and puts them in an order by chance.

    Raises:
        DataError: If there are no images.
        OptionError: If statistics shall be fresh and there are no training images.
    """
    if options.statistics == "fresh" and train is None:
        raise OptionError("statistics=fresh takes statistics from training images; give them, or use kept")
    x, y = normalised(model, images, options.examples, options.seed)
    tensors = {"x": x, "y": y}
    if options.statistics == "fresh" and train is not None:
        tensors["fresh"] = normalised(model, train, options.fresh, options.seed)[0]
    return Site(model, options, tensors)


def normalised(model: Model, images: Images, most: int, seed: int) -> Batch:
    """At most so many images as a network takes them, with their labels, in an order by chance.

    Raises:
        DataError: If there are no images.
    """
    if not len(images):
        raise DataError("there are no images to look at a network with")
    dtype = next(model.net.parameters()).dtype
    (found,) = evaluation_batches(
        images, batch=most, limit=most, mean=model.mean, std=model.std, crop_pct=model.crop_pct
    )
    order = torch.randperm(len(found.y), generator=generator("examples", seed))
    return found.x[order].to(dtype), found.y[order]


def _placed(values: Tensor, device: torch.device | str) -> Tensor:
    """Values on a device; images with the channels of a pixel side by side, as networks are quickest with."""
    return values.to(
        device, memory_format=torch.channels_last if values.dim() == 4 else torch.preserve_format
    )


def batches_of(x: Tensor, y: Tensor, size: int, *, whole: bool = False) -> list[Batch]:
    """The examples in batches; where `whole`, without a last one that is smaller than the others."""
    found = list(zip(x.split(size), y.split(size), strict=True))
    return found[:-1] if whole and len(found) > 1 and len(found[-1][1]) < size else found


def _digest(tensors: dict[str, Tensor]) -> str:
    found = hashlib.sha256()
    for name, values in sorted(tensors.items()):
        found.update(f"{name} {values.dtype} {list(values.shape)}".encode())
        found.update(values.detach().cpu().contiguous().numpy().data)
    return found.hexdigest()
