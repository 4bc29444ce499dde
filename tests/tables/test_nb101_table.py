import zipfile
from pathlib import Path

import numpy as np
import pytest

from dartboard.errors import TableError
from dartboard.tables.nb101_table import (
    LABELS,
    Nb101Columns,
    cell_key,
    edge_bits,
    forward_orders,
    labels_of,
    matrix_of,
    ops_codes,
    read_table,
    write_table,
)
from helpers.nb101_data import CELLS, SMALL

VALID = {"valid_acc_108": np.array([0.1, 0.2, 0.3, 0.4])}


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
    assert cell_key(np.array([largest_edges]), np.array([1])) < cell_key(np.array([0]), np.array([2]))
    assert cell_key(np.array([largest_edges]), np.array([largest_ops])) == largest_ops * 2**21 + largest_edges


def changed(**columns: object) -> dict[str, np.ndarray]:
    return {**SMALL, **{name: np.asarray(column) for name, column in columns.items()}}


def test_every_row_is_found_and_nothing_else():
    table = Nb101Columns(SMALL)
    spelt = cell_key(SMALL["adj_bits"], SMALL["ops_code"])
    assert table.find(spelt).tolist() == [0, 1, 2, 3]
    assert table.find(spelt.reshape(2, 2)).tolist() == [[0, 1], [2, 3]]
    assert table.find(np.array([0, spelt.max() + 1, spelt.min() + 1])).tolist() == [-1, -1, -1]


@pytest.mark.parametrize("columns", [SMALL, {**SMALL, **VALID}])
def test_a_table_comes_back_as_it_was_written(tmp_path, columns):
    write_table(tmp_path / "table.npz", Nb101Columns(columns))
    read = read_table(tmp_path / "table.npz").columns
    assert read.keys() == columns.keys()
    assert all(np.array_equal(read[name], columns[name].astype(read[name].dtype)) for name in columns)
    assert [path.name for path in tmp_path.iterdir()] == ["table.npz"]


def test_other_arrays_in_the_file_are_left_alone(tmp_path):
    np.savez(tmp_path / "table.npz", **SMALL, note=np.array([None]))
    assert len(read_table(tmp_path / "table.npz")) == 4


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {name: SMALL[name] for name in SMALL if name != "params"},
            "has no column params; it needs vertices",
        ),
        (changed(params=[1, 2, 3]), r"column params is int64 of shape \[3\]; .* whole numbers, as many"),
        (changed(params=[1.0, 2, 3, 4]), "column params is float64"),
        (changed(params=[1, 2, -3, 4]), "column params, row 2: expected whole numbers, got -3"),
        (
            changed(adj_bits=[1, 5, 2**33, 55]),
            "column adj_bits, row 2: expected whole numbers, got 8589934592",
        ),
        (changed(test_acc_108=[50, 25, 75, 87]), "column test_acc_108 is int64 .* shares from 0 to 1"),
        (changed(test_acc_108=[0.5, 25.0, 0, 0]), "column test_acc_108, row 1: expected shares .*, got 25.0"),
        (changed(valid_acc_108=[0.5, 0, 0, np.nan]), "column valid_acc_108, row 3: expected .*, got nan"),
        (changed(vertices=[2, 8, 4, 4]), "column vertices, row 1: expected from 2 to 7, got 8"),
        (changed(vertices=[1, 3, 4, 4]), "column vertices, row 0: expected from 2 to 7, got 1"),
        (changed(adj_bits=[1, 8, 59, 55]), "column adj_bits, row 1: expected edges between .*, got 8"),
        (changed(ops_code=[1, 6, 12, 11]), "column ops_code, row 1: expected one op for each .*, got 6"),
        (changed(ops_code=[1, 2, 12, 11]), "column ops_code, row 1: expected one op for each .*, got 2"),
        (changed(adj_bits=[1, 5, 59, 59], ops_code=[1, 5, 12, 12]), "row [23] is there twice"),
        ({name: column[:0] for name, column in SMALL.items()}, r"column vertices is int64 of shape \[0\]"),
        (changed(vertices=[[2, 3, 4, 4]]), r"column vertices is int64 of shape \[1, 4\]"),
    ],
)
def test_columns_that_cannot_be_are_refused(tmp_path, columns, message):
    np.savez(tmp_path / "table.npz", **columns)
    with pytest.raises(TableError, match=f"table.npz: {message}"):
        read_table(tmp_path / "table.npz")


def test_nothing_is_unpickled(tmp_path):
    np.savez(tmp_path / "table.npz", **changed(params=np.array([1, 2, 3, None], dtype=object)))
    with pytest.raises(TableError, match=r"column params cannot be read \(Object arrays cannot be loaded"):
        read_table(tmp_path / "table.npz")


@pytest.mark.parametrize("shape", ["(", "(9999999999999999999,)", "(4611686018427387904, 4)", "(-4,)", "'''"])
def test_a_shape_that_cannot_be_is_one_line(tmp_path, shape):
    head = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    with zipfile.ZipFile(tmp_path / "table.npz", "w") as archive:
        archive.writestr("vertices.npy", b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head)
    with pytest.raises(TableError, match=r"table\.npz: column vertices cannot be read") as caught:
        read_table(tmp_path / "table.npz")
    assert "\n" not in str(caught.value)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:300])


def spoilt(path: Path) -> None:
    data = bytearray(path.read_bytes())
    place = data.index(b"\x93NUMPY") + 128
    data[place] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut, "not an .npz file with the columns vertices, adj_bits"),
        (spoilt, r"column vertices cannot be read \(Bad CRC-32"),
        (lambda path: path.write_text("cells"), "not an .npz file"),
        (Path.unlink, r"cannot be read \(No such file or directory\)"),
        (lambda path: (path.unlink(), path.mkdir()), r"cannot be read \(Is a directory\)"),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path, damage, message):
    path = tmp_path / "table.npz"
    np.savez(path, **SMALL)
    damage(path)
    with pytest.raises(TableError, match=f"table.npz: {message}") as caught:
        read_table(path)
    assert "\n" not in str(caught.value)
