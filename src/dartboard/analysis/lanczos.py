"""Lanczos' method for a symmetric matrix that is known by its products: ends of the spectrum, density, trace.

Everything comes from one kind of run. From a vector v of length 1 a basis of the Krylov space v, Hv, H^2 v,
... is built, in which H is a small matrix T. The outer eigenvalues of T converge to those of H, at both ends
at once. Its eigenvalues t_i, weighted by the squares w_i of the first components of its eigenvectors, are a
Gauss quadrature: sum_i w_i t_i^k = v' H^k v for k < 2m where T has m rows (Golub and Welsch 1969). With
entries of v drawn from +-1 and divided by sqrt(n) the expectation of v' f(H) v is tr f(H) / n; so means over
such probes give the trace (Hutchinson 1989) and the density of the spectrum (Ubaru et al. 2017; Ghorbani et
al. 2019).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dartboard.arch.curvature import Floats, Product

BASIS = 32
"""Least number of vectors between restarts of a search for eigenvalues."""
RESTARTS = 300
"""The most restarts; eigenvalues that are not found then are NaN."""
FLOOR = 1e-3
"""As a fraction of the largest of all: eigenvalues below have the absolute accuracy of those of this size,
as no number of products gives an eigenvalue that is zero to a relative accuracy."""
WIDTH = 0.01
"""Standard deviation of the Gaussians that smooth a density, as a fraction of the spectrum's range."""


class KrylovSpace:
    """An orthonormal basis that grows by products with a symmetric matrix, all vectors orthogonalized twice.

    Args:
        product: The matrix.
        start: First vector, of any length [n].
        most: Vectors of the basis, at the most; memory is that of so many vectors.

    Attributes:
        matrix: The matrix in the basis [m, m].
        residual: Length of the part of the last product that lies outside the basis.
    """

    def __init__(self, product: Product, start: Floats, most: int) -> None:
        self.product, size = product, min(most, len(start))
        self.vectors = np.zeros((size + 1, len(start)))
        self.vectors[0] = start / np.linalg.norm(start)
        self.matrix: Floats = np.zeros((size, size))
        self.residual = math.inf
        self._filled, self._rng = 0, np.random.default_rng(0)

    def grow(self) -> None:
        """Fills the basis. Where the space is closed it goes on with a vector that is drawn at random."""
        size, length = len(self.matrix), self.vectors.shape[1]
        for index in range(self._filled, size):
            image, basis = self.product(self.vectors[index]), self.vectors[: index + 1]
            column, outside = _project(basis, image)
            self.matrix[: index + 1, index] = self.matrix[index, : index + 1] = column
            self.residual = float(np.linalg.norm(outside))
            if index + 1 == length:
                self.residual = 0.0
            elif self.residual <= np.finfo(np.float64).eps * np.linalg.norm(column):
                self.residual = 0.0
                outside = _project(basis, self._rng.standard_normal(length))[1]
            if index + 1 < length:
                self.vectors[index + 1] = outside / np.linalg.norm(outside)
        self._filled = size

    def restart(self, values: Floats, rows: Floats) -> None:
        """Keeps some eigenvectors of the small matrix [k, m] with their values [k] (Wu and Simon 2000)."""
        count, size = len(values), len(self.matrix)
        kept = rows @ self.vectors[:size]
        self.vectors[count] = self.vectors[size]
        self.vectors[:count] = kept
        self.matrix[:] = 0.0
        self.matrix[range(count), range(count)] = values
        self._filled = count


def _project(basis: Floats, vector: Floats) -> tuple[Floats, Floats]:
    """The coefficients of a vector in an orthonormal basis, and what lies outside; twice is enough."""
    first = basis @ vector
    outside = vector - first @ basis
    second = basis @ outside
    return first + second, outside - second @ basis


@dataclass(frozen=True, eq=False)
class SpectrumEnds:
    """The largest eigenvalues, largest first, and the smallest; NaN for those that were not found.

    `matrix` is the matrix in the Krylov space of the start [m, m].
    """

    largest: Floats
    smallest: float
    matrix: Floats


