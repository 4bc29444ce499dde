import math

import pytest
import torch
from torch.optim import Adam

from dartboard.arch.optim import ExpertAdvice, ExponentiatedGradient
from dartboard.errors import CompositionError, UpdateError
from dartboard.relax import Attention, Gumbel, simplex, softmax
from dartboard.search import ScheduleLengths
from dartboard.search.updates import adam, expert_advice, exponentiated_gradient
from dartboard.space import get_space

PAPER = ScheduleLengths(epochs=50, steps=250, batch=100)  # 25,000 validation images an epoch
NANO = get_space("nano")


@pytest.mark.parametrize(
    ("name", "experts", "normal", "reduce"), [("darts", 8, 7.5e-4, 1.3e-3), ("xnas", 7, 7.2e-4, 1.25e-3)]
)
def test_the_rates_of_xnas(name, experts, normal, reduce):
    """6 normal and 2 reduction cells; the paper's figures assume 8 experts, its own cell has 7."""
    space = get_space(name)
    slots = [slot.group for slot in space.slots]
    assert (slots.count("normal"), slots.count("reduce")) == (6, 2)
    assert space.cells["normal"].shape == (14, experts)
    update = expert_advice(1.0, 1.0)(simplex(space), PAPER)
    rates = dict(zip(space.cells, update.param_groups, strict=True))
    assert rates["normal"]["lr"] == pytest.approx(normal, rel=0.01)
    assert rates["reduce"]["lr"] == pytest.approx(reduce, rel=0.01)
    assert rates["normal"]["lr"] == pytest.approx(math.sqrt(2 * math.log(experts) / (25000 * 50 * 6)))
    assert rates["reduce"]["horizon"] == 25000 * 50 * 2
    assert rates["normal"]["feedbacks"] == 100 * 6


def test_the_parameters_of_each_arch_are_in_its_own_group():
    relaxation = simplex(get_space("xnas"))
    update = expert_advice(1.0, 1.0)(relaxation, PAPER)
    for group, parameter in zip(update.param_groups, relaxation.arch_parameters(), strict=True):
        assert group["params"] == [parameter]


def test_epochs_of_rest_do_not_count_towards_the_horizon():
    update = expert_advice(1.0, 1.0)(simplex(NANO), ScheduleLengths(10, 5, 8, warmup=4))
    assert update.param_groups[0]["horizon"] == 6 * 5 * 8 * 2


def test_a_rate_bound_and_zeta_that_are_given_are_used():
    update = expert_advice(2.0, 0.5, 0.3)(simplex(NANO), PAPER)
    group = update.param_groups[0]
    assert isinstance(update, ExpertAdvice)
    assert (group["lr"], group["bound"], group["zeta"]) == (0.3, 2.0, 0.5)
    slower = expert_advice(2.0, 1.0)(simplex(NANO), PAPER).param_groups[0]["lr"]
    assert slower == pytest.approx(expert_advice(1.0, 1.0)(simplex(NANO), PAPER).param_groups[0]["lr"] / 2)


def test_a_rate_of_zero_is_a_rate():
    assert expert_advice(1.0, 1.0, 0.0)(simplex(NANO), PAPER).param_groups[0]["lr"] == 0


def test_a_search_without_steps_has_a_horizon_all_the_same():
    assert expert_advice(1.0, 1.0)(simplex(NANO), ScheduleLengths(0, 5, 8)).param_groups[0]["horizon"] == 16


def test_adam_has_darts_moments():
    relaxation = softmax(NANO)
    update = adam(3e-4, 1e-3)(relaxation, PAPER)
    (group,) = update.param_groups
    assert isinstance(update, Adam)
    assert group["params"] == relaxation.arch_parameters()
    assert (group["lr"], group["betas"], group["weight_decay"]) == (3e-4, (0.5, 0.999), 1e-3)


def test_exponentiated_gradient_takes_rate_and_floor():
    relaxation = simplex(NANO, edge_weights=True)
    update = exponentiated_gradient(0.2, 1e-3)(relaxation, PAPER)
    (group,) = update.param_groups
    assert isinstance(update, ExponentiatedGradient)
    assert (group["lr"], group["floor"], len(group["params"])) == (0.2, 1e-3, 2)


