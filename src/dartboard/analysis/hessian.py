"""How curved a loss is in weights and in architecture parameters: the ends of its Hessian's spectrum."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from dartboard.analysis.directions import weights_of
from dartboard.analysis.plane import Plane
from dartboard.analysis.site import batches_of, normalised
from dartboard.arch.curvature import Floats, Product, arch_hessian, extreme_eigenvalues
from dartboard.arch.hvp import Exact
from dartboard.arch.objective import Batch, Objective
from dartboard.data import Images
from dartboard.errors import CompositionError
from dartboard.nn.model_file import Model
from dartboard.utils.progress import Progress, no_progress


@dataclass(frozen=True)
class Spectrum:
    """The ends of a Hessian's spectrum.

    Args:
        largest: The largest eigenvalues, the largest first; NaN where Lanczos' method found none.
        smallest: The smallest eigenvalue.
        size: The rows of the matrix, one a parameter.
        examples: How many images the loss is the mean of.
    """

    largest: tuple[float, ...]
    smallest: float
    size: int
    examples: int

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON; None for what was not found."""
        *largest, smallest = (
            None if math.isnan(value) else value for value in (*self.largest, self.smallest)
        )
        return {"largest": largest, "smallest": smallest, "parameters": self.size, "examples": self.examples}


def weight_spectrum(
    model: Model,
    images: Images,
    *,
    count: int = 5,
    examples: int = 256,
    batch: int = 64,
    statistics: Literal["kept", "batch"] = "kept",
    tolerance: float = 1e-3,
    device: torch.device | str = "cpu",
    tell: Progress = no_progress,
) -> Spectrum:
    """The ends of the spectrum of the mean loss's Hessian in all weights of a trained network.

    By Lanczos' method with exact products, each of which passes all examples; memory is that of one batch.

    Args:
        model: The network; it is not changed.
        images: What the loss is of, with the network's own numbers of the classes.
        count: How many of the largest eigenvalues.
        examples: Images, at the most, spread evenly over those given.
        batch: Images that pass the network together.
        statistics: What batch-norms normalise by: `kept` running statistics, or those of each `batch`.
        tolerance: The relative accuracy.
        device: Where to compute.
        tell: Is told how many products have been made; nobody knows how many it takes.

    Raises:
        DataError: If there are no images.
    """
    plane = Plane(model.net, statistics=statistics, device=device)
    x, y = (values.to(device) for values in normalised(model, images, examples, seed=0))
    found = batches_of(x, y, batch, whole=statistics == "batch")
    size = sum(weight.numel() for weight in plane.weights)
    return _ends(_told(_product(plane, found), tell), size, _examples(found), count, tolerance)


def _product(plane: Plane, batches: Sequence[Batch]) -> Product:
    names, sizes = list(weights_of(plane.net)), [weight.numel() for weight in plane.weights]
    total = _examples(batches)

    def loss(at: Sequence[Tensor], x: Tensor, y: Tensor) -> Tensor:
        logits = functional_call(plane.net, dict(zip(names, at, strict=True)), (x,))
        return F.cross_entropy(logits, y, reduction="sum") / total

    def product(vector: Floats) -> Floats:
        flat = torch.from_numpy(vector).to(plane.weights[0])
        pairs = zip(flat.split(sizes), plane.weights, strict=True)
        parts = [part.view(weight.shape) for part, weight in pairs]
        found = torch.zeros_like(flat, dtype=torch.float64)
        for x, y in batches:
            rows = Exact().hessian(lambda at: loss(at, x, y), plane.weights, parts)  # noqa: B023
            found += torch.cat([row.flatten() for row in rows])
        return np.asarray(found.cpu().numpy())

    return product


def arch_spectrum(
    objective: Objective,
    batches: Sequence[Batch],
    *,
    count: int = 5,
    tolerance: float = 1e-3,
    tell: Progress = no_progress,
) -> Spectrum:
    """The ends of the spectrum of the mean loss's Hessian in the architecture parameters of a search.

    Args:
        objective: The problem; nothing of it is changed, chance included.
        batches: Images and labels; each passes the network by itself.
        count: How many of the largest eigenvalues.
        tolerance: The relative accuracy.
        tell: Is told how many products have been made; nobody knows how many it takes.

    Raises:
        CompositionError: If the relaxation has no architecture parameters.
    """
    size = sum(own.numel() for own in objective.relaxation.arch_parameters())
    if not size:
        raise CompositionError(
            f"{type(objective.relaxation).__name__} has no architecture parameters that a loss could be "
            "curved in"
        )
    with arch_hessian(objective, batches) as product:
        return _ends(_told(product, tell), size, _examples(batches), count, tolerance)


def _ends(product: Product, size: int, examples: int, count: int, tolerance: float) -> Spectrum:
    largest = extreme_eigenvalues(product, size, count=count, tolerance=tolerance)
    (smallest,) = extreme_eigenvalues(product, size, end="SA", tolerance=tolerance)
    return Spectrum(tuple(map(float, largest)), float(smallest), size, examples)


def _told(product: Product, tell: Progress) -> Product:
    """The same products, each of which is told."""
    made = 0

    def told(vector: Floats) -> Floats:
        nonlocal made
        found = product(vector)
        made += 1
        tell("products with the Hessian", made, 0)
        return found

    return told


def _examples(batches: Sequence[Batch]) -> int:
    return sum(len(labels) for _, labels in batches)
