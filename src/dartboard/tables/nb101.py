"""NAS-Bench-101: 423,624 cells trained on CIFAR-10 for 108 epochs (Ying et al. 2019)."""

from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from dartboard.errors import TableError
from dartboard.space import NONE, Genotype, SearchSpace, get_space, prune_nb101, to_nb101
from dartboard.space.catalog import NB101_OPS, node_ops_cell, stacked
from dartboard.tables.base import TABLES, Ranking, Record
from dartboard.tables.nb101_cells import (
    LABELS,
    MOST_EDGES,
    MOST_VERTICES,
    cell_key,
    count_flops,
    edge_bits,
    forward_orders,
    labels_of,
    matrix_of,
    ops_codes,
)
from dartboard.tables.nb101_file import Nb101Columns, read_table, read_tfrecord

DATASETS: tuple[str, ...] = ("cifar10",)


def nb101_space() -> SearchSpace:
    """All cells of seven vertices in the form of `catalog.node_ops_cell`; any edge may be left out."""
    cell = node_ops_cell(range(1, MOST_VERTICES), NB101_OPS)
    optional = (replace(edge, ops=(NONE, *edge.ops)) if edge.target % 2 else edge for edge in cell.edges)
    return stacked("nb101", replace(cell, edges=tuple(optional)), get_space("oneshot1").stack)


class NasBench101:
    """The benchmark as a table: all cells of at most seven vertices and nine edges.

    A genotype may have loose ends, which are pruned as the benchmark does, and any order of vertices.

    Args:
        table: The columns of the benchmark.
    """

    name = "nb101"
    datasets = DATASETS

    def __init__(self, table: Nb101Columns) -> None:
        self.table = table
        self.space = nb101_space()

    def __len__(self) -> int:
        return len(self.table)

    def query(self, genotype: Genotype, dataset: str) -> Record:
        check_dataset(self.name, dataset)
        return self.record(self.row(genotype))

    def ranking(self, dataset: str) -> Ranking:
        check_dataset(self.name, dataset)
        return self._ranking

    @cached_property
    def _ranking(self) -> Ranking:
        return Ranking(self.table.columns["test_acc_108"].astype(np.float64))

    def row(self, genotype: Genotype) -> int:
        """The row of the table that the genotype's cell, without loose ends, has in some order of vertices.

        Raises:
            GenotypeError: If the genotype does not have the form of this benchmark's cells.
            TableError: If the cell is too large for the benchmark, or not in the table.
        """
        cells = (
            (name, replace(cell, edges=tuple(edge for edge in cell.edges if edge.ops != (NONE,))))
            for name, cell in genotype.groups
        )
        matrix, ops = prune_nb101(*to_nb101(Genotype(tuple(cells))))
        edges = sum(map(sum, matrix))
        if len(ops) > MOST_VERTICES or edges > MOST_EDGES:
            raise TableError(
                f"without loose ends the cell has {len(ops)} vertices and {edges} edges; "
                f"NAS-Bench-101 has cells of at most {MOST_VERTICES} vertices and {MOST_EDGES} edges"
            )
        orders = forward_orders(matrix)
        labels = [LABELS.index(op) for op in ops[1:-1]]
        rows = self.table.find(cell_key(edge_bits(matrix, orders), ops_codes(labels, orders)))
        if rows.max() < 0:
            raise TableError(
                f"the table has no cell with the matrix {[list(row) for row in matrix]} "
                f"and the ops {', '.join(ops)}; one of NAS-Bench-101 has 423,624 rows, this has {len(self):,}"
            )
        return int(rows.max())

    def record(self, row: int) -> Record:
        """The record in a row of the table; FLOPs are counted from the network that the benchmark trained."""
        values = {name: column[row].item() for name, column in self.table.columns.items()}
        matrix, labels = matrix_of(values["adj_bits"], values["vertices"]), labels_of(values["ops_code"])
        flops = count_flops(matrix, labels)
        return Record(values.get("valid_acc_108"), values["test_acc_108"], values["params"], flops)


def check_dataset(name: str, dataset: str) -> None:
    """Raises a TableError unless the benchmark has the data set."""
    if dataset not in DATASETS:
        raise TableError(f"{name} knows nothing of data set {dataset!r}; it knows {', '.join(DATASETS)}")


def read_nb101(path: Path) -> Nb101Columns:
    """The table in an .npz file, or in one of the official .tfrecord files.

    RunReader those takes minutes; `write_table` in `nb101_file` saves what was read as an .npz file.
    """
    return read_tfrecord(path) if path.suffix == ".tfrecord" else read_table(path)


@TABLES.register("nb101")
def load_nb101(path: Path) -> NasBench101:
    """NAS-Bench-101: 423,624 cells on CIFAR-10; test accuracy, parameters, FLOPs (Ying et al. 2019)."""
    return NasBench101(read_nb101(path))
