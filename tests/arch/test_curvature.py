from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from scipy.sparse.linalg import eigsh

from dartboard.arch import curvature
from dartboard.arch.curvature import arch_hessian, largest_eigenvalue, top_eigenvalue
from dartboard.space import Cell, Edge, get_space
from helpers.search_cases import batch, differences, random_objective, snapshot


def dense(objective, given):
    """The largest eigenvalue of the whole matrix."""
    return spectrum(objective, given)[-1].item()


def spectrum(objective, given):
    """All eigenvalues of the whole matrix, from a loss written out here."""
    parameters = objective.relaxation.arch_parameters()
    with objective.preserve_buffers():
        loss = objective.loss(given)[0]
        slopes = torch.autograd.grad(loss, parameters, create_graph=True)
        flat = torch.cat([slope.flatten() for slope in slopes])
        rows = [torch.autograd.grad(entry, parameters, retain_graph=True) for entry in flat]
    matrix = torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])
    torch.testing.assert_close(matrix, matrix.T)
    return torch.linalg.eigvalsh(matrix)


def tiny():
    """A space with one choice between three ops: a matrix of three rows."""
    cell = Cell(1, 2, (Edge(0, 1, ("skip_connect", "nor_conv_1x1", "avg_pool_3x3")),), (1,), adapt=False)
    return replace(get_space("nano"), name="tiny", groups=(("cell", cell),))


@pytest.mark.parametrize("relax", ["softmax", "simplex"])
@pytest.mark.parametrize("space", ["nano", tiny()], ids=["nano", "tiny"])
def test_it_is_the_whole_matrix_largest_eigenvalue(space, relax):
    objective = random_objective(space, relax)
    expected = dense(objective, batch(0))
    assert largest_eigenvalue(objective, batch(0), tolerance=1e-10) == pytest.approx(expected, rel=1e-8)
    assert largest_eigenvalue(objective, batch(0)) == pytest.approx(expected, rel=1e-2)


def test_edges_have_a_part_in_it():
    objective = random_objective(relax="softmax-edges")
    assert len(objective.relaxation.arch_parameters()) == 2
    assert largest_eigenvalue(objective, batch(0), tolerance=1e-10) == pytest.approx(
        dense(objective, batch(0)), rel=1e-8
    )


@pytest.mark.parametrize("relax", ["softmax", "gumbel-softmax"])
def test_measuring_changes_nothing_not_even_chance(relax):
    objective = random_objective(relax=relax, drop_path=0.3)
    before, chance = snapshot(objective), torch.get_rng_state()
    assert torch.isfinite(torch.tensor(largest_eigenvalue(objective, batch(0))))
    assert differences(snapshot(objective), before) == []
    assert torch.equal(torch.get_rng_state(), chance)
    assert all(values.grad is None for values in objective.relaxation.arch_parameters())


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 12, 40])
def test_the_top_of_any_symmetric_matrix(size):
    values = np.random.default_rng(size).standard_normal((size, size))
    matrix = values + values.T
    assert top_eigenvalue(matrix.dot, size, 1e-12) == pytest.approx(np.linalg.eigvalsh(matrix)[-1])


def test_nothing_but_zeros():
    assert top_eigenvalue(np.zeros_like, 10, 1e-3) == 0.0


@pytest.mark.parametrize("relax", ["softmax", "gumbel-softmax"])
def test_several_batches_are_their_mean(relax):
    objective, one = random_objective("nano", relax, drop_path=0.3), batch(0)
    two = tuple(part[:3] for part in batch(1))
    size = sum(values.numel() for values in objective.relaxation.arch_parameters())
    vector = np.random.default_rng(1).standard_normal(size)
    before = snapshot(objective)

    def product(*batches):
        with arch_hessian(objective, batches) as found:
            return found(vector), found(vector)

    weights = len(one[1]), len(two[1])
    expected = np.average([product(one)[0], product(two)[0]], axis=0, weights=weights)
    found, again = product(one, two)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)
    assert np.array_equal(found, again)  # chance is the same in every product
    assert differences(snapshot(objective), before) == []


@pytest.mark.parametrize("size", [1, 3, 10])
def test_products_that_are_no_numbers(size):
    assert np.isnan(top_eigenvalue(lambda vector: np.full_like(vector, np.nan), size, 1e-3))


def test_what_did_not_converge_is_nan(monkeypatch):
    values = np.linspace(0.99, 1, 400)
    monkeypatch.setattr(curvature, "eigsh", partial(eigsh, maxiter=1))
    assert np.isnan(top_eigenvalue(lambda vector: values * vector, 400, 1e-12))
