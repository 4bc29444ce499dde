"""How curved a loss is: extreme eigenvalues of a Hessian of which only products are known."""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from torch import Tensor

from dartboard.arch.products import gradients
from dartboard.arch.task import Batch, Task
from dartboard.relax.samplers import aside

SMALL = 3
"""Matrices up to this size are written out, as Lanczos' method asks for more."""
Floats = NDArray[np.float64]
Product = Callable[[Floats], Floats]
"""A symmetric matrix as what it makes of a vector [n]."""


def largest_eigenvalue(task: Task, batch: Batch, *, tolerance: float = 1e-3) -> float:
    """The largest eigenvalue of the Hessian of a batch's loss in the architecture parameters.

    A growing one announces a bad choice (Zela et al. 2020). Computed by Lanczos' method with exact products;
    waits for the device.

    Args:
        task: The problem; nothing of it is changed, chance included.
        batch: Images and labels.
        tolerance: The relative accuracy.

    Returns:
        The eigenvalue; NaN where the method finds none.
    """
    return float(arch_eigenvalues(task, batch, tolerance=tolerance)[0])


def arch_eigenvalues(
    task: Task, batch: Batch, *, count: int = 1, end: Literal["LA", "SA"] = "LA", tolerance: float = 1e-3
) -> Floats:
    """Eigenvalues at one end of the Hessian of `largest_eigenvalue`; see `extreme_eigenvalues`."""
    parameters = task.relaxation.arch_parameters()
    size = sum(parameter.numel() for parameter in parameters)
    with task.undisturbed(), aside(task.relaxation):
        loss = task.probe(batch, [weight.detach() for weight in task.own_weights])
        slopes = gradients(loss, parameters, create_graph=True)
        if not any(slope.requires_grad for slope in slopes):  # the loss is linear
            return np.zeros(min(count, size))
        product = _product(slopes, parameters)
        return extreme_eigenvalues(product, size, count=count, end=end, tolerance=tolerance)


def _product(slopes: list[Tensor], parameters: list[torch.nn.Parameter]) -> Product:
    """Products with the derivative of slopes whose graph is kept."""
    sizes, like = [parameter.numel() for parameter in parameters], parameters[0]

    def product(vector: Floats) -> Floats:
        parts = torch.from_numpy(vector).to(like).split(sizes)
        along = sum((slope.flatten() * part).sum() for slope, part in zip(slopes, parts, strict=True))
        assert isinstance(along, Tensor)  # noqa: S101
        found = torch.autograd.grad(
            along, parameters, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        flat = torch.cat([part.flatten() for part in found])
        return np.asarray(flat.double().cpu().numpy())

    return product


def extreme_eigenvalues(
    product: Product, size: int, *, count: int = 1, end: Literal["LA", "SA"] = "LA", tolerance: float = 1e-3
) -> Floats:
    """The `count` largest (`LA`) or smallest (`SA`) eigenvalues of a symmetric matrix, outermost first.

    Args:
        product: The matrix, as what it makes of a vector.
        size: Its rows.
        count: How many eigenvalues; fewer come where it has fewer rows.
        end: Which end of the spectrum.
        tolerance: The relative accuracy.

    Returns:
        Eigenvalues [min(count, size)]; all NaN where Lanczos' method finds none.
    """
    count = min(count, size)
    if size <= max(SMALL, count + 1):
        found = np.linalg.eigvalsh(np.stack([product(row) for row in np.eye(size)]))
        return found[::-1][:count] if end == "LA" else found[:count]
    start = np.random.default_rng(0).standard_normal(size)
    if not product(start).any():
        return np.zeros(count)
    operator = LinearOperator((size, size), matvec=lambda v: product(v.reshape(-1)), dtype=np.float64)
    try:
        found = eigsh(operator, k=count, which=end, v0=start, tol=tolerance, return_eigenvectors=False)
    except ArpackError:
        return np.full(count, math.nan)
    return np.sort(found)[::-1] if end == "LA" else np.sort(found)
