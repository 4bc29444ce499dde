import pytest

from dartboard.errors import NetworkError
from dartboard.nn.edge_matching import match_edges
from dartboard.space import Cell, Edge


def test_edges_are_found_by_their_ends_and_ops():
    whole = Cell(1, 3, (Edge(0, 1, ("a", "b")), Edge(0, 2, ("a",)), Edge(1, 2, ("a", "b", "c"))), (2,))
    cell = Cell(1, 3, (Edge(1, 2, ("c", "a")), Edge(0, 1, ("b",))), (2,))
    assert match_edges(cell, whole) == (2, 0)
    assert match_edges(whole, whole) == (0, 1, 2)


def test_parallel_edges_keep_their_order():
    edges = (Edge(0, 1, ("a", "b")), Edge(0, 1, ("a", "b")), Edge(0, 1, ("c",)))
    whole = Cell(1, 2, edges, (1,))
    for ops, places in [
        (("a", "b"), (0, 1)),
        (("b", "c"), (0, 2)),
        (("b", "a", "c"), (0, 1, 2)),
        (("c",), (2,)),
    ]:
        cell = Cell(1, 2, tuple(Edge(0, 1, (op,)) for op in ops), (1,))
        assert match_edges(cell, whole) == places


def test_an_edge_that_the_supernet_lacks_is_refused():
    whole = Cell(1, 3, (Edge(0, 1, ("a",)), Edge(1, 2, ("a", "b"))), (2,))
    for edge, message in [
        (Edge(0, 2, ("a",)), "the supernet has no edge 0 -> 2 with a"),
        (Edge(1, 2, ("c",)), "the supernet has no edge 1 -> 2 with c"),
    ]:
        with pytest.raises(NetworkError, match=message):
            match_edges(Cell(1, 3, (edge,), (2,)), whole)
