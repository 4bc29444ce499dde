"""Lanczos' method against whole matrices in float64."""

import math

import numpy as np
import pytest

from dartboard.analysis import lanczos
from dartboard.analysis.lanczos import (
    KrylovSpace,
    SpectralDensity,
    TraceEstimate,
    draw_probe,
    spectrum_ends,
)


def symmetric(size, seed=0):
    values = np.random.default_rng(seed).standard_normal((size, size))
    return values + values.T


@pytest.mark.parametrize("size", [1, 2, 3, 5, 12, 40, 300])
@pytest.mark.parametrize("count", [1, 3, 4])
def test_both_ends_of_any_symmetric_matrix(size, count):
    matrix = symmetric(size, seed=size)
    whole = np.linalg.eigvalsh(matrix)
    found = spectrum_ends(matrix.dot, draw_probe(size, 0), count=count, tolerance=1e-12)
    assert found.largest == pytest.approx(whole[::-1][:count], rel=1e-9)
    assert found.smallest == pytest.approx(whole[0], rel=1e-9)


def test_one_space_takes_fewer_products_than_two():
    """An outlier at each end of a bulk, as in a Hessian: both come from the space that either needs alone."""
    values = np.concatenate([[-8.0], np.linspace(-1, 1, 497), [20.0, 50.0]])
    products = []

    def product(vector):
        products.append(1)
        return values * vector

    found = spectrum_ends(product, draw_probe(500, 0), count=2, tolerance=1e-6)
    assert found.largest == pytest.approx([50.0, 20.0])
    assert found.smallest == pytest.approx(-8.0)
    assert len(products) <= lanczos.BASIS  # no restart, nothing a second time


def test_restarts_find_what_one_space_does_not(monkeypatch):
    values = np.linspace(0, 1, 400)
    found = spectrum_ends(lambda v: values * v, draw_probe(400, 0), count=3, tolerance=1e-10)
    assert found.largest == pytest.approx(values[::-1][:3])
    assert found.smallest == pytest.approx(0.0, abs=1e-9)
    monkeypatch.setattr(lanczos, "RESTARTS", 1)
    early = spectrum_ends(lambda v: values * v, draw_probe(400, 0), count=3, tolerance=1e-10)
    assert np.isnan(early.largest).all()
    assert math.isnan(early.smallest)


def test_eigenvalues_that_are_there_twice_and_matrices_of_low_rank():
    values = np.zeros(60)
    values[[3, 7, 9]] = 5.0, 5.0, -2.0
    found = spectrum_ends(lambda v: values * v, draw_probe(60, 0), count=3, tolerance=1e-9)
    assert found.largest == pytest.approx([5.0, 5.0, 0.0], abs=1e-9)
    assert found.smallest == pytest.approx(-2.0)
    nothing = spectrum_ends(np.zeros_like, draw_probe(10, 0), count=2)
    assert [*nothing.largest, nothing.smallest] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_products_that_are_no_numbers(size):
    found = spectrum_ends(lambda v: np.full_like(v, np.nan), draw_probe(size, 0), count=2)
    assert len(found.largest) == min(2, size)
    assert np.isnan([*found.largest, found.smallest]).all()


def density_of(matrix, starts, degree):
    matrices = []
    for start in starts:
        space = KrylovSpace(matrix.dot, start, degree)
        space.grow()
        matrices.append(space.matrix)
    return SpectralDensity.of(matrices)


@pytest.mark.parametrize("degree", [1, 2, 5])
def test_moments_are_exact_up_to_twice_the_degree(degree):
    """From every unit vector: the mean of e' H^k e over them is tr(H^k) / n."""
    matrix = symmetric(12)
    density = density_of(matrix, np.eye(12), degree)
    assert density.weights.sum(1) == pytest.approx(np.ones(12))
    scale = np.abs(np.linalg.eigvalsh(matrix)).max()
    for power in range(2 * degree):
        expected = np.trace(np.linalg.matrix_power(matrix, power)) / 12
        assert density.moment(power) == pytest.approx(expected, abs=1e-10 * scale**power)
    beyond = np.trace(np.linalg.matrix_power(matrix, 2 * degree)) / 12
    assert density.moment(2 * degree) != pytest.approx(beyond, rel=1e-6)


def test_moments_of_a_probe_are_its_own():
    matrix, probe = symmetric(50), draw_probe(50, 3)
    density = density_of(matrix, [probe], 6)
    for power in range(12):
        expected = probe @ np.linalg.matrix_power(matrix, power) @ probe
        assert density.moment(power) == pytest.approx(expected, rel=1e-9)


def test_the_smoothed_density_is_that_of_the_eigenvalues():
    matrix = symmetric(200)
    density = density_of(matrix, [draw_probe(200, number) for number in range(20)], 40)
    x, found = density.curve(600, width=0.05)
    assert np.trapezoid(found, x) == pytest.approx(1.0, rel=1e-3)
    values = np.linalg.eigvalsh(matrix)
    sigma = 0.05 * (density.nodes.max() - density.nodes.min())
    bells = np.exp(-(((x[:, None] - values) / sigma) ** 2) / 2) / (sigma * np.sqrt(2 * np.pi))
    assert np.abs(found - bells.mean(1)).max() < 0.1 * bells.mean(1).max()
    flat = density_of(np.eye(8), [draw_probe(8, 0)], 3)
    x, found = flat.curve()
    assert np.trapezoid(found, x) == pytest.approx(1.0, rel=1e-3)
    assert x[found.argmax()] == pytest.approx(1.0, abs=1e-3)


def test_hutchinson_is_unbiased_and_its_error_is_that_of_the_mean():
    matrix = symmetric(30)
    samples = [30 * float(v @ matrix @ v) for v in (draw_probe(30, number) for number in range(4000))]
    estimate = TraceEstimate.of(samples)
    off_diagonal = matrix - np.diag(np.diag(matrix))
    expected_error = math.sqrt(2 * (off_diagonal**2).sum() / 4000)  # the variance for entries of +-1
    assert estimate.error == pytest.approx(expected_error, rel=0.05)
    assert abs(estimate.mean - np.trace(matrix)) < 3 * estimate.error
    assert TraceEstimate.of([2.0]).facts() == {"mean": 2.0, "standard_error": None, "probes": 1}
    diagonal = np.diag(np.arange(30.0))
    assert 30 * draw_probe(30, 5) @ diagonal @ draw_probe(30, 5) == pytest.approx(np.trace(diagonal))
