"""NAS-Bench-1Shot1: the cells of NAS-Bench-101 that a one-shot search can find (Zela et al. 2020).

Each of the three spaces keeps a fixed number of parents per vertex, so many of its genotypes have loose ends.
Without them, several genotypes reduce to one cell; the cells that a space reduces to are its architectures.
"""

from collections import Counter
from functools import cached_property
from itertools import combinations, product
from pathlib import Path

import numpy as np

from dartboard.errors import GenotypeError
from dartboard.space import Cell, Genotype, get_space, prune_nb101, restrict
from dartboard.tables.base import TABLES, Ranking, Record, check_dataset
from dartboard.tables.nb101 import NasBench101, read_nb101
from dartboard.tables.nb101_table import (
    LABELS,
    Ints,
    Nb101Columns,
    cell_key,
    edge_bits,
    forward_orders,
    matrix_of,
    ops_codes,
)

Shape = tuple[int, int]
"""A cell without its ops: number of vertices, and the smallest bits of its edges over all vertex orders."""


class NasBench1Shot1:
    """One of the spaces as a table.

    Args:
        name: Name of the space.
        table: The columns of NAS-Bench-101.
    """

    datasets = NasBench101.datasets

    def __init__(self, name: str, table: Nb101Columns) -> None:
        self.name = name
        self.space = get_space(name)
        self._nb101 = NasBench101(table)
        self._ranking: Ranking | None = None

    def __len__(self) -> int:
        return len(self._rows_and_encodings[0])

    def query(self, genotype: Genotype, dataset: str) -> Record:
        check_dataset(self, dataset)
        return self._nb101.record(self.row(genotype))

    def ranking(self, dataset: str) -> Ranking:
        check_dataset(self, dataset)
        if self._ranking is None:
            tests = self._nb101.table.columns["test_acc_108"][self.rows()]
            self._ranking = Ranking(tests.astype(np.float64))
        return self._ranking

    def row(self, genotype: Genotype) -> int:
        """Row of the genotype, without loose ends, in NAS-Bench-101's table."""
        try:
            restrict(self.space, genotype)
        except GenotypeError as error:
            raise GenotypeError(f"{error}; nb101 knows cells of NAS-Bench-101 in any form") from None
        return self._nb101.row(genotype)

    def rows(self) -> Ints:
        """Rows of the architectures of the space in NAS-Bench-101's table [architectures], sorted."""
        return self._rows_and_encodings[0]

    def encodings(self) -> Ints:
        """Number of genotypes of the space for each of `rows` [architectures]."""
        return self._rows_and_encodings[1]

    @cached_property
    def _rows_and_encodings(self) -> tuple[Ints, Ints]:
        [(_, cell)] = self.space.groups
        counts = np.zeros(len(self._nb101), dtype=np.int64)
        for (vertices, edges), encodings in _count_shapes(cell).items():
            matrix = matrix_of(edges, vertices)
            orders = forward_orders(matrix)
            labels = np.array(list(product(range(len(LABELS)), repeat=vertices - 2)), dtype=np.int64)
            keys = cell_key(edge_bits(matrix, orders), ops_codes(labels, orders))
            rows = self._nb101.table.find(keys).max(axis=1)  # [3 ** inner vertices], -1 where there is none
            np.add.at(counts, rows[rows >= 0], encodings)
        (rows,) = np.nonzero(counts)
        return rows, counts[rows]


def _count_shapes(cell: Cell) -> Counter[Shape]:
    """Number of genotypes, for each choice of ops, of every shape that a space's cell can have.

    The cell has the form of `catalog.node_ops_cell`.
    """
    keep = {cell.edges[contest.edges[0]].target: contest.keep for contest in cell.contests}
    choices = []
    for join in cell.joins:
        sources = [edge.source // 2 for edge in cell.edges if edge.target == join]
        choices.append(list(combinations(sources, keep.get(join, len(sources)))))
    pruned: Counter[tuple[tuple[int, ...], ...]] = Counter()
    for parents in product(*choices):
        columns = [(), *parents]
        matrix = [[int(source in column) for column in columns] for source in range(len(columns))]
        ops = ("input", *LABELS[:1] * (len(matrix) - 2), "output")  # any will do
        pruned[prune_nb101(matrix, ops)[0]] += 1
    shapes: Counter[Shape] = Counter()
    for pruned_matrix, count in pruned.items():
        loose = cell.nodes // 2 + 1 - len(pruned_matrix)
        bits = edge_bits(pruned_matrix, forward_orders(pruned_matrix)).min()
        shapes[len(pruned_matrix), int(bits)] += count * len(LABELS) ** loose
    return shapes


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
