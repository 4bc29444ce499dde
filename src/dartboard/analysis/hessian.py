"""Curvature of a loss in weights and in architecture parameters: extreme eigenvalues of its Hessian."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from dartboard.analysis.grid import normalized_examples, split_batches
from dartboard.analysis.measures import Plane, count_examples, weights_of
from dartboard.arch.curvature import Floats, Product, arch_hessian, extreme_eigenvalues
from dartboard.arch.hvp import Exact
from dartboard.arch.objective import Batch, Objective
from dartboard.data import Images
from dartboard.errors import CompositionError
from dartboard.nn.model_file import Model
from dartboard.utils.progress import Progress, no_progress


@dataclass(frozen=True)
class Spectrum:
    """The ends of the spectrum of a Hessian in `size` parameters, of the mean loss of `examples` images.

    The largest eigenvalues come with the largest first; NaN where Lanczos' method found none.
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
    progress: Progress = no_progress,
) -> Spectrum:
    """The ends of the spectrum of the mean loss's Hessian in all weights of a trained network.

    By Lanczos' method with exact products, each of which passes all examples; memory is that of one batch.

    Args:
        model: The network; it is not changed.
        images: Images of the loss, labeled with the network's classes.
        count: How many of the largest eigenvalues.
        examples: Images, at the most, spread evenly over those given.
        batch: Images that pass the network together.
        statistics: What batch-norms normalize by: `kept` running statistics, or those of each `batch`.
        tolerance: The relative accuracy.
        device: Where to compute.
        progress: Called with the number of products done; how many it takes is not known.

    Raises:
        DataError: If there are no images.
    """
    plane = Plane(model.net, statistics=statistics, device=device)
    x, y = (values.to(device) for values in normalized_examples(model, images, examples, seed=0))
    batches = split_batches(x, y, batch, drop_last=statistics == "batch")
    size = sum(weight.numel() for weight in plane.weights)
    product = _weight_hessian(plane, batches)
    return _spectrum(product, size, count_examples(batches), count, tolerance, progress)


def _weight_hessian(plane: Plane, batches: Sequence[Batch]) -> Product:
    """The product of the Hessian in all weights with a vector."""
    names, sizes = list(weights_of(plane.net)), [weight.numel() for weight in plane.weights]
    total = count_examples(batches)

    def loss(at: Sequence[Tensor], x: Tensor, y: Tensor) -> Tensor:
        logits = functional_call(plane.net, dict(zip(names, at, strict=True)), (x,))
        return F.cross_entropy(logits, y, reduction="sum") / total

    def product(vector: Floats) -> Floats:
        flat = torch.from_numpy(vector).to(plane.weights[0])
        pairs = zip(flat.split(sizes), plane.weights, strict=True)
        parts = [part.view(weight.shape) for part, weight in pairs]
        total_product = torch.zeros_like(flat, dtype=torch.float64)
        for x, y in batches:
            rows = Exact().hessian(lambda at: loss(at, x, y), plane.weights, parts)  # noqa: B023
            total_product += torch.cat([row.flatten() for row in rows])
        return np.asarray(total_product.cpu().numpy())

    return product


def arch_spectrum(
    objective: Objective,
    batches: Sequence[Batch],
    *,
    count: int = 5,
    tolerance: float = 1e-3,
    progress: Progress = no_progress,
) -> Spectrum:
    """The ends of the spectrum of the mean loss's Hessian in the architecture parameters of a search.

    Args:
        objective: The problem; nothing of it is changed, chance included.
        batches: Images and labels; each passes the network by itself.
        count: How many of the largest eigenvalues.
        tolerance: The relative accuracy.
        progress: Called with the number of products done; how many it takes is not known.

    Raises:
        CompositionError: If the relaxation has no architecture parameters.
    """
    size = sum(parameter.numel() for parameter in objective.relaxation.arch_parameters())
    if not size:
        raise CompositionError(
            f"{type(objective.relaxation).__name__} has no architecture parameters that a loss could be "
            "curved in"
        )
    with arch_hessian(objective, batches) as product:
        return _spectrum(product, size, count_examples(batches), count, tolerance, progress)


def _spectrum(
    product: Product, size: int, examples: int, count: int, tolerance: float, progress: Progress
) -> Spectrum:
    """The ends of a spectrum by Lanczos' method; each product with the Hessian reports progress."""
    done = 0

    def counted(vector: Floats) -> Floats:
        nonlocal done
        result = product(vector)
        done += 1
        progress("products with the Hessian", done, 0)
        return result

    largest = extreme_eigenvalues(counted, size, count=count, tolerance=tolerance)
    (smallest,) = extreme_eigenvalues(counted, size, end="SA", tolerance=tolerance)
    return Spectrum(tuple(map(float, largest)), float(smallest), size, examples)
