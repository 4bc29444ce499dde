from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dartboard.errors import GenotypeError
from dartboard.space import (
    NONE,
    PUBLISHED,
    SPACES,
    Cell,
    Contest,
    Edge,
    Genotype,
    SearchSpace,
    Stack,
    adopt,
    enumerate_genotypes,
    get_published,
    get_space,
    restrict,
    sample,
)

STACK = Stack(cells=1, reduce="pool", stages=1)


def genotype(*edges: tuple[str, int, int], output: tuple[int, ...] = (3,), nodes: int = 4) -> Genotype:
    cell = Cell(1, nodes, tuple(Edge(source, target, (op,)) for op, source, target in edges), output)
    return Genotype((("cell", cell),))


def space(*edges: Edge, contests: tuple[Contest, ...] = ()) -> SearchSpace:
    return SearchSpace("tiny", (("cell", Cell(1, 4, edges, (3,), contests)),), STACK)


def test_a_genotype_is_discrete():
    undecided = get_space("nb201").cells["cell"]
    with pytest.raises(GenotypeError, match="cell, edge 0 -> 1: expected one op, got 5"):
        Genotype((("cell", undecided),))
    contested = Cell(1, 2, (Edge(0, 1, ("a",)),), (1,), (Contest((0,), 1),))
    with pytest.raises(GenotypeError, match="x: the contest at node 1 is not decided"):
        Genotype((("x", contested),))
    with pytest.raises(GenotypeError, match="at least one cell"):
        Genotype(())
    cell = replace(contested, contests=())
    with pytest.raises(GenotypeError, match="names a cell twice: x, x"):
        Genotype((("x", cell), ("x", cell)))


def test_equal_choices_are_equal_genotypes_whatever_the_space_adds():
    plain = genotype(("a", 0, 3))
    decorated = replace(plain.cells["cell"], adapt=False, project=True)
    assert Genotype((("cell", decorated),)) == plain
    assert hash(Genotype((("cell", decorated),))) == hash(plain)


@pytest.mark.parametrize("name", SPACES)
def test_a_sample_restricts_its_space_to_itself(name, rng):
    whole = get_space(name)
    for _ in range(5):
        chosen = sample(whole, rng)
        restricted = restrict(whole, chosen)
        assert restricted.discrete
        assert restricted.name == name
        assert restricted.stack == whole.stack
        assert Genotype(restricted.groups) == chosen
        for arch, cell in restricted.groups:
            flags = (cell.adapt, cell.project, cell.concat, cell.output)
            own = whole.cells[arch]
            assert flags == (own.adapt, own.project, own.concat, own.output)


@given(data=st.data())
def test_every_listed_genotype_restricts_its_space(small_spaces, data):
    whole = data.draw(small_spaces)
    for chosen in islice(enumerate_genotypes(whole), 50):
        assert count_ops(restrict(whole, chosen)) == count_ops(chosen)


def count_ops(cells: SearchSpace | Genotype) -> Counter:
    return Counter(edge for _, cell in cells.groups for edge in cell.edges)


def test_restricted_edges_come_in_the_order_of_the_space():
    darts = get_space("darts")
    v1 = get_published("darts-v1")
    sources = [(edge.target, edge.source) for edge in restrict(darts, v1).cells["normal"].edges]
    assert sources == sorted(sources)
    assert sources != [(edge.target, edge.source) for edge in v1.cells["normal"].edges]
    assert restrict(darts, get_published("snas")) == restrict(darts, get_published("snas-mild"))


def test_an_absent_edge_is_none_where_none_is_a_candidate():
    nb201 = get_space("nb201")
    ops = [("nor_conv_3x3", 0, 1), ("skip_connect", 1, 3)]
    nones = [(NONE, 0, 2), (NONE, 1, 2), (NONE, 0, 3), (NONE, 2, 3)]
    short, full = restrict(nb201, genotype(*ops)), restrict(nb201, genotype(*ops, *nones))
    assert short == full
    assert len(short.cells["cell"].edges) == 6
    with pytest.raises(
        GenotypeError, match=r"cell, edge 0 -> 2: expected one of skip_connect, .* is missing"
    ):
        restrict(nb201.without(NONE), genotype(*ops))


def test_parallel_edges_are_told_apart_by_their_candidates():
    tiny = space(Edge(0, 3, ("a", "b")), Edge(0, 3, ("a",)), Edge(0, 3, (NONE, "c")))
    for order in [("a", "b"), ("b", "a")]:
        cell = restrict(tiny, genotype(*((op, 0, 3) for op in order))).cells["cell"]
        assert [edge.ops for edge in cell.edges] == [("b",), ("a",), (NONE,)]


