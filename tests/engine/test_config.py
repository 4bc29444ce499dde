import math

import pytest

from dartboard.errors import UnknownNameError
from dartboard.search import SCHEDULES

PAIRS = [(10.0, 0.1), (0.025, 0.001), (0.1, 0.7), (3.0, 3.0)]
moving = pytest.mark.parametrize("name", [name for name in SCHEDULES if name != "constant"])


@pytest.mark.parametrize(("start", "end"), PAIRS)
@pytest.mark.parametrize("name", SCHEDULES)
def test_it_starts_at_the_start(name, start, end):
    assert SCHEDULES[name](start, end, 0.0) == start


@pytest.mark.parametrize(("start", "end"), PAIRS)
@pytest.mark.parametrize("name", ["cosine", "linear"])
def test_it_ends_at_the_end_to_the_last_bit(name, start, end):
    assert SCHEDULES[name](start, end, 1.0) == end


@moving
def test_it_goes_one_way(name):
    values = [SCHEDULES[name](10.0, 0.1, share / 20) for share in range(21)]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) == 21


def test_the_middle_and_the_quarter_by_hand():
    assert SCHEDULES["linear"](10.0, 0.0, 0.25) == 7.5
    assert SCHEDULES["cosine"](10.0, 0.0, 0.25) == pytest.approx(10 * (1 + math.sqrt(0.5)) / 2)
    assert SCHEDULES["exponential"](16.0, 1.0, 0.25) == pytest.approx(8.0)
    assert SCHEDULES["constant"](10.0, 0.0, 0.25) == 10.0


def test_an_exponential_cannot_reach_zero():
    assert SCHEDULES["exponential"](2.0, 0.0, 1.0) == pytest.approx(2e-6)
    assert SCHEDULES["exponential"](2.0, 0.5, 1.0) == pytest.approx(0.5)


def test_a_wrong_name_gets_a_hint():
    with pytest.raises(UnknownNameError, match="no schedule called 'cosin'; did you mean 'cosine'"):
        SCHEDULES["cosin"]
