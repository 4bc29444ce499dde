"""The networks of a protocol: what searches found, and what is drawn."""

from collections import Counter
from random import Random

import pytest

from dartboard.space import enumerate_genotypes, get_space, restrict
from dartboard.space.graph import count
from dartboard.sweep.protocol.plan import ProtocolCell, distinct_cells, draw_genotypes


def test_equal_genotypes_are_one_network() -> None:
    a, b = {"cell": {"edges": [["x", 0, 1]]}}, {"cell": {"edges": [["y", 0, 1]]}}
    assert distinct_cells({3: b, 4: a, 5: b}) == [
        ProtocolCell("found-0", b, [3, 5]),
        ProtocolCell("found-1", a, [4]),
    ]


@pytest.mark.parametrize("wanted", [0, 1, 5, 200, 1000])
def test_networks_drawn_are_different_and_of_the_space(wanted: int) -> None:
    space = get_space("nano")
    found = draw_genotypes(space, wanted, Random(1))
    assert len(found) == len(set(found)) == min(wanted, count(space))
    for genotype in found:
        restrict(space, genotype)


def test_a_large_space_is_not_listed() -> None:
    found = draw_genotypes(get_space("darts"), 5, Random(1))
    assert len(set(found)) == 5


@pytest.mark.parametrize("wanted", [1, "half"])
def test_draws_are_uniform(wanted: int | str) -> None:
    space = get_space("nano").without("none").without("skip_connect")
    every = list(enumerate_genotypes(space))
    number = len(every) // 2 if wanted == "half" else 1
    rng, draws = Random(0), 20 * len(every) // number
    seen = Counter(genotype for _ in range(draws) for genotype in draw_genotypes(space, number, rng))
    assert len(seen) == len(every)
    spread = sum((seen[own] - 20) ** 2 / 20 for own in every)  # chi square, at most so for draws without
    assert spread < len(every) + 5 * (2 * len(every)) ** 0.5  # replacement


def test_the_seed_settles_what_is_drawn() -> None:
    space = get_space("nano")
    assert (
        draw_genotypes(space, 3, Random(1))
        == draw_genotypes(space, 3, Random(1))
        != draw_genotypes(space, 3, Random(2))
    )
