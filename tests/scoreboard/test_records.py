import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dartboard.cli.main import main
from dartboard.errors import RunError, TableError
from dartboard.runs import Run
from dartboard.scoreboard.bench import plan_jobs
from dartboard.scoreboard.records import BenchRecord, differences, find_record, read_records, record_files
from dartboard.utils.checksums import unseal
from helpers.bench_records import record
from helpers.bench_runs import read_comparable, record_of, settings
from helpers.protocol_cases import few_digits


def read_unsealed(path: Path) -> dict[str, Any]:
    """The record in a file without its checksum, to be changed: as of versions that wrote none."""
    values: dict[str, Any] = json.loads(unseal(path.read_bytes(), path))
    return values


def damaged(folder: Path, place: str, value: Any) -> Path:
    """A record whose value at a dotted place is another."""
    path = record("darts", 1, [0.5, 0.6]).write(folder)
    whole = read_unsealed(path)
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
    assert str(caught.value).startswith(f"{path} is not a record of a search: ")
    assert "\n" not in str(caught.value)


def test_the_place_of_the_damage_is_named(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"search: final\.seconds: input should be a valid number"):
        BenchRecord.read(damaged(tmp_path, "final.seconds", "x"))


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"label": "darts"}'])
def test_files_that_are_no_records(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "darts-s1.json").write_bytes(content)
    with pytest.raises(TableError, match=r"darts-s1\.json is not a record of a search: "):
        read_records(tmp_path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "darts-s1.json").mkdir()
    with pytest.raises(TableError, match=r"darts-s1\.json is a folder, not a file"):
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


def test_differences_name_settings() -> None:
    assert differences({"a": {"b": 1}, "c": 2}, {"a": {"b": 1}, "c": 2}) == ""
    assert differences({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}, "d": 4}) == (
        "a.b was 1, is 3, c was 2, is None, d was None, is 4"
    )


@pytest.mark.usefixtures("one_thread")
def test_a_run_of_the_search_command_is_as_good(tmp_path: Path) -> None:
    data = few_digits(tmp_path / "few.npz")
    [job] = plan_jobs(settings(data))
    words = ["epochs=2", "batch=16", "net.channels=4", "health.examples=16", "weights.lr=0.1"]
    path = tmp_path / "made" / "runs" / job.name
    assert main(["search", *words, "--data", data, "--out", str(path), "--quiet"]) == 0
    made = (path / "result.json").read_bytes()
    record_of(tmp_path / "made", job)
    record_of(tmp_path / "own", job)
    assert (path / "result.json").read_bytes() == made
    assert len(Run.read(path).environment()) == 1
    assert read_comparable(tmp_path / "made" / "records") == read_comparable(tmp_path / "own" / "records")


def test_a_record_of_other_settings_is_refused(tmp_path: Path) -> None:
    data = few_digits(tmp_path / "few.npz")
    [job], [other] = plan_jobs(settings(data)), plan_jobs(settings(data, "batch=32"))
    folder = tmp_path / "records"
    assert find_record(job, folder, "toy") is None
    record = record_of(tmp_path, job, 0)
    assert find_record(job, folder, "toy") == record
    with pytest.raises(
        TableError, match=r"darts-s0\.json is a record of other settings: batch was 16, is 32;"
    ):
        find_record(other, folder, "toy")
    with pytest.raises(TableError, match="oracle was toy, is nano; name another --results"):
        find_record(job, folder, "nano")


def test_settings_that_came_later_have_their_defaults(tmp_path: Path) -> None:
    [job] = plan_jobs(settings(few_digits(tmp_path / "few.npz")))
    record_of(tmp_path, job, 0)
    path = tmp_path / "records" / "darts-s0.json"
    whole = read_unsealed(path)
    del whole["settings"]["weights"]["nesterov"], whole["settings"]["method"]["bilevel"]
    path.write_text(json.dumps(whole))
    assert find_record(job, tmp_path / "records", "toy") is not None


@pytest.mark.parametrize("wrong", [{"what": 3}, {"method": {"name": "gone"}}])
def test_settings_that_no_search_has(tmp_path: Path, wrong: object) -> None:
    [job] = plan_jobs(settings(few_digits(tmp_path / "few.npz")))
    record_of(tmp_path, job, 0)
    path = tmp_path / "records" / "darts-s0.json"
    path.write_text(json.dumps(read_unsealed(path) | {"settings": wrong}))
    with pytest.raises(RunError, match=r"darts-s0\.json has other settings than searches have: "):
        find_record(job, tmp_path / "records", "toy")
