"""NAS-Bench-101: 423,624 cells trained on CIFAR-10 for 108 epochs (Ying et al. 2019).

FLOPs follow section 2 of the paper: a stem of 128 channels, three stacks of three cells on images of 32x32,
between the stacks half the size and twice the channels, then global average pooling and a classifier. A
cell's output concatenates: its vertices share the channels, and those that feed others have as many as the
widest they feed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dartboard.errors import TableError
from dartboard.space import NONE, Genotype, SearchSpace, get_space, prune_nb101, to_nb101
from dartboard.space.catalog import NB101_OPS, node_ops_cell, stacked
from dartboard.tables.base import TABLES, Ranking, Record, check_dataset
from dartboard.tables.nb101_import import read_tfrecord
from dartboard.tables.nb101_table import (
    LABELS,
    MOST_EDGES,
    MOST_VERTICES,
    Nb101Columns,
    cell_key,
    edge_bits,
    forward_orders,
    labels_of,
    matrix_of,
    ops_codes,
    read_table,
)

CHANNELS, SIDE, STACKS, CELLS, CLASSES = 128, 32, 3, 3, 10
KERNELS = (3, 1, 0)
"""Kernel size of each op of `LABELS`; 0 for pooling."""

Matrix = Sequence[Sequence[int]]


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
    datasets: tuple[str, ...] = ("cifar10",)

    def __init__(self, table: Nb101Columns) -> None:
        self.table = table
        self.space = nb101_space()
        self._ranking: Ranking | None = None

    def __len__(self) -> int:
        return len(self.table)

    def query(self, genotype: Genotype, dataset: str) -> Record:
        check_dataset(self, dataset)
        return self.record(self.row(genotype))

    def ranking(self, dataset: str) -> Ranking:
        check_dataset(self, dataset)
        if self._ranking is None:
            self._ranking = Ranking(self.table.columns["test_acc_108"].astype(np.float64))
        return self._ranking

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


def read_nb101(path: Path) -> Nb101Columns:
    """The table in an .npz file, or in one of the official .tfrecord files; reading those takes minutes."""
    return read_tfrecord(path) if path.suffix == ".tfrecord" else read_table(path)


@TABLES.register("nb101")
def load_nb101(path: Path) -> NasBench101:
    """NAS-Bench-101: 423,624 cells on CIFAR-10; test accuracy, parameters, FLOPs (Ying et al. 2019)."""
    return NasBench101(read_nb101(path))


@dataclass(frozen=True)
class Convolution:
    """A convolution without bias, followed by a batch-norm; `side` is the height and width of its output."""

    kernel: int
    inputs: int
    outputs: int
    side: int

    @property
    def weights(self) -> int:
        """Number of kernel weights."""
        return self.kernel**2 * self.inputs * self.outputs


def count_flops(matrix: Matrix, labels: Sequence[int]) -> int:
    """FLOPs of one image in the network of a cell without loose ends, two per multiply-add.

    `labels` has the op of each inner vertex, an index into `LABELS`.
    """
    multiply_adds = sum(conv.weights * conv.side**2 for conv in convolutions(matrix, labels))
    return 2 * (multiply_adds + (CHANNELS << STACKS - 1) * CLASSES)


def convolutions(matrix: Matrix, labels: Sequence[int]) -> Iterator[Convolution]:
    """All convolutions of the network of a cell, from the stem on."""
    yield Convolution(3, 3, CHANNELS, SIDE)
    inputs = CHANNELS
    for stack in range(STACKS):
        side, channels = SIDE >> stack, CHANNELS << stack
        for _ in range(CELLS):
            for vertex, width in enumerate(vertex_channels(matrix, channels), start=1):
                if matrix[0][vertex]:
                    yield Convolution(1, inputs, width, side)
                kernel = KERNELS[labels[vertex - 1]] if vertex <= len(labels) else 0
                if kernel:
                    yield Convolution(kernel, width, width, side)
            inputs = channels


def vertex_channels(matrix: Matrix, channels: int) -> list[int]:
    """Channels of every vertex after the input, the output's last.

    If they cannot be shared evenly, the first vertices get one channel more.
    """
    output = len(matrix) - 1
    sharing = [vertex for vertex in range(1, output) if matrix[vertex][output]]
    widths = {
        vertex: channels // len(sharing) + (index < channels % len(sharing))
        for index, vertex in enumerate(sharing)
    }
    for vertex in reversed(range(1, output)):
        if vertex not in widths:
            widths[vertex] = max(
                widths[later] for later in range(vertex + 1, output) if matrix[vertex][later]
            )
    return [*(widths[vertex] for vertex in range(1, output)), channels]
