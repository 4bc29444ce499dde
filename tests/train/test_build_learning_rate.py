import math

import pytest

from dartboard.engine.config import WeightOptions
from dartboard.train.build import learning_rate, powered
from dartboard.train.config import TrainWeightOptions


def rates(epochs, **options):
    chosen = TrainWeightOptions(**options)
    return [learning_rate(chosen, epoch / epochs, epochs) for epoch in range(epochs)]


def test_cosine_to_nothing_is_darts_schedule():
    assert rates(4, lr=0.025) == pytest.approx(
        [0.025 * (1 + math.cos(math.pi * e / 4)) / 2 for e in range(4)]
    )


def test_linear_as_on_imagenet():
    assert rates(250, lr=0.5, schedule="linear") == pytest.approx([0.5 * (1 - e / 250) for e in range(250)])


@pytest.mark.parametrize("power", [2.0, 10.0, 0.5])
def test_power_annealing_is_the_formula_of_sharpdarts(power):
    """Eta = eta_min + (eta_max - eta_min) (p^(1 + (1 + cos(pi t/T))/2) - p) / (p^2 - p)."""
    found = rates(10, lr=0.2, lr_end=0.01, power=power)
    for epoch, rate in enumerate(found):
        exponent = 1 + (1 + math.cos(math.pi * epoch / 10)) / 2
        expected = 0.01 + 0.19 * (power**exponent - power) / (power**2 - power)
        assert rate == pytest.approx(expected)


def test_power_tends_to_no_power():
    for left in (0.0, 0.3, 0.9, 1.0):
        assert powered(left, 1.0) == left
        assert powered(left, 1 + 1e-7) == pytest.approx(left, abs=1e-6)
        assert powered(left, 10.0) <= left
        assert 0 <= powered(left, 10.0) <= 1


def test_five_cycles_each_half_as_high():
    found = rates(1500, lr=0.025, cycles=5, cycle_decay=0.5, power=10.0)
    tops = [found[300 * cycle] for cycle in range(5)]
    assert tops == pytest.approx([0.025 * 0.5**cycle for cycle in range(5)])
    for cycle in range(5):
        own = found[300 * cycle : 300 * (cycle + 1)]
        assert own == sorted(own, reverse=True)
        assert own[-1] < 1e-4 * tops[cycle]


def test_cycles_end_at_the_end():
    chosen = TrainWeightOptions(lr=0.1, lr_end=0.01, cycles=3, cycle_decay=0.5)
    assert learning_rate(chosen, 1.0, 9) == pytest.approx(0.01)
    assert learning_rate(chosen, 3 / 9, 9) == pytest.approx(0.01 + 0.09 * 0.5)


@pytest.mark.parametrize("epochs", [7, 10, 49, 250])
def test_warmup_rises_an_epoch_at_a_time(epochs):
    plain, warm = rates(epochs, lr=0.5), rates(epochs, lr=0.5, warmup=5)
    shares = [min((epoch + 1) / 5, 1) for epoch in range(epochs)]
    assert warm == pytest.approx([rate * share for rate, share in zip(plain, shares, strict=True)])


def test_defaults_end_at_nothing_where_searches_do_not():
    assert TrainWeightOptions().lr_end == 0
    assert WeightOptions().lr_end == 0.001


@pytest.mark.parametrize("cycles", [22, 49, 93, 147])
def test_every_cycle_starts_at_its_height(cycles):
    """Also where the quotient of an epoch and the epochs falls short."""
    assert rates(cycles, lr=0.1, cycles=cycles) == pytest.approx([0.1] * cycles)


@pytest.mark.parametrize("power", [1 + 2**-52, 1e200, 1e-200])
def test_extreme_powers_are_numbers(power):
    found = [powered(left, power) for left in (0.0, 0.5, 1.0)]
    assert found[0] == 0
    assert found[2] == 1
    assert found[1] == pytest.approx({1 + 2**-52: 0.5, 1e200: 0.0, 1e-200: 1.0}[power], abs=1e-9)
