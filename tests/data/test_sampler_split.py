from collections import Counter
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dartboard.data import split
from dartboard.errors import DataError

LABELS = st.lists(st.integers(-3, 6), max_size=60).map(lambda labels: torch.tensor(labels, dtype=torch.int64))
SHARES = st.one_of(st.floats(0, 1), st.sampled_from([0, 1, 0.1, 0.25, 0.5, 0.9, 1 / 3]))
SEEDS = st.integers(0, 2**70)


@given(LABELS, SHARES, SEEDS)
def test_parts_are_sorted_disjoint_and_complete(labels: torch.Tensor, share: float, seed: int) -> None:
    rest, chosen = (part.tolist() for part in split(labels, share, seed))
    assert rest == sorted(rest)
    assert chosen == sorted(chosen)
    assert sorted(rest + chosen) == list(range(len(labels)))


@given(LABELS, SHARES, SEEDS)
def test_every_class_gives_its_share(labels: torch.Tensor, share: float, seed: int) -> None:
    _, chosen = split(labels, share, seed)
    exact = Fraction(share).limit_denominator(10**9)
    given_, there = Counter(labels[chosen].tolist()), Counter(labels.tolist())
    assert len(chosen) == round(exact * len(labels))
    assert all(abs(given_[c] - exact * count) < 1 for c, count in there.items())


@given(LABELS, SHARES, SEEDS)
def test_rounding_up_goes_to_the_largest_remainders(labels: torch.Tensor, share: float, seed: int) -> None:
    _, chosen = split(labels, share, seed)
    exact = Fraction(share).limit_denominator(10**9)
    given_, there = Counter(labels[chosen].tolist()), Counter(labels.tolist())
    remainders: dict[bool, list[Fraction]] = {True: [], False: []}
    for c, count in there.items():
        want = exact * count
        remainders[given_[c] > want].append(want - int(want))
    assert min(remainders[True], default=1) >= max(remainders[False], default=0)


def test_shares_mean_what_is_written() -> None:
    labels = torch.arange(10).repeat(100)  # 0.29 * 100 is stored as 28.999...
    assert labels[split(labels, 0.29, 0)[1]].bincount().tolist() == [29] * 10


def test_chance_decides_between_equal_remainders() -> None:
    labels = torch.tensor([0] * 3 + [1] * 13)  # a tenth is 0.3 and 1.3
    shares = {tuple(labels[split(labels, 0.1, seed)[1]].tolist()) for seed in range(30)}
    assert shares == {(0, 1), (1, 1)}


def test_nothing_and_everything_can_be_chosen() -> None:
    labels = torch.tensor([0, 1, 1])
    assert [part.tolist() for part in split(labels, 0, 0)] == [[0, 1, 2], []]
    assert [part.tolist() for part in split(labels, 1, 0)] == [[], [0, 1, 2]]
    assert [part.tolist() for part in split(labels[:0], 0.5, 0)] == [[], []]


def test_the_seed_settles_it_and_the_global_state_is_left_alone() -> None:
    labels = torch.arange(5).repeat(40)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = split(labels, 0.5, 3)[1]
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(split(labels, 0.5, 3)[1], first)
    assert not torch.equal(split(labels, 0.5, 4)[1], first)


def test_the_draw_does_not_change_unnoticed() -> None:
    assert split(torch.arange(3).repeat(6), 1 / 3, 0)[1].tolist() == [7, 9, 11, 12, 14, 16]


def test_every_example_is_chosen_as_often_as_any_other() -> None:
    labels = torch.tensor([0] * 4 + [1] * 3 + [2] * 3)
    counts = torch.zeros(10)
    for seed in range(2000):
        counts[split(labels, 0.5, seed)[1]] += 1
    assert (counts / 2000 - 0.5).abs().max() < 0.05  # 4.5 deviations


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
def test_shares_beyond_the_whole_are_refused(share: float) -> None:
    with pytest.raises(DataError, match=f"share must be a number from 0 to 1, got {share}"):
        split(torch.zeros(3), share, 0)
