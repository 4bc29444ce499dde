from random import Random

import pytest

from dartboard.space import PUBLISHED, SPACES, Cell, get_published, get_space, sample
from dartboard.space.graph import has_node_ops, live_edges, on_path
from dartboard.viz.cell_graph import FAMILY_COLORS, cell_graph, op_family, op_label


@pytest.mark.parametrize(
    ("op", "name"),
    [
        ("none", "none"),
        ("skip_connect", "skip"),
        ("max_pool_3x3", "pooling"),
        ("sep_conv_7x7", "separable"),
        ("dil_conv_5x5", "dilated"),
        ("nor_conv_1x1", "convolution"),
        ("conv_bn_relu_3x3", "convolution"),
        ("my_own", "other"),
    ],
)
def test_families(op: str, name: str) -> None:
    assert op_family(op) == name
    assert name in FAMILY_COLORS


def test_op_labels() -> None:
    assert [op_label(op) for op in ("skip_connect", "conv_7x1_1x7", "max_pool_3x3")] == [
        "skip",
        "conv 7\N{MULTIPLICATION SIGN}1 1\N{MULTIPLICATION SIGN}7",
        "max pool 3\N{MULTIPLICATION SIGN}3",
    ]


def test_op_labels_where_room_is_short() -> None:
    assert [op_label(op, short=True) for op in ("sep_conv_3x3", "avg_pool_3x3", "skip_connect")] == [
        "sep 3\N{MULTIPLICATION SIGN}3",
        "avg 3\N{MULTIPLICATION SIGN}3",
        "skip",
    ]


def check_graph(cell: Cell) -> None:
    """Every edge that is not `none` is drawn once, as a connection or as the ops of a vertex."""
    graph = cell_graph(cell)
    drawn = [link.edge for link in graph.connections] + [vertex.edge for vertex in graph.vertices]
    edges = [cell.edges[index] for index in drawn if index is not None]
    assert sorted(edges, key=str) == sorted(live_edges(cell), key=str)
    assert all(link.source < link.target < len(graph.vertices) for link in graph.connections)
    assert [vertex.external for vertex in graph.vertices].count(True) == cell.inputs + 1
    if not has_node_ops(cell):
        assert {node for node in cell.inner if graph.vertices[node].idle} == set(cell.inner) - on_path(cell)


@pytest.mark.parametrize("name", PUBLISHED)
def test_graphs_of_published_cells(name: str) -> None:
    for cell in get_published(name).cells.values():
        check_graph(cell)


@pytest.mark.parametrize("name", SPACES)
def test_graphs_of_spaces_and_their_samples(name: str) -> None:
    space = get_space(name)
    for cell in [*space.cells.values(), *sample(space, Random(0)).cells.values()]:
        check_graph(cell)
