from pathlib import Path
from random import Random

import networkx as nx
import numpy as np
import pytest

from dartboard.errors import GenotypeError, TableError
from dartboard.space import (
    Genotype,
    count,
    from_nb101,
    get_published,
    get_space,
    prune_nb101,
    restrict,
    sample,
    to_nb101,
)
from dartboard.tables import TABLES, Table
from dartboard.tables.nb101 import NasBench101, count_flops, nb101_space
from dartboard.tables.nb101_table import LABELS, Nb101Columns, forward_orders, labels_of, matrix_of
from helpers.nb101_data import C1, C3, CELLS, MP, SMALL, folder


@pytest.fixture
def small(tmp_path: Path) -> Table:
    np.savez(tmp_path / "small.npz", **SMALL)
    return TABLES["nb101"](tmp_path / "small.npz")


@pytest.fixture(scope="module")
def whole() -> NasBench101:
    return TABLES["nb101"](folder() / "nb101.npz")


def stored(oracle: NasBench101, row: int) -> tuple[list[list[int]], list[str]]:
    own = {name: column[row].item() for name, column in oracle.table.columns.items()}
    ops = [LABELS[label] for label in labels_of(own["ops_code"])]
    return matrix_of(own["adj_bits"], own["vertices"]), ["input", *ops, "output"]


def graph(matrix, ops) -> nx.DiGraph:
    made = nx.DiGraph(np.asarray(matrix))
    nx.set_node_attributes(made, dict(enumerate(ops)), "op")
    return made


def same(one, other) -> bool:
    return nx.is_isomorphic(graph(*one), graph(*other), node_match=lambda a, b: a == b)


@pytest.mark.parametrize("row", range(len(CELLS)))
def test_a_cell_has_what_its_row_says(small, row):
    record = small.query(from_nb101(*CELLS[row]), "cifar10")
    assert (record.valid, record.test, record.parameters) == (None, SMALL["test_acc_108"][row], row + 1)
    assert record.flops == count_flops(CELLS[row][0], labels_of(int(SMALL["ops_code"][row])))


def test_validation_accuracies_are_told_where_the_table_has_them():
    oracle = NasBench101(Nb101Columns({**SMALL, "valid_acc_108": np.array([0.5, 0.25, 0.125, 0.75])}))
    assert oracle.query(from_nb101(*CELLS[2]), "cifar10").valid == 0.125


def test_the_order_of_vertices_and_loose_ends_do_not_matter(small):
    matrix = [  # the third cell: its two ops in another order, and one that leads nowhere
        [0, 1, 1, 1, 1],
        [0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0],
    ]
    assert small.query(from_nb101(matrix, ["input", C3, MP, C1, "output"]), "cifar10").parameters == 3


def test_an_edge_that_is_none_is_an_edge_that_is_not_there(small):
    cells = restrict(nb101_space(), widened(CELLS[1])).groups
    assert any(edge.ops == ("none",) for edge in cells[0][1].edges)
    assert small.query(Genotype(cells), "cifar10").parameters == 2


def widened(cell) -> Genotype:
    """The cell with as many vertices as the space has, the further ones not connected."""
    matrix, ops = cell
    more = 7 - len(ops)
    inner = [[*row[:-1], *[0] * more, row[-1]] for row in matrix[:-1]]
    return from_nb101([*inner, *[[0] * 7] * (more + 1)], [*ops[:-1], *[MP] * more, ops[-1]])


def test_the_space_has_every_cell_of_seven_vertices():
    space = nb101_space()
    assert (space.name, count(space)) == ("nb101", 2**21 * 3**5)
    assert restrict(space, sample(get_space("oneshot3"), Random(3))).discrete


def test_a_cell_that_is_not_in_the_table_is_named(small):
    absent = from_nb101(CELLS[1][0], ["input", C3, "output"])
    with pytest.raises(
        TableError, match=r"matrix \[\[0, 1, 0\], .* ops input, conv3x3-bn-relu, output; .* 4"
    ):
        small.query(absent, "cifar10")


@pytest.mark.parametrize(("vertices", "edges"), [(8, 7), (6, 15)])
def test_a_cell_that_is_too_large_is_refused(small, vertices, edges):
    matrix = (
        np.eye(vertices, k=1, dtype=int) if edges < vertices else np.triu(np.ones((vertices, vertices)), 1)
    )
    genotype = from_nb101(matrix.astype(int), ["input", *[C3] * (vertices - 2), "output"])
    with pytest.raises(
        TableError, match=f"has {vertices} vertices and {edges} edges; .* at most 7 .* 9 edges"
    ):
        small.query(genotype, "cifar10")


def test_cells_of_other_spaces_are_refused(small):
    with pytest.raises(GenotypeError, match="one 'cell'; the genotype has normal, reduce"):
        small.query(get_published("darts-v2"), "cifar10")


@pytest.mark.parametrize("ask", ["query", "ranking"])
def test_other_data_sets_are_refused(small, ask):
    arguments = (from_nb101(*CELLS[0]), "cifar100") if ask == "query" else ("cifar100",)
    with pytest.raises(TableError, match="nb101 knows nothing of data set 'cifar100'; it knows cifar10"):
        getattr(small, ask)(*arguments)


def test_where_cells_stand(small):
    assert (len(small), small.name, small.datasets) == (4, "nb101", ("cifar10",))
    ranking = small.ranking("cifar10")
    assert (len(ranking), ranking.best, ranking.standing(0.5).rank) == (4, 0.875, 3)


def test_facts_of_the_benchmark(whole):
    assert len(whole) == 423_624
    ranking = whole.ranking("cifar10")
    assert round(100 * ranking.best, 2) == 94.32
    best = int(whole.table.columns["test_acc_108"].argmax())
    record = whole.query(from_nb101(*stored(whole, best)), "cifar10")
    assert ranking.standing(record.test).rank == 1
    assert ranking.standing(record.test).regret == 0


def test_a_row_is_found_whatever_the_order_of_its_vertices(whole):
    rng = Random(0)
    for _ in range(300):
        row = rng.randrange(len(whole))
        matrix, ops = stored(whole, row)
        order = rng.choice(forward_orders(matrix).tolist())
        moved = np.array(matrix)[np.ix_(order, order)]
        assert whole.row(from_nb101(moved, [ops[vertex] for vertex in order])) == row


def test_what_is_found_is_the_same_graph(whole):
    rng = Random(1)
    for name in ("oneshot1", "oneshot2", "oneshot3"):
        for _ in range(50):
            genotype = sample(get_space(name), rng)
            found = stored(whole, whole.row(genotype))
            assert same(found, prune_nb101(*to_nb101(genotype)))
            other = [C1 if op == C3 else op for op in found[1]]
            assert other == found[1] or not same((found[0], other), prune_nb101(*to_nb101(genotype)))


@pytest.mark.slow
def test_no_cell_has_two_rows(whole):
    for row in range(len(whole)):
        assert whole.row(from_nb101(*stored(whole, row))) == row
