"""How curved a loss is in the architecture parameters."""

import math

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
    parameters = task.relaxation.arch_parameters()
    with task.undisturbed(), aside(task.relaxation):
        loss = task.probe(batch, [weight.detach() for weight in task.own_weights])
        slopes = gradients(loss, parameters, create_graph=True)
        if not any(slope.requires_grad for slope in slopes):  # the loss is linear
            return 0.0
        return _largest(slopes, parameters, tolerance)


def _largest(slopes: list[Tensor], parameters: list[torch.nn.Parameter], tolerance: float) -> float:
    sizes, like = [parameter.numel() for parameter in parameters], parameters[0]

    def product(vector: NDArray[np.float64]) -> NDArray[np.float64]:
        parts = torch.from_numpy(vector.reshape(-1)).to(like).split(sizes)
        along = sum((slope.flatten() * part).sum() for slope, part in zip(slopes, parts, strict=True))
        assert isinstance(along, Tensor)  # noqa: S101
        found = torch.autograd.grad(
            along, parameters, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        flat = torch.cat([part.flatten() for part in found])
        return np.asarray(flat.double().cpu().numpy())

    size = sum(sizes)
    if size <= SMALL:
        return float(np.linalg.eigvalsh(np.stack([product(row) for row in np.eye(size)])).max())
    operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(size)
    if not product(start).any():
        return 0.0
    try:
        return float(eigsh(operator, k=1, which="LA", v0=start, tol=tolerance, return_eigenvectors=False)[0])
    except ArpackError:
        return math.nan
