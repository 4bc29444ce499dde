import math

import pytest
import torch

from dartboard.arch.optim import GEOMETRIES
from dartboard_papers.theory import mirror_descent
from dartboard_papers.theory.mirror_descent import (
    ENTROPY,
    EUCLIDEAN,
    NoisyChoice,
    count_iterations,
    survey_dimensions,
)

CALM = {"accuracy": 0.1, "runs": 1}


def test_without_noise_the_exponentiated_gradient_has_a_closed_form():
    """The best op has weight 1 / (1 + (k - 1) exp(-rate gap t)); the loss is gap times the rest."""
    k, gap, accuracy = 20, 0.5, 0.1
    rate = 2 * accuracy / gap**2  # G is the gap itself
    need = math.log((k - 1) * (gap - accuracy) / accuracy) / (rate * gap)
    found = count_iterations(NoisyChoice(k, gap, 0.0), ENTROPY, **CALM, factors=[2.0])
    assert found.steps == math.ceil(need)
    assert found.rate == pytest.approx(rate)


def test_without_noise_projection_arrives_at_constant_speed():
    """While all weights are positive the best gains rate gap (k - 1) / k a step."""
    k, gap, accuracy = 10, 0.5, 0.12
    rate = accuracy / (gap**2 * (k - 1))
    need = (1 - accuracy / gap - 1 / k) / (rate * gap * (k - 1) / k)
    found = count_iterations(NoisyChoice(k, gap, 0.0), EUCLIDEAN, accuracy=0.12, runs=1, factors=[1.0])
    assert found.steps == math.ceil(need)


def test_a_large_rate_without_noise_needs_one_step_in_either_geometry():
    for name in (ENTROPY, EUCLIDEAN):
        assert count_iterations(NoisyChoice(8, noise=0.0), name, **CALM, factors=[1.0, 1000.0]).steps == 1


def test_gradients_are_bounded_by_the_largest_entry_or_by_the_length():
    problem = NoisyChoice(100, 0.5, 1.0)
    assert problem.gradient_bound(GEOMETRIES[ENTROPY]) == pytest.approx(1.5)
    assert problem.gradient_bound(GEOMETRIES[EUCLIDEAN]) == pytest.approx(math.sqrt(99 * 2.25 + 1))
    assert problem.guarantee(ENTROPY, 0.1) == pytest.approx(2 * math.log(100) * 2.25 / 0.01)
    assert problem.guarantee(EUCLIDEAN, 0.1) == pytest.approx(0.99 * (99 * 2.25 + 1) / 0.01)


@pytest.mark.parametrize("name", [ENTROPY, EUCLIDEAN])
def test_both_guarantees_are_of_the_divergence_from_the_start(name):
    """2 D G^2 / accuracy^2, with D as the geometry itself measures it: only so can they be compared."""
    problem, geometry = NoisyChoice(7), GEOMETRIES[name]
    corner = torch.eye(7)[0]
    distance = geometry.divergence(corner, problem.start()).item()
    expected = 2 * distance * problem.gradient_bound(geometry) ** 2 / 0.04
    assert problem.guarantee(name, 0.2) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("most", [3, 70, 5000])
def test_looking_seldom_finds_the_first_step_and_its_rate(monkeypatch, most):
    problem, usual = NoisyChoice(16), {"accuracy": 0.1, "runs": 2, "most": most}
    for name in (ENTROPY, EUCLIDEAN):
        seldom = count_iterations(problem, name, **usual)
        monkeypatch.setattr(mirror_descent, "LOOK", 1)
        assert count_iterations(problem, name, **usual) == seldom
        monkeypatch.undo()


def test_equal_weights_are_the_more_stationary_the_more_ops_there_are_in_the_entropy_alone():
    """Equation 7 by hand: gap (p - 1 / k) / lambda with p the weight of the best op after the mirror step."""
    for k in (2, 50):
        p = 1 / (1 + (k - 1) * math.exp(-0.5))
        assert NoisyChoice(k).stationarity(ENTROPY) == pytest.approx(0.5 * (p - 1 / k), rel=1e-4)
        length = 0.25 * (1 - 1 / k)  # squared, of the gradient without its mean
        assert NoisyChoice(k).stationarity(EUCLIDEAN) == pytest.approx(length, rel=1e-4)


def test_with_noise_projection_suffers_from_the_dimension_and_the_exponentiated_gradient_does_not():
    found = {(own.dimension, own.geometry): own.steps for own in survey_dimensions([4, 32], runs=32)}
    assert found[32, EUCLIDEAN] > 5 * found[4, EUCLIDEAN]
    assert found[32, ENTROPY] < 4 * found[4, ENTROPY]
    assert found[32, ENTROPY] < found[32, EUCLIDEAN] / 5


def test_what_does_not_arrive_is_given_up():
    found = count_iterations(NoisyChoice(64), EUCLIDEAN, accuracy=0.1, most=3)
    assert found.steps is None
    assert found.rate is None


@pytest.mark.parametrize(
    "change", [{"accuracy": 0.05}, {"gap": 0.3}, {"noise": 2.0}, {"runs": 3}, {"seed": 1}, {"most": 2}]
)
def test_every_number_counts(change):
    usual = {"accuracy": 0.1, "runs": 2}
    one, other = (survey_dimensions([8, 16], **own) for own in (usual, {**usual, **change}))
    assert [own.steps for own in one] != [own.steps for own in other]


def test_it_tells_how_far_it_is():
    told = []
    survey_dimensions([2, 4], runs=2, tell=lambda *own: told.append(own))
    assert told == [("mirror descent", place, 4) for place in range(4)]
    assert torch.is_grad_enabled()
