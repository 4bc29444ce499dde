from dartboard.cli.sketch import Vertex, Wire, sketch_cell
from dartboard.space import Cell, Contest, Edge, get_space


def test_parallel_edges_are_two_wires_in_order_of_source() -> None:
    edges = (Edge(1, 2, ("b",)), Edge(0, 2, ("a",)), Edge(1, 2, ("c",)))
    sketch = sketch_cell(Cell(2, 3, edges, output=(2,)))
    assert sketch.vertices == (
        Vertex("0", text="c(k-2)"),
        Vertex("1", text="c(k-1)"),
        Vertex("2", (Wire(0, "a"), Wire(1, "b"), Wire(1, "c")), output=True),
    )


def test_last_use_is_the_last_vertex_fed() -> None:
    edges = (Edge(0, 1, ("a",)), Edge(0, 2, ("a",)), Edge(1, 2, ("a",)), Edge(0, 3, ("a",)))
    assert sketch_cell(Cell(1, 4, edges, output=(2, 3))).last_use == (3, 2, -1, -1)


def test_node_and_op_are_one_vertex_where_ops_sit_on_nodes() -> None:
    sketch = sketch_cell(get_space("oneshot1").cells["cell"])
    assert [vertex.name for vertex in sketch.vertices] == ["0", "1", "2", "3", "4", "5"]
    assert [[wire.source for wire in vertex.wires] for vertex in sketch.vertices] == [
        list(range(vertex)) for vertex in range(6)
    ]
    assert sketch.vertices[3].text == "one of 3 ops, keeps 2 of 3"
    assert [vertex.output for vertex in sketch.vertices] == [False] * 5 + [True]


def test_a_contest_that_keeps_all_goes_without_saying() -> None:
    edges = (Edge(0, 1, ("a", "b")), Edge(0, 2, ("a", "b")), Edge(1, 2, ("a", "b")))
    all_kept = Cell(1, 3, edges, (2,), (Contest((1, 2), 2),))
    one_kept = Cell(1, 3, edges, (2,), (Contest((1, 2), 1),))
    assert sketch_cell(all_kept).vertices[2].text == ""
    assert sketch_cell(one_kept).vertices[2].text == "keeps 1 of 2"
