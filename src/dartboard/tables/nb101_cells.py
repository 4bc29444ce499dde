"""Cells of NAS-Bench-101 as whole numbers, one for each order that a cell's vertices can be written in.

The benchmark trained one cell of each kind, whatever the order of its vertices. A cell is looked up by
trying the orders in which its edges lead forwards: the inner vertices are five at most.
"""

from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]

MOST_VERTICES, MOST_EDGES = 7, 9
"""The benchmark's cells are no larger."""
LABELS = ("conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3")
"""The ops of the benchmark in the order of their numbers."""
_EDGE_BITS = MOST_VERTICES * (MOST_VERTICES - 1) // 2


def spell(edges: Ints, ops: Ints) -> Ints:
    """One number for the bits of a cell's edges and the code of its ops, element by element."""
    return ops << _EDGE_BITS | edges


def forward_orders(matrix: ArrayLike) -> Ints:
    """The orders [orders, vertices] in which all edges lead forwards, first and last vertex in their places.

    Args:
        matrix: 1 where there is an edge from the row's to the column's vertex, else 0 [vertices, vertices].
    """
    edges = np.asarray(matrix, dtype=np.int64)
    orders = _orders(len(edges))
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
        labels: The op of each inner vertex, a place in `LABELS` [..., vertices - 2].
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
    """The op of each inner vertex, a place in `LABELS`, from the code of the ops."""
    return [int(digit) for digit in np.base_repr(ops, 3)[1:]]


@cache
def _orders(vertices: int) -> Ints:
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
