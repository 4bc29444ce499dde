import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dartboard.arch.hvp import Exact
from dartboard.arch.hypergradient import amended, first_order, train_grads
from dartboard.errors import OptionError
from dartboard_papers import REPRODUCTIONS, RunOptions
from dartboard_papers.amended_darts_a5 import (
    MINIMA,
    RANDOM,
    AngleProblems,
    SecondOrderProblem,
    at_minimum,
    derivatives,
    make_network,
    measure_all,
    measure_angles,
    moved,
    random_problems,
    reproduce,
    searched,
    share_right,
    trained,
    true_gradient,
)
from dartboard_papers.runner import choose_scale

TINY = AngleProblems(problems=50, weights=6, archs=(2, 12), conditions=(10.0,), networks=2)


def matrix(*rows):
    return torch.tensor(rows, dtype=torch.float64)


def test_a_counterexample_by_hand():
    """H = diag(1, 9), M = (1, -1), v = (1, 0.5): M H v = -3.5 and M H^-1 v = 17/18, of different signs."""
    problem = SecondOrderProblem(matrix([1.0, 0.0], [0.0, 9.0]), matrix([1.0, -1.0]), matrix(1.0, 0.5))
    assert problem.estimates()[0].item() == pytest.approx(3.5)
    assert problem.estimates()[1].item() == pytest.approx(-0.5)
    assert problem.true().item() == pytest.approx(-17 / 18)
    assert [own.item() for own in problem.cosines()] == pytest.approx([-1.0, 1.0])
    # H^-1 M'M H = (1, -9; -1/9, 1), so S = (2, -82/9; -82/9, 2)
    assert problem.worst().item() == pytest.approx(2 - 82 / 9)


@given(st.integers(0, 1000), st.integers(1, 5), st.floats(1.5, 1000.0))
def test_fewer_architecture_parameters_than_weights_always_leave_a_slope_that_breaks_it(
    seed, archs, condition
):
    problem = random_problems(1, 6, archs, condition, seed)
    worst = problem.worst()
    assert (worst < 0).all()
    turned = torch.linalg.solve(problem.hessian, problem.mixed.mT @ problem.mixed @ problem.hessian)
    slope = torch.linalg.eigh(turned + turned.mT).eigenvectors[..., 0]
    assert (SecondOrderProblem(problem.hessian, problem.mixed, slope).cosines()[0] < 0).all()


@given(st.integers(0, 1000), st.floats(1.5, 100.0))
def test_a_hessian_that_keeps_the_kernel_keeps_the_claim(seed, condition):
    """With a multiple of the identity both estimates point where g2 does."""
    drawn = random_problems(1, 6, 2, condition, seed)
    plain = SecondOrderProblem(condition * torch.eye(6, dtype=torch.float64), drawn.mixed[0], drawn.slope[0])
    assert [own.item() for own in plain.cosines()] == pytest.approx([1.0, 1.0])
    assert plain.worst().item() > -1e-9 * condition


def test_random_problems_have_the_condition_number_that_is_asked_for():
    values = torch.linalg.eigvalsh(random_problems(3, 5, 2, 50.0).hessian)
    assert (values[:, -1] / values[:, 0]).tolist() == pytest.approx([50.0] * 3)


@pytest.mark.parametrize("steps", [0, 7])
def test_whole_matrices_give_the_term_that_searches_compute(steps):
    point = trained(make_network(1), steps)
    amending = amended(point, 0.3, Exact())[0] - first_order(point)[0]
    torch.testing.assert_close(amending.flatten(), 0.3 * derivatives(point).estimates()[0])


def test_the_true_term_is_how_the_minimum_moves():
    """g1 + g2 is the slope of the validation loss at the minimum, here by central differences."""
    point = at_minimum(make_network(1))
    true = true_gradient(point)
    assert measure_angles(point, 0.1, true).minimum
    (alpha,) = point.arch
    for place in range(2):
        ends = []
        for step in (1e-4, -1e-4):
            with torch.no_grad():
                alpha.view(-1)[place] += step
            again = at_minimum(point, steps=0)
            ends.append(again.valid[0](again.weights).item())
            with torch.no_grad():
                alpha.view(-1)[place] -= step
        assert true[place].item() == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-4)