def test_without_a_rate_that_of_adam_is_what_a_game_of_signs_gives():
    """Adam moves a logit by its rate or less a step: gradients of size one, sqrt(2 ln N / T)."""
    update = adam("auto", 1e-3)(softmax(NANO), ScheduleLengths(8, 32, 64))
    assert update.param_groups[0]["lr"] == pytest.approx(math.sqrt(2 * math.log(6) / 256))
    frozen = adam("auto", 1e-3)(softmax(NANO), ScheduleLengths(8, 32, 64, warmup=2))
    assert frozen.param_groups[0]["lr"] == pytest.approx(math.sqrt(2 * math.log(6) / 192))
    mixed = adam("auto", 0.0)(softmax(get_space("oneshot1")), PAPER).param_groups[0]["lr"]
    assert mixed == pytest.approx(math.sqrt(2 * math.log(3) / 12500))  # edges with one op have no choice


@pytest.mark.parametrize("draws", [False, True])
def test_without_a_rate_exponentiated_gradient_measures_one(draws):
    """In the first tenth of its steps, or in all where the temperature of samples changes the gradients."""
    relaxation = samples(simplex(NANO)) if draws else simplex(NANO)
    update = exponentiated_gradient("auto")(relaxation, ScheduleLengths(8, 32, 64, warmup=2))
    (group,) = update.param_groups
    assert (group["lr"], group["horizon"], group["measured"]) == (None, 192, 192 if draws else None)


def test_without_a_bound_expert_advice_measures_one():
    update = expert_advice("auto", 1.0)(simplex(NANO), PAPER)
    bounded = expert_advice(1.0, 1.0)(simplex(NANO), PAPER)
    assert update.param_groups[0]["bound"] is None
    assert update.param_groups[0]["lr"] == bounded.param_groups[0]["lr"]


def samples(inner):
    return Gumbel(inner, generator=torch.Generator())


@pytest.mark.parametrize("make", [exponentiated_gradient(0.1), expert_advice(1.0, 1.0)], ids=["gaea", "xnas"])
@pytest.mark.parametrize("relaxation", [softmax(NANO), samples(softmax(NANO)), Attention(NANO)], ids=repr)
def test_weights_on_the_simplex_are_asked_for(make, relaxation):
    with pytest.raises(
        CompositionError, match=f"parameters of {type(relaxation).__name__} are logits or none"
    ):
        make(relaxation, PAPER)


def test_samples_of_weights_on_the_simplex_will_do():
    assert exponentiated_gradient(0.1)(samples(simplex(NANO)), PAPER).param_groups


@pytest.mark.parametrize(
    ("make", "numbers", "words"),
    [
        (adam, (-1.0, 0.0), "lr must be a number >= 0, got -1.0"),
        (adam, (math.nan, 0.0), "lr must be a number >= 0, got nan"),
        (adam, (0.1, -1e-3), "weight_decay must be a number >= 0, got -0.001"),
        (exponentiated_gradient, (math.inf,), "lr must be a number >= 0, got inf"),
        (exponentiated_gradient, (0.1, -0.1), "floor must be a number >= 0 and < 1, got -0.1"),
        (exponentiated_gradient, (0.1, 1.0), "floor must be a number >= 0 and < 1, got 1.0"),
        (expert_advice, (0.0, 1.0), "bound must be a number > 0, got 0.0"),
        (expert_advice, (1.0, 0.0), "zeta must be a number > 0 and <= 1, got 0.0"),
        (expert_advice, (1.0, 1.5), "zeta must be a number > 0 and <= 1, got 1.5"),
        (expert_advice, (1.0, 1.0, -0.1), "lr must be a number >= 0, got -0.1"),
    ],
)
def test_numbers_are_checked_before_there_is_a_relaxation(make, numbers, words):
    with pytest.raises(UpdateError, match=words):
        make(*numbers)
