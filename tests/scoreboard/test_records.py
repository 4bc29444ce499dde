import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benches import read_story, record_of, settings
from benching import record
from dartboard.cli.main import main
from dartboard.errors import OptionError, RunError, TableError
from dartboard.runs import Run, is_locked
from dartboard.scoreboard import records
from dartboard.scoreboard.config import BenchConfig
from dartboard.scoreboard.jobs import plan_jobs, resolved
from dartboard.scoreboard.records import (
    CONFIG,
    BenchRecord,
    differences,
    find_record,
    joined,
    read_config,
    read_records,
    record_files,
    write_config,
)
from protocols import few


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


def bench(*words: str, methods: str = "darts,gdas", seeds: str = "0-1") -> BenchConfig:
    return settings("digits", *words, methods=methods, seeds=seeds)


def test_differences_name_settings() -> None:
    assert differences({"a": {"b": 1}, "c": 2}, {"a": {"b": 1}, "c": 2}) == ""
    assert differences({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}, "d": 4}) == (
        "a.b was 1, is 3, c was 2, is None, d was None, is 4"
    )


def test_a_new_bench_is_written_down(tmp_path: Path) -> None:
    assert read_config(tmp_path / "out") is None
    whole = write_config(tmp_path / "out", bench())
    assert resolved(whole) == resolved(bench())
    assert read_config(tmp_path / "out") == whole


def test_the_same_bench_again_changes_nothing(tmp_path: Path) -> None:
    write_config(tmp_path, bench())
    before = (tmp_path / CONFIG).read_bytes()
    write_config(tmp_path, bench())
    assert (tmp_path / CONFIG).read_bytes() == before


def test_a_bench_grows(tmp_path: Path) -> None:
    write_config(tmp_path, bench())
    whole = write_config(tmp_path, bench("methods.xnas.epochs=9", methods="xnas,gdas", seeds="5"))
    assert list(whole.methods) == ["darts", "gdas", "xnas"]
    assert whole.seeds == (0, 1, 5)
    assert {job.name: job.config.epochs for job in plan_jobs(whole)}["xnas-s0"] == 9
    assert read_config(tmp_path) == whole


def test_others_may_ask_for_more_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def joined_while_others_ask(folder: Path, config: BenchConfig) -> BenchConfig:
        found = joined(folder, config)
        assert not is_locked(folder)
        if not asked:
            asked.append("once")
            write_config(folder, bench(methods="xnas", seeds="5"))
        return found

    monkeypatch.setattr(records, "joined", joined_while_others_ask)
    whole = write_config(tmp_path, bench())
    assert list(whole.methods) == ["xnas", "darts", "gdas"]
    assert whole.seeds == (0, 1, 5)
    assert read_config(tmp_path) == whole


@pytest.mark.parametrize(
    ("words", "difference"),
    [
        (["epochs=9"], "search.epochs was 2, is 9"),
        (["space.cells=2"], "search.space.cells was None, is 2"),
        (["draws=9"], "draws was 3, is 9"),
        (["queries=9"], "queries was None, is 9"),
        (["correlation=9"], "correlation was 4, is 9"),
        (["baselines=[]"], "baselines was ['random', 'evolution'], is []"),
        (["oracle=nano"], "oracle was toy, is nano"),
        (["methods.gdas.epochs=9"], "methods.gdas.epochs was 2, is 9"),
        (["methods.gdas.method.lr=1.0"], "methods.gdas.method.lr was 0.0003, is 1.0"),
    ],
)
def test_other_settings_are_refused(tmp_path: Path, words: list[str], difference: str) -> None:
    write_config(tmp_path, bench())
    before = (tmp_path / CONFIG).read_bytes()
    with pytest.raises(OptionError) as caught:
        write_config(tmp_path, bench(*words))
    assert str(caught.value) == (
        f"{tmp_path} is a bench with other settings: {difference}; name another --out, or go on with its own "
        f"by --config {tmp_path / CONFIG}"
    )
    with pytest.raises(OptionError):
        joined(tmp_path, bench(*words))
    assert (tmp_path / CONFIG).read_bytes() == before


def test_a_damaged_bench_is_named(tmp_path: Path) -> None:
    (tmp_path / CONFIG).write_text("draws: 0")
    with pytest.raises(OptionError, match=r"bench\.yaml: draws=0: "):
        read_config(tmp_path)


def test_looking_writes_nothing(tmp_path: Path) -> None:
    assert resolved(joined(tmp_path, bench())) == resolved(bench())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("one_thread")
def test_a_run_of_the_search_command_is_as_good(tmp_path: Path) -> None:
    data = few(tmp_path / "few.npz")
    [job] = plan_jobs(settings(data))
    words = ["epochs=2", "batch=16", "net.channels=4", "health.examples=16", "weights.lr=0.1"]
    path = tmp_path / "made" / "runs" / job.name
    assert main(["search", *words, "--data", data, "--out", str(path), "--quiet"]) == 0
    made = (path / "result.json").read_bytes()
    record_of(tmp_path / "made", job)
    record_of(tmp_path / "own", job)
    assert (path / "result.json").read_bytes() == made
    assert len(Run.read(path).environment()) == 1
    assert read_story(tmp_path / "made" / "records") == read_story(tmp_path / "own" / "records")


def test_a_record_of_other_settings_is_refused(tmp_path: Path) -> None:
    data = few(tmp_path / "few.npz")
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
    [job] = plan_jobs(settings(few(tmp_path / "few.npz")))
    record_of(tmp_path, job, 0)
    path = tmp_path / "records" / "darts-s0.json"
    whole = json.loads(path.read_text())
    del whole["settings"]["weights"]["nesterov"], whole["settings"]["method"]["bilevel"]
    path.write_text(json.dumps(whole))
    assert find_record(job, tmp_path / "records", "toy") is not None


@pytest.mark.parametrize("wrong", [{"what": 3}, {"method": {"name": "gone"}}])
def test_settings_that_no_search_has(tmp_path: Path, wrong: object) -> None:
    [job] = plan_jobs(settings(few(tmp_path / "few.npz")))
    record_of(tmp_path, job, 0)
    path = tmp_path / "records" / "darts-s0.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"settings": wrong}))
    with pytest.raises(RunError, match=r"darts-s0\.json has other settings than searches have: "):
        find_record(job, tmp_path / "records", "toy")
