"""Cells of NAS-Bench-101: their integer keys, and the parameters and FLOPs of their networks.

The benchmark trained one cell of each isomorphism class. A cell is looked up under the keys of all vertex
orders in which its edges lead forwards: there are five inner vertices at most.

Costs follow Ying et al. 2019, section 2: a stem of 128 channels, three stacks of three cells on images of
32x32, between the stacks half the size and twice the channels, then global average pooling and a classifier.
A cell's output concatenates: its vertices share the channels, and those that feed others have as many as the
widest they feed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]

MOST_VERTICES, MOST_EDGES = 7, 9
"""Size of the largest cells of the benchmark."""
LABELS = ("conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3")
"""The ops of the benchmark in the order of their numbers."""
CHANNELS, SIDE, STACKS, CELLS, CLASSES = 128, 32, 3, 3, 10
KERNELS = (3, 1, 0)
"""Kernel size of each op of `LABELS`; 0 for pooling."""

Matrix = Sequence[Sequence[int]]
_EDGE_BITS = MOST_VERTICES * (MOST_VERTICES - 1) // 2


def cell_key(edges: Ints, ops: Ints) -> Ints:
    """One integer for the bits of a cell's edges and the code of its ops, element by element."""
    return ops << _EDGE_BITS | edges


def forward_orders(matrix: ArrayLike) -> Ints:
    """The orders [orders, vertices] in which all edges lead forwards, the first and last vertex fixed.

    Args:
        matrix: 1 where there is an edge from the row's to the column's vertex, else 0 [vertices, vertices].
    """
    edges = np.asarray(matrix, dtype=np.int64)
    orders = _vertex_orders(len(edges))
    backwards = np.tril(_reordered(edges, orders))
    forwards: Ints = orders[~backwards.any(axis=(1, 2))]
    return forwards


def edge_bits(matrix: ArrayLike, orders: Ints) -> Ints:
    """The bits of the edges [orders] in each of the orders: the edge from x to y is bit x + y (y - 1) / 2."""
    reordered = _reordered(np.asarray(matrix, dtype=np.int64), orders)
    bits: Ints = (reordered * _weights(orders.shape[1])).sum(axis=(1, 2))
    return bits


def ops_codes(labels: ArrayLike, orders: Ints) -> Ints:
    """The codes of the ops [..., orders] in each of the orders: their numbers in base 3 after a leading 1.

    Args:
        labels: The op of each inner vertex, an index into `LABELS` [..., vertices - 2].
        orders: What `forward_orders` gives [orders, vertices].
    """
    inner = orders.shape[1] - 2
    numbers = np.asarray(labels, dtype=np.int64)[..., orders[:, 1:-1] - 1]
    codes: Ints = numbers @ 3 ** np.arange(inner - 1, -1, -1) + 3**inner
    return codes


def matrix_of(edges: int, vertices: int) -> list[list[int]]:
    """The matrix whose edges have these bits."""
    weights = _weights(vertices).tolist()
    return [[int(weight & edges > 0) for weight in row] for row in weights]


def labels_of(ops: int) -> list[int]:
    """The op of each inner vertex, an index into `LABELS`, from the code of the ops."""
    return [int(digit) for digit in np.base_repr(ops, 3)[1:]]


@cache
def _vertex_orders(vertices: int) -> Ints:
    inner = permutations(range(1, vertices - 1))
    return np.array([(0, *order, vertices - 1) for order in inner], dtype=np.int64)


@cache
def _weights(vertices: int) -> Ints:
    """What each edge adds to the bits [vertices, vertices]; nothing on and below the diagonal."""
    source, target = np.indices((vertices, vertices))
    return np.where(source < target, 1 << source + target * (target - 1) // 2, 0)


def _reordered(matrix: Ints, orders: Ints) -> Ints:
    """The matrix [orders, vertices, vertices] with its vertices in each of the orders."""
    return matrix[orders[:, :, None], orders[:, None, :]]


@dataclass(frozen=True)
class Convolution:
    """A convolution of the network, without bias and followed by a batch-norm.

    Args:
        kernel: Kernel size.
        inputs: Input channels.
        outputs: Output channels.
        side: Height and width of the output.
    """

    kernel: int
    inputs: int
    outputs: int
    side: int

    @property
    def weights(self) -> int:
        """Number of kernel weights."""
        return self.kernel**2 * self.inputs * self.outputs


def count_parameters(matrix: Matrix, labels: Sequence[int]) -> int:
    """Number of trainable parameters of the network of a cell.

    Args:
        matrix: Adjacency matrix of the cell, without loose ends.
        labels: The op of each inner vertex, an index into `LABELS`.
    """
    convolution = sum(conv.weights + 2 * conv.outputs for conv in convolutions(matrix, labels))
    return convolution + ((CHANNELS << STACKS - 1) + 1) * CLASSES


def count_flops(matrix: Matrix, labels: Sequence[int]) -> int:
    """FLOPs of one image in the network of a cell, two per multiply-add; see `count_parameters`."""
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
