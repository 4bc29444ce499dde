import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from dartboard.arch.optim.simplex import drop_, normalize_logs, project, read_logs, shift_logs, write_logs_

DEAD = -math.inf


def rows(seed: int, *shape: int, scale: float = 1.0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64) * scale


def test_normalised_rows_sum_to_one_and_dead_rows_stay_dead():
    logs = torch.tensor([[0.0, -800.0, DEAD], [DEAD, DEAD, DEAD], [5.0, 5.0, 5.0]], dtype=torch.float64)
    normal = normalize_logs(logs)
    assert normal.exp().sum(-1).tolist() == [1.0, 0.0, 1.0]
    assert normal[0].tolist() == [0.0, -800.0, DEAD]


def test_a_number_that_is_none_is_not_hidden():
    assert normalize_logs(torch.tensor([0.0, math.nan])).isnan().all()
    assert normalize_logs(torch.tensor([math.nan, math.nan])).isnan().all()


def test_dead_entries_do_not_move():
    by = torch.tensor([1.0, math.inf, math.nan, 2.0])
    assert shift_logs(torch.tensor([0.0, DEAD, DEAD, DEAD]), by).tolist() == [1.0, DEAD, DEAD, DEAD]


@given(st.integers(0, 10**6), st.integers(1, 9), st.floats(0.01, 100))
def test_the_projection_is_the_nearest_point_of_the_simplex(seed, size, scale):
    x = rows(seed, 3, size, scale=scale)
    y = project(x)
    assert (y >= 0).all()
    torch.testing.assert_close(y.sum(-1), torch.ones(3, dtype=torch.float64))
    # The nearest point y of a convex set has <x - y, z - y> <= 0 for all z in it; corners suffice.
    slopes = torch.einsum("rn,rkn->rk", x - y, torch.eye(size, dtype=torch.float64) - y[:, None])
    assert (slopes <= 1e-9 * max(1.0, scale)).all()


def test_points_of_the_simplex_are_projected_onto_themselves():
    x = rows(0, 4, 6).softmax(-1)
    torch.testing.assert_close(project(x), x)
    assert project(torch.tensor([[3.0, 0.0, -1.0]])).tolist() == [[1.0, 0.0, 0.0]]


def test_what_was_written_is_recalled_and_what_was_changed_is_read():
    theta, state = torch.zeros(3), {}
    logs = torch.tensor([-1000.0, math.log(0.5), math.log(0.5)])
    write_logs_(theta, logs, state)
    assert theta[0] == 0
    assert torch.equal(read_logs(theta, state), logs)
    theta[1] = 0
    assert read_logs(theta, state).tolist() == [-1000.0, DEAD, logs[2].item()]


def test_drop_reaches_an_entry_that_was_rounded_to_zero():
    theta, state = torch.zeros(3), {}
    write_logs_(theta, torch.tensor([-1000.0, math.log(0.25), math.log(0.75)]), state)
    drop_(theta, torch.tensor([True, True, False]), state)
    assert theta.tolist() == [0, 0, 1]
    assert read_logs(theta, state).tolist() == [DEAD, DEAD, 0]
