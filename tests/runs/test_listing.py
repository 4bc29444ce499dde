import json
import os
from pathlib import Path

import pytest

from dartboard.runs import Lock, Run, find_runs, is_locked, summarize_run
from dartboard.runs.text_files import read_yaml, rows_from_end, to_yaml
from helpers.report_runs import found_cell, make_search, make_training


def test_a_search_says_what_it_is(tmp_path: Path) -> None:
    make_search(tmp_path / "s", method="darts", seed=3, epochs=4)
    entry = summarize_run(tmp_path / "s")
    assert (entry.state, entry.kind, entry.method) == ("finished", "search", "darts")
    assert (entry.space, entry.data, entry.seed) == ("nano", "digits", 3)
    assert (entry.epoch, entry.epochs, entry.mistake) == (4, 4, None)
    assert entry.accuracy == pytest.approx(0.67)


def test_a_training_has_the_accuracy_of_its_last_network(tmp_path: Path) -> None:
    cell = found_cell(make_search(tmp_path / "s"))
    make_training(tmp_path / "t", cell, seed=1)
    make_training(tmp_path / "u", cell, finish=False)
    finished, stopped = summarize_run(tmp_path / "t"), summarize_run(tmp_path / "u")
    assert (finished.kind, finished.method, finished.state) == ("train", None, "finished")
    assert finished.accuracy == 0.84
    assert stopped.accuracy == pytest.approx(0.85)


def test_the_newest_accuracy_counts_where_not_every_epoch_is_measured(tmp_path: Path) -> None:
    with Run.create(tmp_path / "t", {"kind": "train", "epochs": 3}) as run:
        for epoch, row in enumerate([{"test_accuracy": 0.1}, {"test_accuracy": 0.2}, {"train_loss": 1.0}]):
            run.record(epoch, row, {})
    entry = summarize_run(tmp_path / "t")
    assert (entry.accuracy, entry.epoch) == (0.2, 3)


def test_a_protocol_has_the_settings_of_its_searches_and_the_mean_of_its_networks(tmp_path: Path) -> None:
    search = {"method": {"name": "gdas"}, "space": {"name": "darts"}, "data": {"name": "cifar10"}}
    with Run.create(tmp_path / "p", {"kind": "protocol", "seed": 2, "search": search}) as run:
        run.finish({"measured_on": "test", "arms": {"found": {"summary": {"mean": 0.97}}}})
    entry = summarize_run(tmp_path / "p")
    assert (entry.kind, entry.method, entry.space, entry.data) == ("protocol", "gdas", "darts", "cifar10")
    assert (entry.accuracy, entry.epoch, entry.epochs) == (0.97, None, None)


def test_states(tmp_path: Path) -> None:
    make_search(tmp_path / "s", finish=False)
    assert summarize_run(tmp_path / "s").state == "stopped"
    with Lock(tmp_path / "s"):
        assert summarize_run(tmp_path / "s").state == "running"
    assert not is_locked(tmp_path / "s")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("config.yaml", "a: [", "is not YAML"),
        ("config.yaml", "- 1", "holds no configuration"),
        ("config.yaml", "", "holds no configuration"),
        ("result.json", "{", "is not JSON"),
        ("result.json", "[]", "should hold names and values"),
        ("metrics.jsonl", '{"epoch": 0}\n{"epo', "1 from the end is not JSON"),
        ("metrics.jsonl", '{"epoch": true}\n', "no epoch with a whole number"),
        ("metrics.jsonl", "3\n", "should hold names and values"),
    ],
)
@pytest.mark.usefixtures("without_checksums")
def test_a_damaged_run_says_so(tmp_path: Path, name: str, text: str, said: str) -> None:
    make_search(tmp_path / "s")
    (tmp_path / "s" / name).write_text(text)
    entry = summarize_run(tmp_path / "s")
    assert entry.state == "damaged"
    assert entry.mistake is not None
    assert said in entry.mistake
    assert (entry.method == "gaea-darts") is (name != "config.yaml")


def test_settings_of_the_wrong_kind_are_not_known(tmp_path: Path) -> None:
    with Run.create(tmp_path / "s", {"method": "x", "seed": "y", "epochs": True, "space": {"name": 3}}):
        pass
    entry = summarize_run(tmp_path / "s")
    assert (entry.method, entry.seed, entry.epochs, entry.space, entry.kind) == (None,) * 4 + ("search",)


def test_the_newest_file_says_when_it_changed(tmp_path: Path) -> None:
    make_search(tmp_path / "s")
    for place, name in enumerate(("config.yaml", "log.txt", "result.json", "metrics.jsonl")):
        (tmp_path / "s" / name).touch()
        os.utime(tmp_path / "s" / name, (0, 10 * place + 10))
    assert summarize_run(tmp_path / "s").changed == 40


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "config.yaml").write_text("kind: search\n")


def test_runs_are_found_in_folders_and_those_of_protocols_if_asked_for(tmp_path: Path) -> None:
    make(tmp_path, "b", "bench/runs/x", "p", "p/search/s0", "p/final/f0", ".hidden/h", "b/epochs/no")
    (tmp_path / "link").symlink_to(tmp_path / "b")
    names = [str(path.relative_to(tmp_path)) for path in find_runs(tmp_path)]
    assert names == ["b", "bench/runs/x", "p"]
    names = [str(path.relative_to(tmp_path)) for path in find_runs(tmp_path, inside=True)]
    assert names == ["b", "bench/runs/x", "p", "p/final/f0", "p/search/s0"]
    assert next(find_runs(tmp_path / "p", inside=True)) == tmp_path / "p"
    assert list(find_runs(tmp_path / "nowhere")) == []


def test_blocks_are_what_the_whole_says(tmp_path: Path) -> None:
    config = {
        "kind": "train",
        "cell": "seed: 3\n" * 40,
        "data": {"name": "a: b", "seed": 9, "list": [1, {"seed": 2}]},
        "seed": 5,
        "plugins": ["seed: 1"],
        "method": None,
    }
    path = tmp_path / "config.yaml"
    path.write_text(to_yaml(config))
    keys = ("kind", "data", "seed", "method", "missing")
    assert read_yaml(path, keys) == {key: config[key] for key in keys if key in config}
    path.write_text(json.dumps(config))  # which is YAML too
    assert read_yaml(path, keys) == config


def test_rows_from_the_end_are_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    assert list(rows_from_end(path)) == []
    rows = [{"epoch": epoch, "words": "x" * 300} for epoch in range(200)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = list(rows_from_end(path))
    assert 1 < len(found) < 200
    assert found == rows[: -len(found) - 1 : -1]
