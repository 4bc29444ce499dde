from collections import Counter, deque
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from dartboard.errors import SpaceError
from dartboard.space import (
    SPACES,
    Cell,
    Contest,
    Edge,
    Genotype,
    Stack,
    enumerate_genotypes,
    get_space,
    restrict,
    sample,
)
from dartboard.space.catalog import stacked
from dartboard.space.genotype import decisions, mutate


def changes(space, genotype, other) -> list[tuple[str, int]]:
    """Arch and position of every edge that two genotypes treat differently."""
    taken, left = decisions(space, genotype), decisions(space, other)
    return [
        (arch, edge)
        for arch, cell in space.groups
        for edge in range(len(cell.edges))
        if taken[arch].get(edge) != left[arch].get(edge)
    ]


def assert_one_decision(space, genotype, other):
    """One op is another one, or one edge of a contest has left its place to a rival."""
    found = changes(space, genotype, other)
    assert 1 <= len(found) <= 2
    if len(found) == 2:
        (arch, edge), (other_arch, rival) = found
        assert arch == other_arch
        contest = space.cells[arch].contest_of(edge)
        assert contest is not None
        assert rival in contest.edges
        kept = [decisions(space, own)[arch].keys() & {edge, rival} for own in (genotype, other)]
        assert [len(own) for own in kept] == [1, 1]
        assert kept[0] != kept[1]


@pytest.mark.parametrize("name", SPACES)
def test_one_decision_changes_and_the_genotype_stays_one_of_the_space(name):
    space, rng = get_space(name), Random(1)
    genotype = sample(space, rng)
    for _ in range(30):
        child = mutate(space, genotype, rng)
        restrict(space, child)
        assert child != genotype
        assert_one_decision(space, genotype, child)
        genotype = child


def kinds(space) -> int:
    """How many genotypes there are, the order of parallel edges apart."""
    return len({tuple(sorted(map(repr, own.cells["cell"].edges))) for own in enumerate_genotypes(space)})


@given(data=st.data(), seed=st.integers(0, 1000))
def test_any_space_that_has_two_architectures(small_spaces, data, seed):
    space, rng = data.draw(small_spaces), Random(seed)
    genotype = sample(space, rng)
    try:
        child = mutate(space, genotype, rng)
    except SpaceError:
        assert kinds(space) == 1
    else:
        restrict(space, child)
        assert child != genotype


def test_a_parallel_edge_with_the_same_op_is_no_other_choice():
    edges = tuple(Edge(0, 1, ops) for ops in (("skip_connect",), ("skip_connect",), ("nor_conv_1x1",)))
    cell = Cell(1, 2, edges, (1,), contests=(Contest((0, 1, 2), keep=1),))
    space, rng = stacked("parallel", cell, Stack(cells=1, reduce="pool", stages=1)), Random(0)
    skip, _, conv = enumerate_genotypes(space)
    assert {mutate(space, skip, rng) for _ in range(20)} == {conv}
    assert {mutate(space, conv, rng) for _ in range(20)} == {skip}


def reached(space, start, tries: int) -> set[Genotype]:
    """All that repeated mutation finds from a start."""
    rng, found, waiting = Random(0), {start}, deque([start])
    while waiting:
        genotype = waiting.popleft()
        new = {mutate(space, genotype, rng) for _ in range(tries)} - found
        found |= new
        waiting += new
    return found


def test_every_architecture_of_nano_is_reached():
    space = get_space("nano")
    known = set(enumerate_genotypes(space))
    assert reached(space, next(iter(known)), 60) == known
    assert len(known) == 216


def test_neighbors_are_equally_likely_where_all_edges_have_the_same_ops():
    """Three edges with five other ops each."""
    space, rng = get_space("nano"), Random(2)
    genotype = sample(space, rng)
    counts = Counter(mutate(space, genotype, rng) for _ in range(3000))
    assert len(counts) == 15
    assert chisquare(list(counts.values())).pvalue > 0.01


def test_both_kinds_of_mutation_happen_in_a_contest():
    space, rng = get_space("darts"), Random(3)
    genotype = sample(space, rng)
    counts = Counter(len(changes(space, genotype, mutate(space, genotype, rng))) for _ in range(200))
    assert set(counts) == {1, 2}


def test_an_edge_that_was_left_out_is_none_and_can_come_back():
    space = get_space("nano")
    cell = space.cells["cell"]
    whole = next(
        own for own in enumerate_genotypes(space) if all(e.ops == ("none",) for e in own.cells["cell"].edges)
    )
    bare = Genotype((("cell", type(cell)(1, 3, (), (2,))),))
    assert decisions(space, bare) == decisions(space, whole)
    assert len(changes(space, bare, mutate(space, bare, Random(0)))) == 1


def test_nothing_left_to_choose_is_an_error():
    space = get_space("nano")
    fixed = restrict(space, sample(space, Random(0)))
    with pytest.raises(SpaceError, match="'nano' has nothing left to choose"):
        mutate(fixed, Genotype(fixed.groups), Random(0))
