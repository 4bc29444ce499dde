import json
from pathlib import Path

import pytest

from benches import read_story, record_of, settings
from dartboard.cli.main import main
from dartboard.errors import OptionError, RunError, TableError
from dartboard.runs import Run, is_locked
from dartboard.scoreboard import store
from dartboard.scoreboard.config import BenchConfig
from dartboard.scoreboard.jobs import plan_jobs, resolved
from dartboard.scoreboard.store import (
    CONFIG,
    differences,
    find_record,
    joined,
    keep_config,
    read_config,
)
from protocols import few


def bench(*words: str, methods: str = "darts,gdas", seeds: str = "0-1") -> BenchConfig:
    return settings("digits", *words, methods=methods, seeds=seeds)


def test_differences_name_settings() -> None:
    assert differences({"a": {"b": 1}, "c": 2}, {"a": {"b": 1}, "c": 2}) == ""
    assert differences({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}, "d": 4}) == (
        "a.b was 1, is 3, c was 2, is None, d was None, is 4"
    )


def test_a_new_bench_is_written_down(tmp_path: Path) -> None:
    assert read_config(tmp_path / "out") is None
    whole = keep_config(tmp_path / "out", bench())
    assert resolved(whole) == resolved(bench())
    assert read_config(tmp_path / "out") == whole


def test_the_same_bench_again_changes_nothing(tmp_path: Path) -> None:
    keep_config(tmp_path, bench())
    before = (tmp_path / CONFIG).read_bytes()
    keep_config(tmp_path, bench())
    assert (tmp_path / CONFIG).read_bytes() == before


def test_a_bench_grows(tmp_path: Path) -> None:
    keep_config(tmp_path, bench())
    whole = keep_config(tmp_path, bench("methods.xnas.epochs=9", methods="xnas,gdas", seeds="5"))
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
            keep_config(folder, bench(methods="xnas", seeds="5"))
        return found

    monkeypatch.setattr(store, "joined", joined_while_others_ask)
    whole = keep_config(tmp_path, bench())
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
    keep_config(tmp_path, bench())
    before = (tmp_path / CONFIG).read_bytes()
    with pytest.raises(OptionError) as caught:
        keep_config(tmp_path, bench(*words))
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