def spectrum_ends(
    product: Product, start: Floats, *, count: int = 1, tolerance: float = 1e-3, basis: int = 0
) -> SpectrumEnds:
    """Both ends of a spectrum from one Krylov space, restarted until they are accurate.

    Args:
        product: The matrix.
        start: The first vector [n].
        count: How many of the largest eigenvalues; at most n come.
        tolerance: The relative accuracy; of eigenvalues below a thousandth of the largest, that of the
            thousandth.
        basis: Vectors between restarts; at least 32 and twice the number of eigenvalues.
    """
    count = min(count, len(start))
    space = KrylovSpace(product, start, max(basis, BASIS, 2 * (count + 1)))
    size, first = len(space.matrix), None
    wanted = np.r_[0, size - count : size]
    accurate = np.zeros(size, dtype=bool)
    values: Floats = np.full(size, math.nan)
    for _ in range(RESTARTS):
        space.grow()
        first = space.matrix.copy() if first is None else first
        if not np.isfinite(space.matrix).all():
            break
        values, vectors = np.linalg.eigh(space.matrix)
        sizes = np.maximum(np.abs(values), FLOOR * np.abs(values).max())
        accurate = space.residual * np.abs(vectors[-1]) <= tolerance * sizes
        if accurate[wanted].all():
            break
        spare = (size - count - 1) // 4
        kept = np.r_[0 : 1 + spare, size - count - spare : size]
        space.restart(values[kept], vectors[:, kept].T)
    ends = np.where(accurate, values, math.nan)
    assert first is not None  # noqa: S101
    return SpectrumEnds(ends[size - count :][::-1], float(ends[0]), first)


@dataclass(frozen=True)
class TraceEstimate:
    """The trace by Hutchinson's method: the mean over probes and its standard error, NaN of one probe."""

    mean: float
    error: float
    probes: int

    @classmethod
    def of(cls, samples: Sequence[float]) -> "TraceEstimate":
        """The estimate from n v'Hv of each probe v of length 1."""
        error = np.std(samples, ddof=1) / math.sqrt(len(samples)) if len(samples) > 1 else math.nan
        return cls(float(np.mean(samples)), float(error), len(samples))

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON; None for an error that is not known."""
        error = None if math.isnan(self.error) else self.error
        return {"mean": self.mean, "standard_error": error, "probes": self.probes}


@dataclass(frozen=True, eq=False)
class SpectralDensity:
    """The density of the eigenvalues by stochastic Lanczos quadrature.

    Args:
        nodes: Eigenvalues of each probe's small matrix [probes, degree].
        weights: Their weights, which sum to 1 in each row [probes, degree].
    """

    nodes: Floats
    weights: Floats

    @classmethod
    def of(cls, matrices: Sequence[Floats]) -> "SpectralDensity":
        """The density from the small matrix of each probe [degree, degree]."""
        values, vectors = np.linalg.eigh(np.stack(matrices))
        return cls(values, vectors[:, 0] ** 2)

    def moment(self, power: int) -> float:
        """The mean of the eigenvalues' powers, tr(H^k) / n, exact for its probes while k < 2 degree."""
        return float((self.weights * self.nodes**power).sum(1).mean())

    def curve(self, points: int = 400, width: float = WIDTH) -> tuple[Floats, Floats]:
        """Eigenvalues and the density there, smoothed with Gaussians; it integrates to 1.

        Args:
            points: Where it is evaluated, evenly spaced from end to end.
            width: Standard deviation of the Gaussians, as a fraction of the range of the nodes.
        """
        low, high = float(self.nodes.min()), float(self.nodes.max())
        sigma = width * ((high - low) or abs(high) or 1.0)
        x = np.linspace(low - 5 * sigma, high + 5 * sigma, points)
        bells = np.exp(-(((x[:, None] - self.nodes.ravel()) / sigma) ** 2) / 2)
        density = bells @ self.weights.ravel() / (len(self.nodes) * sigma * math.sqrt(2 * math.pi))
        return x, np.asarray(density)

    def facts(self) -> dict[str, Any]:
        """Nodes, weights and the smoothed curve, ready for JSON."""
        x, y = self.curve()
        curve = {"eigenvalues": x.tolist(), "density": y.tolist()}
        return {"nodes": self.nodes.tolist(), "weights": self.weights.tolist(), "curve": curve}


def draw_probe(size: int, number: int) -> Floats:
    """A vector of length 1 with entries +-1 / sqrt(n), drawn at random [n]; numbers give independent ones."""
    signs = np.random.default_rng([0, number]).integers(0, 2, size)
    return np.asarray((2.0 * signs - 1.0) / math.sqrt(size))
