from dataclasses import replace
from itertools import permutations, product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dartboard.analysis.variants import (
    check_connections,
    count_connection_variants,
    count_operation_variants,
    random_connections,
    random_operations,
    widest,
)
from dartboard.errors import GenotypeError, OptionError
from dartboard.space import NONE, PUBLISHED, Cell, Edge, Genotype, decode, depth, get_published, width
from dartboard.space.catalog import XNAS_OPS

OPS = ("skip_connect", "sep_conv_3x3", "max_pool_3x3")
NB201 = "|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|avg_pool_3x3~2|"
NB101 = '{"matrix": [[0, 1, 1], [0, 0, 1], [0, 0, 0]], "ops": ["input", "conv3x3-bn-relu", "output"]}'


@st.composite
def cells(draw: st.DrawFn, most: int = 3) -> Cell:
    """Cells with two inputs, one to three inner nodes with one or two ops each, and any of them as output."""
    inner = draw(st.integers(1, most))
    targets = [node for node in range(2, 2 + inner) for _ in range(draw(st.integers(1, 2)))]
    edges = [Edge(draw(st.integers(0, node - 1)), node, (draw(st.sampled_from(OPS)),)) for node in targets]
    output = draw(st.sets(st.integers(2, 1 + inner), min_size=1))
    return Cell(2, 2 + inner, tuple(edges), tuple(sorted(output)))


def whole(cell: Cell) -> Genotype:
    return Genotype((("normal", cell),))


def graph(cell: Cell) -> tuple[object, ...]:
    return tuple(sorted((edge.target, edge.source, edge.ops) for edge in cell.edges))


def all_connected(cell: Cell, *, repeats: bool = True) -> list[Cell]:
    """Every way to give sources to the edges of a cell, by brute force."""
    every = product(*(range(edge.target) for edge in cell.edges))
    found = [
        replace(cell, edges=tuple(replace(e, source=s) for e, s in zip(cell.edges, sources, strict=True)))
        for sources in every
    ]
    pairs = [[(edge.source, edge.target) for edge in one.edges] for one in found]
    return [one for one, own in zip(found, pairs, strict=True) if repeats or len(set(own)) == len(own)]


def ops_by_node(cell: Cell) -> list[tuple[int, str]]:
    return [(edge.target, edge.ops[0]) for edge in cell.edges]


def links(cell: Cell) -> list[tuple[int, int]]:
    return [(edge.source, edge.target) for edge in cell.edges]


@given(cell=cells(), repeats=st.booleans())
def test_different_variants_are_counted_as_they_are_listed(cell: Cell, repeats: bool) -> None:
    listed = {graph(one) for one in all_connected(cell, repeats=repeats)}
    assert count_connection_variants(cell, repeats=repeats) == len(listed)


@given(cell=cells(2))
def test_different_operations_are_counted_as_they_are_listed(cell: Cell) -> None:
    listed = {
        graph(
            replace(cell, edges=tuple(replace(e, ops=(op,)) for e, op in zip(cell.edges, ops, strict=True)))
        )
        for ops in product(OPS, repeat=len(cell.edges))
    }
    assert count_operation_variants(cell, len(OPS)) == len(listed)


@given(cell=cells(2), repeats=st.booleans())
def test_all_variants_are_found_when_all_are_asked_for(cell: Cell, repeats: bool) -> None:
    listed = {graph(one) for one in all_connected(cell, repeats=repeats)} - {graph(cell)}
    if listed:
        found = random_connections(whole(cell), len(listed), repeats=repeats)
        assert {graph(one.cells["normal"]) for one in found} == listed
    with pytest.raises(GenotypeError, match=f"there are {len(listed)} variants that differ"):
        random_connections(whole(cell), len(listed) + 1, repeats=repeats)


@given(name=st.sampled_from(list(PUBLISHED)), seed=st.integers(0, 10**6))
def test_connections_vary_and_ops_stay(name: str, seed: int) -> None:
    base = get_published(name)
    for variant in random_connections(base, 3, seed=seed):
        assert variant != base
        for arch, cell in variant.groups:
            assert ops_by_node(cell) == ops_by_node(base.cells[arch])
            assert cell.output == base.cells[arch].output
            assert all(edge.source < edge.target for edge in cell.edges)


@given(name=st.sampled_from(list(PUBLISHED)), seed=st.integers(0, 10**6))
def test_ops_vary_and_connections_stay(name: str, seed: int) -> None:
    base = get_published(name)
    for variant in random_operations(base, 3, seed=seed):
        assert variant != base
        for arch, cell in variant.groups:
            own = base.cells[arch]
            assert links(cell) == links(own)
            assert (width(cell), depth(cell)) == (width(own), depth(own))
            pairs = zip(cell.edges, own.edges, strict=True)
            assert all((e.ops[0] in XNAS_OPS) != (o.ops == e.ops == (NONE,)) for e, o in pairs)


@given(seed=st.integers(0, 10**6))
def test_the_same_seed_gives_the_same_and_fewer_are_the_first_of_more(seed: int) -> None:
    base = get_published("darts-v2")
    for draw in (random_connections, random_operations):
        more = draw(base, 5, seed=seed)
        assert draw(base, 5, seed=seed) == more
        assert draw(base, 2, seed=seed) == more[:2]
        assert draw(base, 5, seed=seed + 1) != more
        assert len(set(more)) == 5


@given(seed=st.integers(0, 10**6))
def test_without_repeats_every_node_reads_different_nodes(seed: int) -> None:
    for variant in random_connections(get_published("nasnet-a"), 3, seed=seed, repeats=False):
        for cell in variant.cells.values():
            assert len(set(links(cell))) == len(links(cell))


