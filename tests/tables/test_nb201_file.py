import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from dartboard.errors import TableError
from dartboard.tables import nb201
from dartboard.tables.nb201 import numbers, read_columns, write_columns

COLUMNS: dict[str, list[object]] = {"cell": ["a b", "|c~0|"], "test": [1.5, 99], "more": ["", "é"]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_columns(tmp_path / "table.csv.gz", COLUMNS)
    return tmp_path / "table.csv.gz"


def test_columns_are_read_as_they_were_written(path: Path) -> None:
    assert read_columns(path, ("more", "cell")) == {"more": ["", "é"], "cell": ["a b", "|c~0|"]}
    assert numbers(read_columns(path, ("test",)), "test", most=100).tolist() == [1.5, 99]


def test_a_table_always_has_the_same_bytes(path: Path, tmp_path: Path) -> None:
    write_columns(tmp_path / "again", COLUMNS)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_a_table_without_lines_has_empty_columns(tmp_path: Path) -> None:
    write_columns(tmp_path / "empty", {"cell": []})
    assert read_columns(tmp_path / "empty", ("cell",)) == {"cell": []}


def test_every_byte_of_the_content_is_checked(path: Path) -> None:
    whole = path.read_bytes()
    for place in range(10, len(whole)):  # after the head, which holds a time and a system
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(TableError, match=r"table.csv.gz: not a whole .csv.gz table"):
            read_columns(path, ("cell",))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda whole: whole[:-5], "not a whole"),
        (lambda whole: whole[:20], "not a whole"),
        (lambda _: b"cell,test\n", "not a whole"),
        (lambda _: gzip.compress(b"\xff\xfe"), "not in UTF-8"),
        (lambda _: gzip.compress(b""), "has no column cell; it has none"),
        (lambda _: gzip.compress(b"arch,test\na,1\n"), "has no column cell; it has arch, test"),
        (lambda _: gzip.compress(b"cell,test\na,1\nb\n"), "line 3 has 1 values, the first line 2"),
    ],
)
def test_what_is_no_table_is_refused(path: Path, damage: Callable[[bytes], bytes], message: str) -> None:
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(TableError, match=f"^{path}: .*{message}"):
        read_columns(path, ("cell",))


def test_what_unpacks_to_too_much_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nb201, "MOST_BYTES", 1000)
    path.write_bytes(gzip.compress(b"cell\n" + b"a\n" * 1000))
    with pytest.raises(TableError, match="more than 1,000 bytes"):
        read_columns(path, ("cell",))


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"none: cannot be read \(No such file"):
        read_columns(tmp_path / "none", ())
    with pytest.raises(TableError, match=r"cannot be read \(Is a directory"):
        read_columns(tmp_path, ())


@pytest.mark.parametrize("value", ["a,b", 'a"b', "a\nb", "a\rb", "a\u2028b"])
def test_what_would_be_read_as_something_else_is_not_written(tmp_path: Path, value: str) -> None:
    for columns in ({"cell": ["a", value]}, {value: ["a"]}):
        with pytest.raises(TableError, match="cannot stand in a table"):
            write_columns(tmp_path / "t", columns)
    assert list(tmp_path.iterdir()) == []


def test_lines_may_end_as_on_windows(path: Path) -> None:
    path.write_bytes(gzip.compress(b"cell,test\r\na,1\r\n"))
    assert read_columns(path, ("test",)) == {"test": ["1"]}


@pytest.mark.parametrize("value", ["-1", "101", "nan", "inf"])
def test_numbers_have_bounds(value: str) -> None:
    with pytest.raises(TableError, match=f"column test, line 3: expected 0 to 100, got {value}"):
        numbers({"test": ("1", value)}, "test", most=100)


def test_numbers_are_numbers() -> None:
    with pytest.raises(TableError, match="column test: could not convert string to float: 'x'"):
        numbers({"test": ("1", "x")}, "test", most=100)