def test_parallel_edges_outside_contests_come_first():
    edges = (Edge(0, 3, ("a",)), Edge(0, 3, ("a",)), Edge(1, 3, ("a",)))
    tiny = space(*edges, contests=(Contest((0, 2), 1),))
    assert len(restrict(tiny, genotype(("a", 0, 3), ("a", 1, 3))).cells["cell"].edges) == 2


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("z", 0, 1)], "cell, edge 0 -> 1: expected one of none, a, b; got z"),
        ([("a", 0, 1), ("b", 0, 1)], r"cell, edge 0 -> 1: expected at most 1 edge, got 2 \(a, b\)"),
        ([("a", 1, 2)], "cell, edge 1 -> 2: the space has no such edge"),
        ([("a", 0, 3)], "cell, node 3: expected 2 of the edges 0 -> 3, 1 -> 3, 2 -> 3; got 1"),
        ([("a", 0, 3), ("a", 1, 3), ("a", 2, 3)], "cell, node 3: expected 2 of .*; got 3"),
        ([("a", 0, 3), (NONE, 1, 3)], "cell, edge 1 -> 3: an edge that wins a place cannot be 'none'"),
    ],
)
def test_a_genotype_of_another_space_is_refused_with_the_place(edges, message):
    ops = (NONE, "a", "b")
    tiny = space(
        *(Edge(*pair, ops) for pair in [(0, 1), (0, 3), (1, 3), (2, 3)]), contests=(Contest((1, 2, 3), 2),)
    )
    assert restrict(tiny, genotype(("a", 0, 3), ("b", 2, 3))).discrete
    with pytest.raises(GenotypeError, match=message):
        restrict(tiny, genotype(*edges))


def test_output_archs_and_inputs_must_agree(rng):
    tiny = space(Edge(0, 3, (NONE, "a")))
    with pytest.raises(GenotypeError, match=r"cell: expected the output nodes \[3\], got \[2\]"):
        restrict(tiny, genotype(("a", 0, 3), output=(2,)))
    for fit in (restrict, adopt):
        with pytest.raises(
            GenotypeError, match="'tiny' expects the cells cell; the genotype has normal, reduce"
        ):
            fit(tiny, get_published("darts-v2"))
        pair = Genotype(tuple((name, genotype(("a", 0, 3)).cells["cell"]) for name in ("normal", "reduce")))
        with pytest.raises(
            GenotypeError, match=r"normal: space 'darts' expects a cell with 2 inputs.* has 1"
        ):
            fit(get_space("darts"), pair)
        with pytest.raises(GenotypeError, match=r"cell00, .* and 14 more; the genotype has cell"):
            fit(get_space("s2"), sample(get_space("nano"), rng))


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_cells_can_be_adopted(name):
    chosen = get_published(name)
    adopted = adopt(get_space("xnas"), chosen)
    assert adopted.discrete
    assert adopted.stack == get_space("xnas").stack
    assert all(cell.project and cell.adapt for _, cell in adopted.groups)
    assert Genotype(adopted.groups) == chosen


def test_adopted_cells_keep_their_concat_and_lose_their_flags(rng):
    adopted = adopt(get_space("nb201"), sample(get_space("oneshot1"), rng)).cells["cell"]
    assert adopted.concat == (9,)
    assert adopted.joins == (1, 3, 5, 7, 9)
    assert not adopted.adapt


def test_samples_are_uniform_over_architectures(rng):
    """Unequal candidates in one contest: sets of edges are not equally likely, architectures are."""
    edges = (
        Edge(0, 3, (NONE, "a")),
        Edge(1, 3, ("a", "b", "c")),
        Edge(2, 3, ("a", "b")),
        Edge(0, 1, (NONE, "a")),
    )
    tiny = space(*edges, contests=(Contest((0, 1, 2), 2),))
    every = list(enumerate_genotypes(tiny))
    assert len(every) == len(set(every)) == (3 + 2 + 6) * 2
    draws = 4400
    seen = Counter(sample(tiny, rng) for _ in range(draws))
    assert set(seen) == set(every)
    expected = draws / len(every)
    chi_square = sum((seen[one] - expected) ** 2 / expected for one in every)
    assert chi_square < 46.8  # 21 degrees of freedom, one in a thousand


def test_listing_a_huge_space_starts_at_once():
    first, second = islice(enumerate_genotypes(get_space("asm")), 2)
    assert first != second
    assert len(first.groups) == 15
