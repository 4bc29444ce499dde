from random import Random

import pytest

from dartboard.errors import OptionError
from dartboard.space import Cell, Edge, decode, get_published, get_space, sample
from dartboard.viz.cell_diagram import FAMILIES, PAPER, PLAIN, Line, family, plan_cell, words

NB201 = "|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|avg_pool_3x3~2|"


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
    assert family(op) == name
    assert name in FAMILIES


def test_words() -> None:
    assert [words(op) for op in ("skip_connect", "conv_7x1_1x7", "max_pool_3x3")] == [
        "skip",
        "conv 7\N{MULTIPLICATION SIGN}1 1\N{MULTIPLICATION SIGN}7",
        "max pool 3\N{MULTIPLICATION SIGN}3",
    ]


def test_a_cell_of_darts() -> None:
    cell = get_published("darts-v2").cells["normal"]
    vertices, lines = plan_cell(cell)
    assert [vertex.text for vertex in vertices] == ["$c_{k-2}$", "$c_{k-1}$", "2", "3", "4", "5", "$c_k$"]
    assert [(line.source, line.target) for line in lines[:8]] == [(e.source, e.target) for e in cell.edges]
    assert [line.text for line in lines[:8]] == [words(edge.ops[0]) for edge in cell.edges]
    assert lines[8:] == [Line(node, 6) for node in (2, 3, 4, 5)]


def test_a_node_that_leads_nowhere_is_idle_and_none_is_not_drawn() -> None:
    vertices, lines = plan_cell(decode(NB201).cells["cell"])
    assert [vertex.text for vertex in vertices] == ["in", "1", "2", "out"]
    assert len(lines) == 5
    cell = get_published("amoebanet-a").cells["normal"]
    edges = tuple(Edge(edge.source % 2, edge.target, edge.ops) for edge in cell.edges)
    vertices, _ = plan_cell(Cell(2, 7, edges, cell.output))
    assert [vertex.text for vertex in vertices if vertex.idle] == ["2", "3"]


def test_ops_on_nodes() -> None:
    space = get_space("oneshot1")
    cell = sample(space, Random(1)).cells["cell"]
    vertices, lines = plan_cell(cell)
    assert [vertex.text for vertex in vertices[1:-1]] == [
        words(edge.ops[0]) for edge in cell.edges if edge.target % 2 == 0
    ]
    assert all(line.text == "" and line.strands == ((PLAIN, None),) for line in lines)
    vertices, _ = plan_cell(space.cells["cell"])
    assert [(vertex.text, vertex.face) for vertex in vertices[1:-1]] == [("3 ops", PAPER)] * 4


def test_candidates_are_counted_where_they_differ() -> None:
    _, lines = plan_cell(get_space("darts").cells["normal"])
    assert {line.text for line in lines} == {""}
    edges = (Edge(0, 2, ("skip_connect", "none")), Edge(1, 2, ("skip_connect", "max_pool_3x3", "none")))
    _, lines = plan_cell(Cell(2, 3, edges, (2,)))
    assert [line.text for line in lines] == ["2 ops", "3 ops"]


def test_weights_become_strands_and_the_strongest_is_named() -> None:
    edges = (Edge(0, 2, ("skip_connect", "max_pool_3x3")), Edge(1, 2, ("sep_conv_3x3",)))
    _, lines = plan_cell(Cell(2, 3, edges, (2,)), [[0.3, 0.7], [1.0]])
    assert lines[0].text == words("max_pool_3x3")
    assert lines[0].strands == ((FAMILIES["skip"], 0.3), (FAMILIES["pooling"], 0.7))
    space = get_space("oneshot1").cells["cell"]
    weights = [[0.1] * (len(edge.ops) - 1) + [0.8] for edge in space.edges]
    vertices, lines = plan_cell(space, weights)
    assert [vertex.text for vertex in vertices[1:-1]] == [words("max_pool_3x3")] * 4
    assert {line.strands for line in lines} == {((PLAIN, 0.8),)}


def test_weights_must_be_those_of_the_ops() -> None:
    with pytest.raises(OptionError, match=r"expected weights for \[1, 1, .*\] ops, got \[1\]"):
        plan_cell(get_published("darts-v2").cells["normal"], [[1.0]])
