"""NAS-Bench-1Shot1: the cells of NAS-Bench-101 that a one-shot search can find (Zela et al. 2020).

Each of the three spaces keeps a fixed number of parents a vertex, so many of its genotypes have loose ends.
Without them, several genotypes come to one cell; the cells that a space can come to are its architectures.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations, product
from pathlib import Path

import numpy as np

from dartboard.errors import GenotypeError
from dartboard.space import Cell, Genotype, get_space, prune_nb101, restrict
from dartboard.tables.base import TABLES, Ranking, Record
from dartboard.tables.nb101 import NasBench101, check_dataset, read_nb101
from dartboard.tables.nb101_cells import (
    LABELS,
    Ints,
    cell_key,
    edge_bits,
    forward_orders,
    matrix_of,
    ops_codes,
)
from dartboard.tables.nb101_file import Nb101Columns

Shape = tuple[int, int]
"""A cell without its ops: how many vertices it has and its edges' bits, in the order where they are least."""


class NasBench1Shot1:
    """One of the spaces as an oracle.

    Args:
        name: Of the space.
        table: The columns of NAS-Bench-101.
    """

    datasets = NasBench101.datasets

    def __init__(self, name: str, table: Nb101Columns) -> None:
        self.name = name
        self.space = get_space(name)
        self._whole = NasBench101(table)

    def __len__(self) -> int:
        return len(self._reached[0])

    def query(self, genotype: Genotype, dataset: str) -> Record:
        check_dataset(self.name, dataset)
        return self._whole.record(self.row(genotype))

    def ranking(self, dataset: str) -> Ranking:
        check_dataset(self.name, dataset)
        return self._ranking

    def row(self, genotype: Genotype) -> int:
        """The row of NAS-Bench-101's table that the genotype, without loose ends, comes to."""
        try:
            restrict(self.space, genotype)
        except GenotypeError as error:
            raise GenotypeError(f"{error}; nb101 knows cells of NAS-Bench-101 in any form") from None
        return self._whole.row(genotype)

    def rows(self) -> Ints:
        """The rows of the table that the space can come to [architectures], in order."""
        return self._reached[0]

    def encodings(self) -> Ints:
        """How many genotypes of the space come to each of `rows` [architectures]."""
        return self._reached[1]

    @cached_property
    def _ranking(self) -> Ranking:
        return Ranking(self._whole.table.columns["test_acc_108"][self.rows()].astype(np.float64))

    @cached_property
    def _reached(self) -> tuple[Ints, Ints]:
        [(_, cell)] = self.space.archs
        often = np.zeros(len(self._whole), dtype=np.int64)
        for shape, encodings in _shapes(cell).items():
            rows = _rows(self._whole.table, shape)
            np.add.at(often, rows[rows >= 0], encodings)
        (rows,) = np.nonzero(often)
        return rows, often[rows]


def _rows(table: Nb101Columns, shape: Shape) -> Ints:
    """The row of the shape with each choice of ops [3 ** inner vertices], -1 where there is none."""
    vertices, edges = shape
    matrix = matrix_of(edges, vertices)
    orders = forward_orders(matrix)
    labels = np.array(list(product(range(len(LABELS)), repeat=vertices - 2)), dtype=np.int64)
    rows: Ints = table.find(cell_key(edge_bits(matrix, orders), ops_codes(labels, orders))).max(axis=1)
    return rows


def _shapes(cell: Cell) -> Counter[Shape]:
    """Every shape that a space's cell can come to, with how many genotypes do for each choice of its ops."""
    pruned = Counter(prune_nb101(matrix, _some_ops(len(matrix)))[0] for matrix in _matrices(cell))
    shapes: Counter[Shape] = Counter()
    for matrix, often in pruned.items():
        loose = cell.nodes // 2 + 1 - len(matrix)
        bits = edge_bits(matrix, forward_orders(matrix)).min()
        shapes[len(matrix), int(bits)] += often * len(LABELS) ** loose
    return shapes


def _some_ops(vertices: int) -> Sequence[str]:
    return ("input", *LABELS[:1] * (vertices - 2), "output")


def _matrices(cell: Cell) -> Iterator[list[list[int]]]:
    """The matrix of every choice of parents in a cell in the form of `catalog.node_ops_cell`."""
    for parents in product(*_parents(cell)):
        columns = [(), *parents]
        yield [[int(source in column) for column in columns] for source in range(len(columns))]


def _parents(cell: Cell) -> Iterator[list[tuple[int, ...]]]:
    """The vertices that each vertex after the input can have for parents, as many as it keeps."""
    keep = {cell.edges[contest.edges[0]].target: contest.keep for contest in cell.contests}
    for join in cell.joins:
        sources = [edge.source // 2 for edge in cell.edges if edge.target == join]
        yield list(combinations(sources, keep.get(join, len(sources))))


@TABLES.register("oneshot1")
def load_oneshot1(path: Path) -> NasBench1Shot1:
    """NAS-Bench-1Shot1, space 1: 2,685 cells of NAS-Bench-101's table (Zela et al. 2020)."""
    return NasBench1Shot1("oneshot1", read_nb101(path))


@TABLES.register("oneshot2")
def load_oneshot2(path: Path) -> NasBench1Shot1:
    """NAS-Bench-1Shot1, space 2: 7,773 cells of NAS-Bench-101's table."""
    return NasBench1Shot1("oneshot2", read_nb101(path))


@TABLES.register("oneshot3")
def load_oneshot3(path: Path) -> NasBench1Shot1:
    """NAS-Bench-1Shot1, space 3: 55,854 cells of NAS-Bench-101's table."""
    return NasBench1Shot1("oneshot3", read_nb101(path))
