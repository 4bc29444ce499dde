import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from dartboard_papers import RunOptions, Verdict
from dartboard_papers import understanding_theorem_4_1 as descent
from dartboard_papers import understanding_theorem_4_2 as smooth
from dartboard_papers import understanding_theorem_4_3 as noise
from dartboard_papers.theory.linear_cells import smoothness, variances
from dartboard_papers.theory.linear_problems import random_problem
from dartboard_papers.understanding_theorem_4_2 import LinearCells

TINY = LinearCells(lengths=(0.5, 3.0), problems=3, nodes=2, size=2, examples=5)


SQUARE = descent.Landscape1D(lambda u: u**2 / 2, lambda u: u, 1.0)
"""Convex, so that expectations have a closed form."""
PROBLEMS = st.builds(
    descent.DescentProblem,
    function=st.sampled_from([*descent.FUNCTIONS.values(), SQUARE]),
    smoothness=st.floats(0.1, 10),
    start=st.floats(-4, 4),
    rates=st.lists(st.floats(0.01, 0.99), min_size=1, max_size=8).map(tuple),
    noise=st.floats(0, 3),
)


def test_expectations_on_a_square_follow_the_recursion_of_the_second_moment():
    """E w'^2 = (1 - rate L)^2 E w^2 + rate^2 sigma^2, and the squared slope is L^2 w^2."""
    problem = descent.DescentProblem(SQUARE, 3.0, 1.5, (0.3, 0.1, 0.25, 0.02), 0.7)
    moment, total = 1.5**2 / 3.0, 0.0
    for rate in problem.rates:
        total += rate * 9 * moment
        moment = (1 - 3 * rate) ** 2 * moment + (rate * 0.7) ** 2
    assert descent.expected_error(problem) == pytest.approx(total / sum(problem.rates))


def test_expectations_are_those_of_simulated_runs():
    problem = descent.DescentProblem(descent.FUNCTIONS["1 - cos u"], 2.0, 1.0, (0.3, 0.2, 0.1), 0.5)
    rng, scale = np.random.default_rng(0), math.sqrt(2)
    w, total = np.full(200_000, 1.0 / scale), 0.0
    for rate in problem.rates:
        slopes = scale * np.sin(scale * w)
        total += rate * (slopes**2).mean()
        w = w - rate * (slopes + rng.choice([-0.5, 0.5], w.size))
    assert descent.expected_error(problem) == pytest.approx(total / 0.6, rel=0.01)


@pytest.mark.parametrize("function", descent.FUNCTIONS.values(), ids=descent.FUNCTIONS)
def test_functions_are_smooth_not_convex_and_have_their_slopes(function):
    u = np.linspace(-6, 6, 4001)
    step = 1e-5
    numeric = (function.value(u + step) - function.value(u - step)) / (2 * step)
    np.testing.assert_allclose(function.slope(u), numeric, atol=1e-8)
    curvature = (function.slope(u + step) - function.slope(u - step)) / (2 * step)
    assert np.abs(curvature).max() == pytest.approx(function.smoothness, abs=1e-4)
    assert curvature.min() < -0.1
    assert function.value(u).min() == pytest.approx(0, abs=1e-5)


@given(PROBLEMS)
@settings(max_examples=60, deadline=None)
def test_theorem_4_1_holds_for_rates_below_1_over_l(problem):
    rates = tuple(rate / problem.smoothness for rate in problem.rates)
    problem = replace(problem, rates=rates)
    assert descent.expected_error(problem) <= descent.error_bound(problem) * (1 + 1e-9) + 1e-12


def test_theorem_4_1_fails_for_larger_rates():
    problem = descent.DescentProblem(SQUARE, 2.0, 1.0, (1.9 / 2.0,), 0.0)
    assert descent.expected_error(problem) == pytest.approx(1.9 * descent.error_bound(problem))


def test_theorem_4_1_counts_problems(tmp_path):
    scale = descent.Descents(problems=6, steps=5)
    result = descent.reproduce(RunOptions(tmp_path), scale)
    assert result.parts[descent.BOUND].held
    assert result.parts[descent.BOUND].observed.startswith("12 of 12")
    assert len(result.numbers["errors"]) == 12
    for change in ({"seed": 1}, {"steps": 6}, {"problems": 5}):
        other = descent.reproduce(RunOptions(tmp_path), scale.model_copy(update=change))
        assert other.numbers["errors"] != result.numbers["errors"]


