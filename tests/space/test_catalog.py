import pytest

from dartboard.errors import UnknownNameError
from dartboard.space import NONE, SPACES, get_space
from dartboard.space.catalog import dense_edges, keep_per_node, node_ops_cell


@pytest.mark.parametrize(
    ("name", "groups", "nodes", "edges", "ops"),
    [
        ("darts", 2, 6, 14, 8),
        ("xnas", 2, 6, 14, 7),
        ("s1", 2, 6, 8, 7),
        ("s1-dense", 2, 6, 14, 7),
        ("s2", 20, 6, 8, 2),
        ("asm", 15, 6, 14, 8),
        ("nb201", 1, 4, 6, 5),
        ("oneshot1", 1, 10, 19, 4),
        ("oneshot2", 1, 10, 19, 4),
        ("oneshot3", 1, 12, 26, 4),
        ("nano", 1, 3, 3, 6),
    ],
)
def test_sizes(name, groups, nodes, edges, ops):
    space = get_space(name)
    assert space.name == name
    assert len(space.groups) == groups
    assert {cell.nodes for _, cell in space.groups} == {nodes}
    assert {len(cell.edges) for _, cell in space.groups} == {edges}
    assert len(space.ops) == ops


def test_every_space_is_listed_above_and_says_what_it_is():
    listed = {mark.args[1][index][0] for mark in test_sizes.pytestmark for index in range(len(mark.args[1]))}
    assert listed == set(SPACES)
    assert all(make.__doc__ for make in SPACES.values())


def test_a_wrong_name_gets_a_hint():
    with pytest.raises(UnknownNameError, match="no space called 'dart'; did you mean 'darts'"):
        get_space("dart")


def test_darts_keeps_two_edges_a_node_and_xnas_has_no_none():
    darts, xnas = get_space("darts").cells["normal"], get_space("xnas").cells["normal"]
    assert [contest.keep for contest in darts.contests] == [2, 2, 2, 2]
    assert [len(contest.edges) for contest in darts.contests] == [2, 3, 4, 5]
    assert NONE in darts.edges[0].ops
    assert NONE not in xnas.edges[0].ops
    assert xnas.project
    assert not darts.project


def test_s1_takes_the_first_input_and_the_node_before():
    edges = get_space("s1").cells["normal"].edges
    assert [(edge.source, edge.target) for edge in edges] == [
        (0, 2), (1, 2), (0, 3), (2, 3), (0, 4), (3, 4), (0, 5), (4, 5),
    ]  # fmt: skip


def test_dense_edges_come_by_target_then_source():
    edges = dense_edges(4, ("a",), first=2)
    assert [(edge.source, edge.target) for edge in edges] == [(0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]


def test_a_node_with_fewer_edges_than_places_keeps_them_all():
    contests = keep_per_node(dense_edges(3, ("a",), first=1), 2)
    assert [(contest.edges, contest.keep) for contest in contests] == [((0,), 1), ((1, 2), 2)]


def test_node_ops_are_joins_followed_by_one_edge_with_the_candidates():
    cell = node_ops_cell((1, 1, 2), ("a", "b"))
    assert [(edge.source, edge.target, len(edge.ops)) for edge in cell.edges] == [
        (0, 1, 1), (1, 2, 2), (0, 3, 1), (2, 3, 1), (3, 4, 2), (0, 5, 1), (2, 5, 1), (4, 5, 1),
    ]  # fmt: skip
    assert [(contest.edges, contest.keep) for contest in cell.contests] == [((2, 3), 1), ((5, 6, 7), 2)]
    assert all(contest.weighted for contest in cell.contests)
    assert cell.output == cell.concat == (5,)
