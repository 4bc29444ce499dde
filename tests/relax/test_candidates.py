import pytest

from dartboard.errors import RelaxationError
from dartboard.relax.candidates import Candidates, edge_groups, group_mask, group_places, op_mask
from dartboard.space import Cell, Edge, get_space


def cell_of(name: str, arch: str = "cell") -> Cell:
    return get_space(name).cells[arch]


def test_edges_with_fewer_candidates_are_padded(ragged):
    mask = op_mask(ragged.cells["cell"])
    assert mask.sum(-1).tolist() == [3, 1, 2, 2, 1, 3]
    assert mask[2].tolist() == [True, True, False]


def test_only_weighted_contests_have_edge_weights_unless_asked(ragged):
    assert edge_groups(ragged.cells["cell"], every_node=False) == []
    assert edge_groups(ragged.cells["cell"], every_node=True) == [(3, 4, 5), (1, 2)]


def test_contests_of_darts_are_its_nodes():
    groups = edge_groups(cell_of("darts", "normal"), every_node=True)
    assert groups == [(0, 1), (2, 3, 4), (5, 6, 7, 8), (9, 10, 11, 12, 13)]


def test_plain_connections_into_joins_are_left_alone():
    cell = cell_of("oneshot1")
    weighted = [contest.edges for contest in cell.contests]
    assert edge_groups(cell, every_node=False) == edge_groups(cell, every_node=True) == weighted


def test_every_edge_finds_its_place_in_the_table(ragged):
    groups = edge_groups(ragged.cells["cell"], every_node=True)
    assert group_mask(groups).tolist() == [[True, True, True], [True, True, False]]
    assert group_places(ragged.cells["cell"], groups).tolist() == [6, 3, 4, 0, 1, 2]


def test_a_chain_has_nothing_to_tell_apart():
    chain = Cell(1, 3, (Edge(0, 1, ("none", "skip_connect")), Edge(1, 2, ("skip_connect",))), (2,))
    assert edge_groups(chain, every_node=True) == []


def test_a_candidate_dies_in_mask_and_tuple(ragged):
    candidates = Candidates(ragged.cells["cell"])
    candidates.kill(0, 1)
    assert candidates.live == ((0, 2), (0,), (0, 1), (0, 1), (0,), (0, 1, 2))
    assert candidates.mask[0].tolist() == [True, False, True]


def test_a_load_brings_back_who_is_alive(ragged):
    candidates, other = Candidates(ragged.cells["cell"]), Candidates(ragged.cells["cell"])
    candidates.kill(5, 0)
    other.kill(0, 1)
    other.load_state_dict(candidates.state_dict())
    assert other.live == candidates.live


@pytest.mark.parametrize(
    ("edge", "place", "message"),
    [
        (1, 0, "candidate 0 is the last of edge 1"),
        (2, 2, "no candidate 2 on edge 2; there are 0, 1"),
        (2, -1, "no candidate -1 on edge 2"),
        (6, 0, "no candidate 0 on edge 6; there are those of edges 0 to 5"),
        (-1, 0, "no candidate 0 on edge -1"),
    ],
)
def test_what_cannot_die(ragged, edge, place, message):
    candidates = Candidates(ragged.cells["cell"])
    with pytest.raises(RelaxationError, match=message):
        candidates.kill(edge, place)