def test_theorem_4_1_rates_are_below_1_over_l():
    for problem in descent.random_problems(SQUARE, descent.Descents()):
        assert max(problem.rates) * problem.smoothness < 1


def test_theorem_4_2_is_broken_and_its_rows_are_those_of_the_problems(tmp_path):
    result = smooth.reproduce(RunOptions(tmp_path), TINY)
    assert result.parts[smooth.BOUND].held is False
    problems = [random_problem(nodes=2, size=2, examples=5, length=3.0, seed=seed) for seed in range(3)]
    ratios = torch.stack([smoothness("narrowest", own) / smoothness("widest", own) for own in problems])
    found = {row.what: row for row in result.rows}
    for block in range(2):
        row = found[f"norm 3, W{block + 1}: constant, narrowest / widest"]
        assert row.here == pytest.approx(ratios[:, block].median().item())
        assert row.paper == ("<= 1" if block == 0 else "<= 3")
    assert found["two nodes of one entry, weights 2, f = |z|^2 / 2: constant of W1"].here == 5
    assert found["two nodes of one entry, weights 2, f = |z|^2 / 2: constant of W2"].here == 4


def test_the_conclusion_is_judged_by_signs_at_norms_above_1():
    larger, mixed = torch.full((2, 10), 3.0), torch.tensor([[0.1] * 10, [3.0] * 6 + [0.5] * 4])
    assert smooth.judge_larger([larger], (0.5, 2.0)).held
    assert not smooth.judge_larger([larger, mixed], (0.5, 2.0)).held
    assert smooth.judge_larger([mixed], (0.5, 1.0)).held is None
    nine = torch.tensor([[3.0] * 9 + [0.5]])
    assert smooth.judge_larger([nine], (2.0,)).held  # 11 of 1,024 sequences of signs
    eight = torch.tensor([[3.0] * 8 + [0.5] * 2])
    assert not smooth.judge_larger([eight], (2.0,)).held  # 56 of 1,024


def test_theorem_4_2_holds_where_there_is_one_node(tmp_path):
    """The widest and the narrowest cell are then the same."""
    result = smooth.reproduce(RunOptions(tmp_path), TINY.model_copy(update={"nodes": 1}))
    assert result.parts[smooth.BOUND].held
    assert result.verdict is Verdict.PARTLY
    assert result.numbers["widest"] == result.numbers["narrowest"]


def test_theorem_4_3_is_judged_at_the_products_of_the_weights(tmp_path):
    result = noise.reproduce(RunOptions(tmp_path), TINY)
    assert result.parts[noise.BOUND].held
    found = {row.what: row.here for row in result.rows}
    assert found["squared loss, norm 3: above the bound, same weights"] > 0
    assert found["squared loss, norm 3: above the bound, products"] == 0
    problems = [random_problem(nodes=2, size=2, examples=5, length=3.0, seed=seed) for seed in range(3)]
    ratios = [variances("narrowest", own).sum() / variances("widest", own).sum() for own in problems]
    assert found["squared loss, norm 3: variance, narrowest / widest"] == pytest.approx(
        torch.stack(ratios).median().item()
    )
    assert set(result.figures) == {"variance-squared", "variance-logistic"}


def test_theorem_4_3_holds_where_there_is_one_node(tmp_path):
    """The bound is then the variance itself."""
    result = noise.reproduce(RunOptions(tmp_path), TINY.model_copy(update={"nodes": 1}))
    assert result.parts[noise.BOUND].held
    for own in result.numbers.values():
        assert own["narrowest"] == own["widest"]


@pytest.mark.parametrize("lengths", [[], [-1.0], [1.0, 0.0]])
def test_norms_that_cannot_be(lengths):
    with pytest.raises(ValidationError, match="lengths"):
        LinearCells.model_validate({"lengths": lengths})


@pytest.mark.parametrize(
    "change", [{"seed": 7}, {"examples": 6}, {"size": 3}, {"problems": 4}, {"lengths": (2.0,)}]
)
def test_every_number_of_the_scale_counts(tmp_path, change):
    usual = smooth.reproduce(RunOptions(tmp_path), TINY)
    other = smooth.reproduce(RunOptions(tmp_path), TINY.model_copy(update=change))
    assert usual.numbers["narrowest"] != other.numbers["narrowest"]
