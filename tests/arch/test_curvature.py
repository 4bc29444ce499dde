from dataclasses import replace

import pytest
import torch

from dartboard.arch.curvature import largest_eigenvalue
from dartboard.space import Cell, Edge, get_space
from searching import batch, differences, problem, snapshot


def dense(task, given):
    """The largest eigenvalue of the whole matrix, from a loss written out here."""
    parameters = task.relaxation.arch_parameters()
    with task.undisturbed():
        loss = task.loss(given)[0]
        slopes = torch.autograd.grad(loss, parameters, create_graph=True)
        flat = torch.cat([slope.flatten() for slope in slopes])
        rows = [torch.autograd.grad(entry, parameters, retain_graph=True) for entry in flat]
    matrix = torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])
    torch.testing.assert_close(matrix, matrix.T)
    return torch.linalg.eigvalsh(matrix).max().item()


def tiny():
    """A space with one choice between three ops: a matrix of three rows."""
    cell = Cell(1, 2, (Edge(0, 1, ("skip_connect", "nor_conv_1x1", "avg_pool_3x3")),), (1,), adapt=False)
    return replace(get_space("nano"), name="tiny", archs=(("cell", cell),))


@pytest.mark.parametrize("relax", ["softmax", "simplex"])
@pytest.mark.parametrize("space", ["nano", tiny()], ids=["nano", "tiny"])
def test_it_is_the_whole_matrix_largest_eigenvalue(space, relax):
    task = problem(space, relax)
    expected = dense(task, batch(0))
    assert largest_eigenvalue(task, batch(0), tolerance=1e-10) == pytest.approx(expected, rel=1e-8)
    assert largest_eigenvalue(task, batch(0)) == pytest.approx(expected, rel=1e-2)


def test_edges_have_a_part_in_it():
    task = problem(relax="softmax-edges")
    assert len(task.relaxation.arch_parameters()) == 2
    assert largest_eigenvalue(task, batch(0), tolerance=1e-10) == pytest.approx(
        dense(task, batch(0)), rel=1e-8
    )


@pytest.mark.parametrize("relax", ["softmax", "gumbel-softmax"])
def test_measuring_changes_nothing_not_even_chance(relax):
    task = problem(relax=relax, drop_path=0.3)
    before, chance = snapshot(task), torch.get_rng_state()
    assert torch.isfinite(torch.tensor(largest_eigenvalue(task, batch(0))))
    assert differences(snapshot(task), before) == []
    assert torch.equal(torch.get_rng_state(), chance)
    assert all(values.grad is None for values in task.relaxation.arch_parameters())
