import pytest
from hypothesis import given
from hypothesis import strategies as st

from dartboard.space import (
    NONE,
    Cell,
    Edge,
    SearchSpace,
    count,
    count_cell,
    depth,
    enumerate_genotypes,
    from_nb101,
    get_published,
    get_space,
    mean_source,
    on_path,
    reachable,
    sample,
    width,
)
from dartboard.space.graph import count_kept, has_node_ops


def make(*pairs: tuple[int, int], nodes: int = 6, output: tuple[int, ...] = (5,), dead: tuple[int, ...] = ()):
    """A cell with two inputs; the edges at the positions `dead` carry `none`."""
    edges = tuple(
        Edge(source, target, (NONE if index in dead else "skip_connect",))
        for index, (source, target) in enumerate(pairs)
    )
    return Cell(2, nodes, edges, output)


@pytest.mark.parametrize(
    ("name", "wide", "deep"),
    [("nasnet-a", 5, 2), ("amoebanet-a", 4, 4), ("enas", 5, 2), ("darts-v2", 3.5, 3), ("snas", 4, 2)],
)
def test_width_and_depth_are_those_of_understanding_cells_figure_1(name, wide, deep):
    cell = get_published(name).cells["normal"]
    assert (width(cell), depth(cell)) == (wide, deep)


# Table 4 of XNAS has 0.625 for SNAS and 0.5 for PNAS; the cells as published give what stands here.
@pytest.mark.parametrize(
    ("name", "mean"),
    [
        ("snas", 0.5),
        ("pnas", 1.0),
        ("amoebanet-a", 0.9),
        ("nasnet-a", 0.4),
        ("darts-v2", 0.625),
        ("asap", 0.875),
        ("xnas", 1.375),
    ],
)
def test_mean_source_is_that_of_xnas_table_4(name, mean):
    assert mean_source(get_published(name).cells["normal"]) == pytest.approx(mean)


def test_a_none_edge_is_no_edge():
    pairs = ((0, 2), (1, 2), (2, 3), (0, 3), (3, 5))
    with_none, without = make(*pairs, dead=(2,)), make(*pairs[:2], *pairs[3:])
    assert width(with_none) == width(without) == 2
    assert depth(with_none) == depth(without) == 3
    assert mean_source(with_none) == mean_source(without) == 1
    assert depth(make(*pairs)) == 4


def test_parallel_edges_count_one_by_one():
    assert width(make((0, 2), (0, 2), (0, 3), (2, 3), (2, 3), output=(3,))) == pytest.approx(4 / 3)


def test_a_cell_without_live_edges_has_no_extent():
    empty = make((0, 5), dead=(0,))
    assert (width(empty), depth(empty), mean_source(empty)) == (0, 0, 0)
    assert reachable(empty) == {0, 1}
    assert on_path(empty) == set()


def test_depth_starts_at_an_input():
    assert depth(make((2, 3), (3, 4), (0, 4), output=(4,))) == 2  # 2 and 3 hang in the air


def test_paths():
    cell = make((0, 2), (2, 3), (4, 5), (2, 5), output=(5,))
    assert reachable(cell) == {0, 1, 2, 3, 5}
    assert on_path(cell) == {0, 2, 5}


@given(data=st.data())
def test_paths_agree_with_searching_them(small_spaces, data):
    cell = data.draw(small_spaces).cells["cell"]
    live = [(edge.source, edge.target) for edge in cell.edges if edge.ops != (NONE,)]

    def paths(node):
        yield [node]
        for source, target in live:
            if source == node:
                yield from ([node, *rest] for rest in paths(target))

    every = list(paths(0))
    through = [path for path in every if path[-1] in cell.output]
    assert reachable(cell) == {path[-1] for path in every}
    assert on_path(cell) == {node for path in through for node in path}
    assert depth(cell) == max(map(len, through), default=0)


def test_node_ops_are_seen_as_the_benchmark_draws_them():
    chain = from_nb101(
        [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]],
        ["input", "maxpool3x3", "conv3x3-bn-relu", "output"],
    ).cells["cell"]
    assert (width(chain), depth(chain), mean_source(chain)) == (1, 3, 0.5)
    fork = from_nb101(
        [[0, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]],
        ["input", "maxpool3x3", "conv3x3-bn-relu", "output"],
    ).cells["cell"]
    assert (width(fork), depth(fork), mean_source(fork)) == (2, 2, 0)


def test_only_node_ops_cells_have_node_ops(rng):
    assert has_node_ops(sample(get_space("oneshot3"), rng).cells["cell"])
    assert has_node_ops(get_space("oneshot1").cells["cell"])
    assert not has_node_ops(get_space("nb201").cells["cell"])
    assert not has_node_ops(get_published("darts-v2").cells["normal"])
    assert not has_node_ops(Cell(1, 3, (Edge(0, 1, ("skip_connect",)),), (2,), joins=(1,)))
    broken = (*get_space("oneshot1").cells["cell"].edges[:-3], Edge(3, 9, ("skip_connect",)))
    assert not has_node_ops(Cell(1, 10, broken, (9,), joins=(1, 3, 5, 7, 9), concat=(9,)))


@pytest.mark.parametrize(
    ("name", "architectures"),
    [
        ("darts", 1_037_664_180**2),
        ("xnas", 1_037_664_180**2),
        ("s1", 7**16),
        ("s1-dense", 7**28),
        ("s2", 2**160),
        ("asm", 8 ** (14 * 15)),
        ("nb201", 15_625),
        ("oneshot1", 14_580),
        ("oneshot2", 29_160),
        ("oneshot3", 1_312_200),
        ("nano", 216),
    ],
)
def test_counts(name, architectures):
    assert count(get_space(name)) == architectures


def test_counts_of_parts():
    assert count_cell(get_space("darts").cells["normal"]) == 1_037_664_180
    assert count(get_space("nb201").without(NONE)) == 4**6
    assert f"{count(get_space('s1')):.1e} {count(get_space('s2')):.1e}" == "3.3e+13 1.5e+48"
    assert count_kept([2, 3, 5], 2) == 2 * 3 + 2 * 5 + 3 * 5


@given(data=st.data())
def test_counting_is_listing(small_spaces, data):
    space: SearchSpace = data.draw(small_spaces)
    assert count(space) == sum(1 for _ in enumerate_genotypes(space))


@pytest.mark.parametrize("name", ["nano", "nb201", "oneshot1"])
def test_counting_is_listing_distinct_architectures(name):
    space = get_space(name)
    assert len(set(enumerate_genotypes(space))) == count(space)