def test_descent_goes_down_and_leaves_the_start_alone():
    start = make_network(0)
    before = start.train[0](start.weights).item()
    assert trained(start, 20).train[0](trained(start, 20).weights).item() < before
    assert start.train[0](start.weights).item() == before
    assert moved(start, start.weights).weights[0].equal(start.weights[0])
    assert train_grads(at_minimum(start))[0].norm() < 1e-8


def test_a_search_moves_both_and_goes_down_in_both_losses():
    start = make_network(0)
    before = start.arch[0].clone()
    valid = start.valid[0](start.weights).item()
    once = searched(start, 1)
    weight = start.weights[0] - 0.1 * train_grads(make_network(0))[0]
    torch.testing.assert_close(once.weights[0], weight)
    assert not torch.equal(once.arch[0], before)
    assert searched(once, 30).valid[0](once.weights).item() < valid


def test_an_estimate_is_compared_with_the_gradient_it_is_given():
    """Against g1 + g2' itself the amended gradient is nearer than g1; against g1 it is not."""
    point = trained(make_network(3), 5)
    direct, near = first_order(point)[0].flatten(), amended(point, 0.1, Exact())[0].flatten()
    assert measure_angles(point, 0.1, near).nearer
    assert not measure_angles(point, 0.1, direct).nearer
    bounded = amended(point, 1e6, Exact(), bounded=True)[0].flatten()
    assert measure_angles(point, 1e6, bounded).bounded


def test_shares_count_cosines_that_are_not_negative():
    assert share_right([0.0, -1e-12, -0.1, 1.0]) == 75.0


def test_the_claim_is_found_broken(tmp_path):
    result = reproduce(RunOptions(tmp_path), TINY)
    assert not result.parts[RANDOM].held
    assert list(result.parts) == list(REPRODUCTIONS["amended-darts-a5"].rules)
    here = {row.what: row.here for row in result.rows}
    assert here["random, condition 10, 2 arch. parameters: <g2', g2> >= 0, %"] < 100
    assert here["at minima: some other slope breaks the claim, %"] == 100
    assert len(result.numbers["minima"]) == here["networks that came to a minimum"]
    assert len(result.numbers["during the search"]) == len(result.numbers["minima"])
    assert REPRODUCTIONS["amended-darts-a5"].work is reproduce
    assert any("changed after a first result" in remark for remark in result.remarks)


@pytest.mark.parametrize(
    "words", ["archs=[]", "archs=[0]", "conditions=[]", "conditions=[0.0]", "conditions=[-2.0]"]
)
def test_problems_that_are_none_are_refused(words):
    with pytest.raises(OptionError, match=words.split("=")[0]):
        choose_scale(REPRODUCTIONS["amended-darts-a5"], [words])


def test_it_would_hold_where_nothing_breaks_it(tmp_path):
    tame = TINY.model_copy(update={"conditions": (1.0,), "networks": 1})
    found = measure_all(RunOptions(tmp_path), tame)
    assert set(found.random.values()) == {100.0}
    assert found.parts()[RANDOM].held
    assert found.parts()[MINIMA].held == (share_right([own.amending for own in found.minima]) == 100)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("problems", 51),
        ("weights", 7),
        ("archs", (3, 12)),
        ("conditions", (1000.0,)),
        ("networks", 3),
        ("steps", 3),
        ("eta", 100.0),
    ],
)
def test_every_number_matters(tmp_path, key, value):
    usual, other = (
        reproduce(RunOptions(tmp_path), TINY.model_copy(update=update)).numbers
        for update in ({}, {key: value})
    )
    assert usual != other
