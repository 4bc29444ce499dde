import json
from pathlib import Path

import numpy as np
import pytest

from dartboard.cli.main import main
from dartboard.errors import TableError
from dartboard.space import from_nb101
from dartboard.tables import IMPORTS, TABLES
from dartboard.tables.nb101_import import read_tfrecord
from dartboard.tables.nb101_table import read_table, write_table
from helpers.nb101_data import CELLS, SMALL, frame, training

HASHES = ("2b", "9c", "0a", "ff")


def written(path: Path, *records: bytes) -> Path:
    path.write_bytes(b"".join(map(frame, records)))
    return path


@pytest.fixture
def official(tmp_path: Path) -> Path:
    """The cells of the small table, each trained three times, and once with fewer epochs."""
    records = []
    for row, (cell, graph) in enumerate(zip(CELLS, HASHES, strict=True)):
        test, parameters = float(SMALL["test_acc_108"][row]), 1000 * (row + 1)
        for offset in (-0.0625, 0.03125, 0.03125):
            known = {"graph": graph, "parameters": parameters, "valid": 0.25 + offset, "test": test + offset}
            records.append(training(*cell, **known))
        records.append(training(*cell, graph=graph, epochs=36, parameters=parameters, test=0.0))
    return written(tmp_path / "nasbench.tfrecord", *records[::2], *records[1::2])


def test_rows_are_means_over_trainings_in_the_order_of_hashes(official):
    columns = read_tfrecord(official).columns
    order = np.argsort(HASHES)
    for name in ("vertices", "adj_bits", "ops_code", "test_acc_108"):
        assert columns[name].tolist() == SMALL[name][order].tolist(), name
    assert columns["params"].tolist() == [3000, 1000, 2000, 4000]
    assert columns["valid_acc_108"].tolist() == [0.25] * 4


def test_the_table_of_an_official_file_is_written_and_read(official, tmp_path):
    table = read_tfrecord(official)
    write_table(tmp_path / "nb101.npz", table)
    again = read_table(tmp_path / "nb101.npz").columns
    assert all(np.array_equal(again[name], table.columns[name]) for name in table.columns)
    record = TABLES["nb101"](tmp_path / "nb101.npz").query(from_nb101(*CELLS[2]), "cifar10")
    assert (record.valid, record.test, record.parameters) == (0.25, 0.75, 3000)


def test_an_import_writes_the_table_and_tells_how_far_it_is(official, tmp_path):
    told = []
    assert IMPORTS["nb101"](official, tmp_path / "out.npz", lambda *words: told.append(words)) == 4
    assert len(read_table(tmp_path / "out.npz")) == 4
    size = official.stat().st_size
    assert told == [("nasbench.tfrecord", 0, size), ("nasbench.tfrecord", size, size)]


def test_the_verb_imports_a_file_that_it_then_asks(official, tmp_path, capsys):
    out = tmp_path / "nb101.npz"
    assert main(["oracle", "import", "nb101", str(official), "--out", str(out)]) == 0
    assert f"{out} holds 4 architectures" in capsys.readouterr().out
    matrix, ops = CELLS[2]
    cell = json.dumps({"matrix": matrix, "ops": ops})
    assert main(["oracle", "query", "nb101", cell, "--table", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["datasets"]["cifar10"]
    assert (found["valid"], found["test"], found["rank"], found["regret"]) == (0.25, 0.75, 2, 0.125)


def test_an_import_that_fails_leaves_nothing(official, tmp_path, capsys):
    official.write_bytes(official.read_bytes()[:-3])
    out = tmp_path / "nb101.npz"
    assert main(["oracle", "import", "nb101", str(official), "--out", str(out)]) == 2
    assert "damaged or cut off at record 15" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [official]


@pytest.mark.parametrize("name", ["nb101", "oneshot1"])
def test_oracles_read_official_files_by_their_ending(official, name):
    assert TABLES[name](official).ranking("cifar10").best == 0.875
    with pytest.raises(TableError, match=r"not an \.npz file"):
        TABLES[name](official.rename(official.with_suffix(".npz")))


def test_base64_may_have_lines(tmp_path):
    graph, epochs, digits, ops, metrics = json.loads(training(*CELLS[0], test=0.75))
    lines = "\n".join(metrics[start : start + 76] for start in range(0, len(metrics), 76))
    path = written(tmp_path / "file", json.dumps([graph, epochs, digits, ops, lines + "\n"]).encode())
    assert read_tfrecord(path).columns["test_acc_108"].tolist() == [0.75]


def parts(**changes: object) -> bytes:
    own = dict(
        zip(("graph", "epochs", "digits", "ops", "metrics"), json.loads(training(*CELLS[1])), strict=True)
    )
    return json.dumps(list((own | changes).values())).encode()


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (b"no JSON", "record 1: is not JSON"),
        (b"[" * 16_000, "record 1: is not JSON"),
        (b"\xff\xfe", "record 1: is not JSON"),
        (b'{"a": 1}', "record 1: expected hash, epochs, matrix, ops and metrics"),
        (parts(epochs="108"), "record 1: expected hash, epochs"),
        (parts(digits="0101"), "record 1: expected a matrix of 3x3 digits 0 and 1, got '0101'"),
        (parts(digits="010002000"), "record 1: expected a matrix of 3x3 digits"),
        (parts(digits="010101000"), r"record 1: .* matrix\[1\]\[0\]: expected 0 on and below the diagonal"),
        (parts(digits="010000000"), "record 1: .* the output cannot be reached"),
        (parts(ops="input,conv5x5,output"), r"record 1: .* ops\[1\]: no op"),
        (parts(metrics="a*b"), "record 1: its metrics cannot be read"),
        (parts(metrics="CA=="), r"record 1: its metrics cannot be read \(a message ends in the middle"),
        (training(*CELLS[1], graph="1", evaluations=2), "record 1: expected 3 evaluations, .*; got 2"),
        (training(*CELLS[1], graph="1", test=94.3), "record 1: field 5 of its last .*, got 94.3"),
        (training(*CELLS[1], graph="1", valid=float("nan")), "record 1: field 4 of its last .*, got nan"),
    ],
)
def test_a_record_that_is_something_else_is_named(tmp_path, record, message):
    path = written(tmp_path / "file", training(*CELLS[0]), _other_graph(record))
    with pytest.raises(TableError, match=f"file: {message}"):
        read_tfrecord(path)


def _other_graph(record: bytes) -> bytes:
    """The record under a hash of its own, so that its cell is read."""
    return record.replace(b'["00"', b'["01"')


def test_parameters_must_be_there(tmp_path):
    path = written(tmp_path / "file", parts(metrics="CgAKAAoA"))
    with pytest.raises(TableError, match="record 0: expected a number of trainable parameters, got None"):
        read_tfrecord(path)


@pytest.mark.parametrize("records", [(), (training(*CELLS[0], epochs=4),)])
def test_a_file_without_long_trainings_is_refused(tmp_path, records):
    with pytest.raises(TableError, match="file: has no training of 108 epochs"):
        read_tfrecord(written(tmp_path / "file", *records))


def test_one_cell_under_two_hashes_is_refused(tmp_path):
    path = written(tmp_path / "file", training(*CELLS[0], graph="a"), training(*CELLS[0], graph="b"))
    with pytest.raises(TableError, match="file: row 0 is there twice"):
        read_tfrecord(path)
