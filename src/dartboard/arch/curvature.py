"""Curvature of a loss: the largest eigenvalue of a Hessian, from Hessian-vector products."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from torch import Tensor

from dartboard.arch.objective import Batch, Objective, gradients
from dartboard.relax import fork_rng

SMALL = 3
"""Matrices up to this size are written out, as Lanczos' method asks for more."""
Floats = NDArray[np.float64]
Product = Callable[[Floats], Floats]
"""A symmetric matrix as a function: its product with a vector [n]."""


def largest_eigenvalue(objective: Objective, batch: Batch, *, tolerance: float = 1e-3) -> float:
    """The largest eigenvalue of the Hessian of a batch's loss in the architecture parameters.

    A growing one announces a bad choice (Zela et al. 2020). Computed by Lanczos' method with exact products,
    to a relative tolerance; NaN where the method finds none. Waits for the device; nothing of the objective
    is changed, random state included.
    """
    size = sum(parameter.numel() for parameter in objective.relaxation.arch_parameters())
    with arch_hessian(objective, [batch]) as product:
        return top_eigenvalue(product, size, tolerance)


@contextmanager
def arch_hessian(objective: Objective, batches: Sequence[Batch]) -> Iterator[Product]:
    """The Hessian of the mean loss of all examples in the architecture parameters.

    Batches pass the network one after the other, with the same random draws in every product. Of
    a single batch the graph is kept; of several it is made anew for every product, so that memory is that of
    one batch. Nothing of the objective is changed, random state included.
    """
    total = sum(len(y) for _, y in batches)

    def mean_product(vector: Floats) -> Floats:
        mean = np.zeros_like(vector)
        for batch in batches:
            mean += len(batch[1]) / total * _product(objective, batch)(vector)
        return mean

    with objective.preserve_buffers(), fork_rng(objective.relaxation):
        yield _product(objective, batches[0]) if len(batches) == 1 else mean_product


def _product(objective: Objective, batch: Batch) -> Product:
    """Products with the Hessian of a batch's loss, whose graph is kept."""
    parameters = objective.relaxation.arch_parameters()
    with fork_rng(objective.relaxation):
        loss = objective.probe(batch, [weight.detach() for weight in objective.net_weights])
    grads = gradients(loss, parameters, create_graph=True)
    sizes, like = [parameter.numel() for parameter in parameters], parameters[0]

    def product(vector: Floats) -> Floats:
        if not any(grad.requires_grad for grad in grads):  # the loss is linear
            return np.zeros_like(vector)
        parts = torch.from_numpy(vector).to(like).split(sizes)
        along = sum((grad.flatten() * part).sum() for grad, part in zip(grads, parts, strict=True))
        assert isinstance(along, Tensor)  # noqa: S101
        rows = torch.autograd.grad(
            along, parameters, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        flat = torch.cat([row.flatten() for row in rows])
        return np.asarray(flat.cpu().double().numpy())

    return product


def top_eigenvalue(product: Product, size: int, tolerance: float) -> float:
    """The largest eigenvalue of a symmetric matrix of `size` rows to a relative tolerance.

    NaN where products are not finite, or Lanczos' method does not find it.
    """
    start = np.random.default_rng(0).standard_normal(size)
    first = product(start)
    if not np.isfinite(first).all():
        return math.nan
    if not first.any():
        return 0.0
    if size <= SMALL:
        return float(np.linalg.eigvalsh(np.stack([product(row) for row in np.eye(size)]))[-1])
    operator = LinearOperator((size, size), matvec=lambda v: product(v.reshape(-1)), dtype=np.float64)
    try:
        (value,) = eigsh(operator, k=1, which="LA", v0=start, tol=tolerance, return_eigenvectors=False)
    except ArpackError:
        return math.nan
    return float(value)