def test_with_repeats_a_node_may_read_a_node_twice() -> None:
    drawn = random_connections(get_published("darts-v2"), 20)
    assert any(len(set(links(cell))) < len(links(cell)) for one in drawn for cell in one.cells.values())


def test_sources_are_drawn_uniformly() -> None:
    """A node with one op and three nodes before it: each of the other two sources comes as often first."""
    cell = Cell(2, 4, (Edge(0, 2, ("skip_connect",)), Edge(0, 3, ("skip_connect",))), (3,))
    first = [random_connections(whole(cell), 1, seed=seed)[0].cells["normal"] for seed in range(600)]
    pairs = [(one.edges[0].source, one.edges[1].source) for one in first]
    assert set(pairs) == set(product(range(2), range(3))) - {(0, 0)}
    assert all(80 < pairs.count(pair) < 165 for pair in set(pairs))  # 120 are expected, give or take 10


@given(cell=cells())
def test_the_adaptation_is_the_widest_and_shallowest_of_all(cell: Cell) -> None:
    adapted = widest(whole(cell)).cells["normal"]
    every = all_connected(cell)
    assert width(adapted) == max(map(width, every)) == len(cell.inner)
    assert depth(adapted) == min(map(depth, every)) == 2
    assert ops_by_node(adapted) == ops_by_node(cell)


@given(cell=cells(), seed=st.integers(0, 99))
def test_width_and_depth_stay_within_what_the_nodes_allow(cell: Cell, seed: int) -> None:
    for variant in (
        random_connections(whole(cell), 1, seed=seed) if count_connection_variants(cell) > 1 else ()
    ):
        own = variant.cells["normal"]
        assert 1 <= width(own) <= len(own.inner)  # the first inner node has inputs alone before it
        assert 2 <= depth(own) <= len(own.inner) + 1
        assert (width(own) == len(own.inner)) == all(source < 2 for source, _ in links(own))


def test_the_adaptation_is_the_pattern_of_snas() -> None:
    assert widest(get_published("snas")).cells["normal"] != get_published("snas").cells["normal"]
    adapted = widest(get_published("darts-v2"))
    for cell in adapted.cells.values():
        assert links(cell) == [(place, node) for node in range(2, 6) for place in (0, 1)]
    assert set(links(get_published("snas").cells["normal"])) == set(links(adapted.cells["normal"]))


def test_one_arch_alone() -> None:
    base = get_published("darts-v2")
    for made in (
        random_connections(base, 1, groups=["normal"])[0],
        random_operations(base, 1, groups=["normal"])[0],
        widest(base, groups=["normal"]),
    ):
        assert made.cells["reduce"] == base.cells["reduce"]
        assert made.cells["normal"] != base.cells["normal"]
    with pytest.raises(GenotypeError, match="no cell 'cell'; it has normal, reduce"):
        widest(base, groups=["cell"])


def test_the_candidates_are_those_given() -> None:
    (made,) = random_operations(get_published("darts-v2"), 1, ops=("nor_conv_3x3",))
    assert {edge.ops[0] for cell in made.cells.values() for edge in cell.edges} == {"nor_conv_3x3"}
    with pytest.raises(GenotypeError, match="there are 1 variants"):
        random_operations(get_published("darts-v2"), 2, ops=("nor_conv_3x3",))


@pytest.mark.parametrize("ops", [("none", "skip_connect"), (), ("skip_connect", "skip_connect")])
def test_candidates_that_cannot_be(ops: tuple[str, ...]) -> None:
    with pytest.raises(OptionError):
        random_operations(get_published("darts-v2"), 1, ops=ops)


def test_ops_of_other_benchmarks_vary_where_they_are_ops() -> None:
    (made,) = random_operations(decode(NB201), 1, ops=("nor_conv_1x1",))
    assert [edge.ops[0] for edge in made.cells["cell"].edges].count("none") == 1
    base = decode(NB101).cells["cell"]
    (other,) = random_operations(decode(NB101), 1, ops=("max_pool_3x3",))
    changed = [e for e, o in zip(other.cells["cell"].edges, base.edges, strict=True) if e != o]
    assert [(edge.source, edge.target) for edge in changed] == [(1, 2)]


@pytest.mark.parametrize(("text", "form"), [(NB201, "1 input"), (NB101, "ops on its nodes")])
def test_cells_of_another_kind_have_no_random_connections(text: str, form: str) -> None:
    for work in (lambda cell: random_connections(cell, 1), widest):
        with pytest.raises(GenotypeError, match=f"this one has {form}"):
            work(decode(text))


def test_more_ops_than_nodes_to_read() -> None:
    edges = tuple(Edge(0, 2, (op,)) for op in OPS)
    with pytest.raises(GenotypeError, match="node 2: 3 ops cannot read different nodes of 2"):
        random_connections(whole(Cell(2, 3, edges, (2,))), 1, repeats=False)


@pytest.mark.parametrize("draw", [random_connections, random_operations])
def test_no_variant_is_no_answer(draw) -> None:
    with pytest.raises(OptionError, match="1 or more variants, not 0"):
        draw(get_published("darts-v2"), 0)


def test_counting_without_repeats_is_that_of_permutations() -> None:
    cell = get_published("darts-v2").cells["normal"]
    different = replace(cell, edges=tuple(replace(e, ops=(OPS[i % 2],)) for i, e in enumerate(cell.edges)))
    assert count_connection_variants(different, repeats=False) == prod(
        len(list(permutations(range(node), 2))) for node in range(2, 6)
    )


def test_nodes_that_concatenate_are_said_to_be_the_obstacle() -> None:
    cell = replace(get_published("darts-v2").cells["normal"], concat=(2,))
    with pytest.raises(GenotypeError, match="this one has nodes that concatenate"):
        check_connections("normal", cell)
