import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benching import record
from dartboard.errors import TableError
from dartboard.scoreboard.records import BenchRecord, read_records, record_files


def damaged(folder: Path, place: str, value: Any) -> Path:
    """A record whose value at a dotted place is another."""
    path = record("darts", 1, [0.5, 0.6]).write(folder)
    whole = json.loads(path.read_text())
    *groups, last = place.split(".")
    inner = whole
    for group in groups:
        inner = inner[int(group)] if isinstance(inner, list) else inner[group]
    inner[last] = value
    path.write_text(json.dumps(whole))
    return path


def test_a_record_comes_back_from_its_file(tmp_path: Path) -> None:
    own = replace(record("darts", 1, [0.5, 0.6]), settings={"epochs": 2}, versions={"torch": "2"})
    assert BenchRecord.read(own.write(tmp_path)) == own


def test_what_is_not_known_stays_so(tmp_path: Path) -> None:
    own = record("darts", 0, [0.5], entropy=None, pace=None)
    assert BenchRecord.read(own.write(tmp_path)) == own


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("final.test", {}),
        ("final.test", {"one": 0.5}),
        ("final.test", {"one": "a", "two": 0.5}),
        ("final.test", {"one": 1.5, "two": 0.5}),
        ("points.0.test", {"one": 0.5, "three": 0.5}),
        ("points", None),
        ("points", {}),
        ("best", None),
        ("best", {}),
        ("final.seconds", "x"),
        ("final.seconds", "3"),
        ("final.seconds", float("nan")),
        ("final.seconds", -1.0),
        ("final.entropy", True),
        ("final.entropy", float("inf")),
        ("final.epoch", 1.5),
        ("final.cell", 3),
        ("final", []),
        ("correlation", {"kendall": 0.1}),
        ("correlation.kendall", 2.0),
        ("correlation", 0.5),
        ("seed", "1"),
        ("label", None),
        ("settings", None),
        ("settings", 3),
        ("versions", {"torch": 2}),
        ("more", 3),
    ],
)
def test_damaged_records_are_refused(tmp_path: Path, place: str, value: Any) -> None:
    path = damaged(tmp_path, place, value)
    with pytest.raises(TableError) as caught:
        BenchRecord.read(path)
    assert str(caught.value).startswith(f"{path} is no record of a search: ")
    assert "\n" not in str(caught.value)


def test_the_place_of_the_damage_is_named(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"search: final\.seconds: input should be a valid number"):
        BenchRecord.read(damaged(tmp_path, "final.seconds", "x"))


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"label": "darts"}'])
def test_files_that_are_no_records(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "darts-s1.json").write_bytes(content)
    with pytest.raises(TableError, match=r"darts-s1\.json is no record of a search: "):
        read_records(tmp_path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "darts-s1.json").mkdir()
    with pytest.raises(TableError, match=r"darts-s1\.json cannot be read: "):
        read_records(tmp_path)


@pytest.mark.parametrize("name", ["darts-s2.json", "gdas-s1.json", "darts-s1-copy.json"])
def test_a_record_under_another_name_is_refused(tmp_path: Path, name: str) -> None:
    record("darts", 1, [0.5]).write(tmp_path).rename(tmp_path / name)
    with pytest.raises(TableError, match=f"{name} is the record of darts-s1; give it that name"):
        read_records(tmp_path)


def test_records_are_in_order_of_label_and_seed(tmp_path: Path) -> None:
    assert read_records(tmp_path / "none") == []
    for label, seed in (("gdas", 0), ("darts", 10), ("darts", 9)):
        record(label, seed % 5, [0.5]).write(tmp_path)
        replace(record(label, 0, [0.5]), seed=seed).write(tmp_path)
    assert [own.name for own in read_records(tmp_path)] == [
        "darts-s0",
        "darts-s4",
        "darts-s9",
        "darts-s10",
        "gdas-s0",
    ]
    assert len(record_files(tmp_path)) == 5
