import pytest

from dartboard.errors import SpaceError
from dartboard.space import NONE, Cell, Contest, Edge, SearchSpace, Slot, Stack, get_space
from dartboard.space.spec import MAX_NODES


def cell(*edges: Edge, contests: tuple[Contest, ...] = (), **others: object) -> Cell:
    arguments = {"inputs": 2, "nodes": 5, "output": (4,)} | others
    return Cell(edges=edges, contests=contests, **arguments)  # type: ignore[arg-type]


def edge(source: int, target: int, *ops: str) -> Edge:
    return Edge(source, target, ops or ("skip_connect",))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Edge(0, 1, ()), "edge 0 -> 1 has no op"),
        (lambda: Edge(0, 1, ("a", "a")), "edge 0 -> 1 names an op twice: a, a"),
        (lambda: Edge(0, 1, ("a", "")), "edge 0 -> 1 has an op without a name"),
        (lambda: Contest((0, 1), 3), "between 2 edges cannot keep 3; keep 1 to 2"),
        (lambda: Contest((0, 1), 0), "cannot keep 0"),
        (lambda: cell(inputs=3), "1 or 2 inputs, not 3"),
        (lambda: cell(edge(0, 5)), "edge 0 -> 5 leaves the cell: nodes are 0 to 4"),
        (lambda: cell(edge(0, 1)), "edge 0 -> 1 enters an input"),
        (lambda: cell(output=()), "at least one output node"),
        (lambda: cell(output=(1,)), "output node 1 is not an inner one; those are 2 to 4"),
        (lambda: cell(output=(2, 2)), "output lists a node twice"),
        (lambda: cell(concat=(5,)), "concat node 5 is not an inner one"),
        (lambda: cell(joins=(1,)), "joins node 1 is not an inner one"),
        (lambda: cell(edge(2, 3), edge(3, 4), edge(4, 2)), "cycle: 2 -> 3 -> 4 -> 2; a cell is acyclic"),
        (lambda: cell(edge(2, 2)), "cycle: 2 -> 2"),
        (lambda: cell(edge(3, 2)), "edge 3 -> 2 runs backwards; number the nodes"),
        (lambda: cell(edge(0, 2), contests=(Contest((1,), 1),)), "names edge 1; edges are 0 to 0"),
        (lambda: cell(edge(0, 2), contests=(Contest((0,), 1),) * 2), "edge 0 -> 2 is in two contests"),
        (lambda: cell(edge(0, 2), edge(0, 3), contests=(Contest((0, 1), 1),)), r"spans nodes \[2, 3\]"),
        (
            lambda: cell(edge(0, 2, NONE), edge(1, 2), contests=(Contest((0, 1), 2),)),
            "contest at node 2 keeps 2 edges, but 1 of them can be more than 'none'",
        ),
        (lambda: Stack(cells=0), "cells >= 1, not 0"),
        (lambda: Stack(cells=2), "2 cells cannot make 3 stages"),
        (lambda: Stack(cells=8, reduce="pol"), "'cell', 'residual' or 'pool', not 'pol'"),  # type: ignore[arg-type]
        (
            lambda: SearchSpace("x", (("normal", cell()),), Stack(cells=8)),
            "space 'x' reads the cells normal, reduce, but it has normal",
        ),
    ],
)
def test_impossible_data_is_refused_with_the_reason(make, message):
    with pytest.raises(SpaceError, match=message):
        make()


def test_a_long_cycle_is_found_without_deep_recursion():
    chain = [edge(node, node + 1) for node in range(2, MAX_NODES - 1)]
    with pytest.raises(SpaceError, match="cycle"):
        cell(*chain, edge(MAX_NODES - 1, 2), nodes=MAX_NODES, output=(MAX_NODES - 1,))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: cell(edge(0, 2), nodes=MAX_NODES + 1), "nodes of a cell can be at most 200, not 201"),
        (lambda: cell(*[edge(0, 2)] * 20_001), "edges of a cell can be at most 20,000, not 20,001"),
        (lambda: Stack(cells=10**30), "cells of a stack can be at most 10,000, not far more"),
        (lambda: Stack(cells=100, stages=21), "stages of a stack can be at most 20, not 21"),
    ],
)
def test_sizes_have_limits(make, said):
    with pytest.raises(SpaceError, match=said):
        make()


def test_reductions_stand_at_a_third_and_two_thirds():
    slots = Stack(cells=8).slots()
    assert [slot.group for slot in slots if slot.stride == 2] == ["reduce", "reduce"]
    assert [index for index, slot in enumerate(slots) if slot.stride == 2] == [2, 5]
    assert [slot.width for slot in slots] == [1, 1, 2, 2, 2, 4, 4, 4]


def test_plain_stages_have_blocks_between_them():
    slots = Stack(cells=2, reduce="residual").slots()
    assert [slot.group for slot in slots] == ["cell", "cell", "", "cell", "cell", "", "cell", "cell"]
    assert slots[2] == Slot("", stride=2, width=2)


def test_unshared_cells_have_archs_of_their_own():
    assert [slot.group for slot in Stack(cells=3, shared=False).slots()] == ["cell00", "cell01", "cell02"]
    plain = Stack(cells=1, reduce="pool", shared=False).slots()
    assert [slot.group for slot in plain] == ["cell00", "", "cell01", "", "cell02"]


def test_spaces_are_values():
    assert get_space("darts") == get_space("darts")
    assert len({get_space("darts"), get_space("darts"), get_space("xnas")}) == 2


def test_without_takes_an_op_from_every_edge():
    space = get_space("nb201").without(NONE)
    assert NONE not in space.ops
    assert len(space.cells["cell"].edges) == 6
    with pytest.raises(SpaceError, match="has no op 'nune' to leave out; it has none, skip_connect"):
        get_space("nb201").without("nune")


def test_resized_repeats_shared_cells_only():
    assert get_space("darts").resized(20).stack.cells == 20
    with pytest.raises(SpaceError, match="share nothing; it cannot have 8"):
        get_space("s2").resized(8)


def test_discrete_means_one_op_an_edge_and_no_contest():
    assert not get_space("darts").discrete
    assert cell(edge(0, 2)).discrete
    assert not cell(edge(0, 2, "a", "b")).discrete
    assert not cell(edge(0, 2), contests=(Contest((0,), 1),)).discrete


def test_edges_know_their_contest():
    darts = get_space("darts").cells["normal"]
    assert darts.entering(3) == (2, 3, 4)
    assert darts.contest_of(3) == darts.contests[1] == Contest((2, 3, 4), 2)
    assert get_space("nb201").cells["cell"].contest_of(0) is None
