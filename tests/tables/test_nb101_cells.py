import numpy as np
import pytest

from dartboard.tables.nb101_cells import (
    LABELS,
    edge_bits,
    forward_orders,
    labels_of,
    matrix_of,
    ops_codes,
    spell,
)
from nb101_data import CELLS, SMALL


@pytest.mark.parametrize("row", range(len(CELLS)))
def test_bits_and_codes_are_those_of_the_table(row):
    matrix, ops = CELLS[row]
    as_it_is = np.arange(len(matrix))[None]
    labels = [LABELS.index(op) for op in ops[1:-1]]
    assert edge_bits(matrix, as_it_is) == SMALL["adj_bits"][row]
    assert ops_codes(labels, as_it_is) == SMALL["ops_code"][row]
    assert matrix_of(int(SMALL["adj_bits"][row]), len(matrix)) == matrix
    assert labels_of(int(SMALL["ops_code"][row])) == labels


def test_two_vertices_side_by_side_have_two_orders_and_a_chain_has_one():
    side_by_side, chain = CELLS[2][0], CELLS[3][0]
    assert forward_orders(side_by_side).tolist() == [[0, 1, 2, 3], [0, 2, 1, 3]]
    assert forward_orders(chain).tolist() == [[0, 1, 2, 3]]


def test_five_vertices_side_by_side_have_every_order():
    matrix = np.zeros((7, 7), dtype=int)
    matrix[0, 1:6] = matrix[1:6, 6] = 1
    orders = forward_orders(matrix)
    assert len({tuple(order) for order in orders.tolist()}) == len(orders) == 120
    assert len(set(edge_bits(matrix, orders).tolist())) == 1
    assert len(set(ops_codes([0, 0, 1, 1, 2], orders).tolist())) == 30


def test_an_order_takes_edges_and_ops_along():
    matrix = [[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    orders = np.array([[0, 2, 1, 3]])
    assert ops_codes([0, 2], orders).tolist() == [9 + 3 * 2 + 0]
    assert ops_codes([[0, 2], [1, 0]], orders).tolist() == [[15], [9 + 0 + 1]]
    assert edge_bits(matrix, orders) == 0b110011


def test_a_spelling_tells_edges_and_ops_apart():
    largest_edges, largest_ops = (1 << 21) - 1, 2 * 3**5 - 1
    assert spell(np.array([largest_edges]), np.array([1])) < spell(np.array([0]), np.array([2]))
    assert spell(np.array([largest_edges]), np.array([largest_ops])) == largest_ops * 2**21 + largest_edges
