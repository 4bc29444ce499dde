"""Sweeps that are run again: after a change, after a failure, and while somebody else was at them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from dartboard.cli.main import main
from dartboard.errors import RunError, Stopped
from dartboard.jobs.executors import make_executor
from dartboard.jobs.job import Job, Monitor
from dartboard.sweep.config import validate
from dartboard.sweep.plan import SweepPlanner
from dartboard.sweep.results import read_results
from dartboard.sweep.sweep import Sweep, write_config
from helpers.sweep_cases import run_job, search_job, sweep, tiny

pytestmark = pytest.mark.usefixtures("one_thread")

NAMES = ["search/darts-s0", "search/darts-s1"]


def unrehearsed(folder: Path, values: dict[str, Any]) -> Sweep:
    return Sweep(SweepPlanner(validate(values), folder), make_executor("here", {"threads": 1}))


def texts(folder: Path) -> dict[str, str]:
    kept = (".yaml", ".json", ".jsonl", ".csv")
    return {path.name: path.read_text() for path in folder.iterdir() if path.suffix in kept}


def test_a_change_that_is_refused_leaves_everything_as_it_was(data: str, tmp_path: Path) -> None:
    values = tiny(data, stop={"after": 1, "keep": 1})
    sweep(tmp_path, values).run()
    before = texts(tmp_path)
    assert len(before) == 6
    more = values | {"grid": {"seed": "0..2"}}
    for make in (sweep, unrehearsed):
        with pytest.raises(RunError, match=r"compared after 1 epochs already, and search/darts-s2 makes"):
            make(tmp_path, more).run()
        assert texts(tmp_path) == before


def test_a_stop_keeps_what_is_known_of_later_stages(data: str, tmp_path: Path) -> None:
    values = tiny(data)
    stage = {"do": "search", "settings": {**values.pop("settings"), "epochs": 1}}
    values = {"stages": {name: {**stage, "grid": {"seed": seed}} for seed, name in enumerate("ab")}}
    rows = sweep(tmp_path, values).run()
    own = sweep(tmp_path, values)

    class Stopper(Monitor):
        def on_stage(self, name: str, runs: Any) -> None:  # noqa: ARG002
            own.stop()

    own.queue.monitor = Stopper()
    with pytest.raises(Stopped):
        own.run()
    assert [row["name"] for row in rows] == ["a/darts-s0", "b/darts-s1"]
    assert read_results(tmp_path) == rows
    (tmp_path / "results.jsonl").write_text("{}")  # it is written anew
    assert sweep(tmp_path, values).run() == rows == read_results(tmp_path)


@pytest.mark.usefixtures("without_checksums")
def test_what_another_driver_decided_meanwhile_counts(data: str, tmp_path: Path) -> None:
    own = sweep(tmp_path, tiny(data, stop={"after": 1, "keep": 2}))
    other = {
        "keep": 2,
        "accuracies": dict.fromkeys(NAMES, 0.5),
        "dropped": {NAMES[0]: "elsewhere"},
        "failed": {},
    }
    (tmp_path / "decisions.json").write_text(json.dumps({"search after 1": other}))
    first, second = own.run()
    assert (second["state"], second["epochs"]) == ("finished", 2)
    assert first["state"] == "failed"  # nobody has begun it


@pytest.mark.parametrize(("keep", "state"), [(1, "dropped"), (2, "finished")])
def test_a_run_that_failed_before_the_others_were_compared_may_come_late(
    keep: int, state: str, data: str, tmp_path: Path, plugins: tuple[str, ...]
) -> None:
    rows = [{"method": "darts"}, {"method": {"name": "failing-darts", "times": 1}}]
    stop = {"after": [1, 2], "keep": keep}
    values = tiny(data, settings={"epochs": 3}, runs=rows, grid={"seed": 0}, tries=1, stop=stop)
    first = sweep(tmp_path, values, plugins=plugins).run()
    assert [row["state"] for row in first] == ["finished", "failed"]
    again = sweep(tmp_path, values, plugins=plugins).run()
    assert [row["state"] for row in again] == ["finished", state]
    name = again[1]["name"]
    taken = json.loads((tmp_path / "decisions.json").read_text())
    assert list(taken["search after 1"]["failed"]) == list(taken["search after 2"]["failed"]) == [name]
    assert (taken[f"search after 1: {name}"]["reason"] or "") == again[1]["reason"]
    assert sweep(tmp_path, values, plugins=plugins).run() == again  # the judgement stands
    assert json.loads((tmp_path / "decisions.json").read_text()) == taken


@pytest.mark.usefixtures("without_checksums")
def test_damage_in_one_run_does_not_stop_others(data: str, tmp_path: Path) -> None:
    values = tiny(data, settings={"epochs": 1})
    sweep(tmp_path, values).run()
    (tmp_path / NAMES[0] / "config.yaml").write_text("[")
    damaged, whole = sweep(tmp_path, values | {"grid": {"seed": "0..1"}}).run()
    assert (damaged["state"], whole["state"]) == ("failed", "finished")
    assert "config.yaml is not YAML" in damaged["reason"]


@pytest.mark.usefixtures("without_checksums")
def test_metrics_that_cannot_be_read_are_compared_with_none(data: str, tmp_path: Path) -> None:
    values = tiny(data, stop={"after": 1, "keep": 1})
    sweep(tmp_path, values).run()
    [dropped] = [row["name"] for row in read_results(tmp_path) if row["state"] == "dropped"]
    (tmp_path / dropped / "metrics.jsonl").write_text("?")
    states = {row["name"]: row["state"] for row in sweep(tmp_path, values).run()}
    assert states == dict.fromkeys(NAMES, "finished") | {dropped: "failed"}
    (tmp_path / "decisions.json").unlink()
    states = {row["name"]: row["state"] for row in sweep(tmp_path, values).run()}
    assert states == dict.fromkeys(NAMES, "finished") | {dropped: "failed"}


def test_images_are_released_when_runs_have_been_compared(data: str, tmp_path: Path) -> None:
    own, held = sweep(tmp_path, tiny(data, stop={"after": 1, "keep": 1})), []

    class Looking(Monitor):
        def on_start(self, job: Job) -> None:
            held.append((job.until, own.planner._builder._images is not None))

    own.queue.monitor = Looking()
    own.run()
    assert held == [(1, False), (1, False), (None, False)]


def test_an_older_checkpoint_will_do_if_that_is_asked(data: str, tmp_path: Path) -> None:
    file, folder = tmp_path / "own.yaml", tmp_path / "sweep"
    file.write_text(yaml.safe_dump(tiny(data, settings={"epochs": 3}, grid={"seed": [0]}, tries=1)))
    job = search_job(folder, data, "epochs=3")
    for until in (1, 2):
        assert run_job(replace(job, until=until)).state == "paused"
    write_config(folder, validate(tiny(data)))
    for damaged in max((job.path / "checkpoints").iterdir()).iterdir():
        damaged.write_bytes(b"?")
    words = ["sweep", str(file), "--out", str(folder), "--executor", "here", "--threads", "1", "--quiet"]
    assert main(words) == 1
    assert main([*words, "--fall-back"]) == 0
    assert [row["state"] for row in read_results(folder)] == ["finished"]
