"""Whole sweeps, done in this process or in a pool."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dartboard.errors import DartboardError, OptionError, RunError, RunInUseError, Stopped
from dartboard.jobs.job import Job, Monitor
from dartboard.runs import Lock, Run
from dartboard.sweep import sweep as sweep_module
from dartboard.sweep.results import read_results
from dartboard.sweep.sweep import failures, read_sweep
from helpers.protocol_cases import few_digits, inner_runs, run_protocol, settings
from helpers.sweep_cases import digest, digests, run_job, search_job, sweep, tiny
from sweep.chaos import SLOWLY

pytestmark = pytest.mark.usefixtures("one_thread")


def test_runs_are_those_that_are_done_alone(data: str, tmp_path: Path) -> None:
    rows = sweep(tmp_path / "sweep", tiny(data)).run()
    assert [row["name"] for row in rows] == ["search/darts-s0", "search/darts-s1"]
    for seed, row in enumerate(rows):
        job = search_job(tmp_path, data, f"seed={seed}", name=f"s{seed}", threads=1)
        assert run_job(job).state == "finished"
        assert row["digest"] == digest(job.path) == digest(tmp_path / "sweep" / row["name"])
        assert Run.read(job.path).config == Run.read(Path(row["path"])).config


def test_what_is_finished_is_kept_and_more_can_be_asked_for(data: str, tmp_path: Path) -> None:
    first = sweep(tmp_path, tiny(data)).run()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "search").rglob("*")}
    more = sweep(tmp_path, tiny(data, grid={"seed": "0..1", "method": ["darts", "gaea-darts"]})).run()
    names = ["darts-s0", "gaea-darts-s0", "darts-s1", "gaea-darts-s1"]
    assert [row["name"] for row in more] == [f"search/{name}" for name in names]
    assert [own for own in more if "gaea" not in own["name"]] == first
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert read_sweep(tmp_path).grid["method.name"] == ("darts", "gaea-darts")


def test_runs_with_other_settings_are_refused_before_anything_is_done(data: str, tmp_path: Path) -> None:
    sweep(tmp_path, tiny(data)).run()
    with pytest.raises(RunError, match=r"darts-s0 is a run with other settings: batch was 16, is 8"):
        sweep(tmp_path, tiny(data, settings={"batch": 8}, grid={"seed": "0..5"}))
    assert len(digests(tmp_path)) == 2


@pytest.mark.parametrize(("tries", "states"), [(3, ["finished", "finished"]), (2, ["failed", "finished"])])
def test_what_fails_is_tried_again_and_does_not_stop_others(
    tries: int, states: list[str], data: str, tmp_path: Path, plugins: tuple[str, ...]
) -> None:
    rows = [{"method": {"name": "failing-darts", "times": 2}}, {"method": "darts"}]
    values = tiny(data, runs=rows, grid={"seed": 0}, tries=tries)
    found = sweep(tmp_path, values, plugins=plugins).run()
    assert [row["state"] for row in found] == states
    name = "search/failing-darts-method.times2-s0"
    assert Run.read(tmp_path / name).config["plugins"] == [SLOWLY]
    reason = f"RuntimeError: attempt 1 of failing-darts-method.times2-s0 fails; see {tmp_path / name}/log.txt"
    assert failures(found) == ({name: reason} if tries == 2 else {})
    assert "Traceback" in (tmp_path / name / "log.txt").read_text()
    again = sweep(tmp_path, values, plugins=plugins).run()  # whoever runs it again has new tries
    assert [row["state"] for row in again] == ["finished", "finished"]


def stopping(data: str, **stop: Any) -> dict[str, Any]:
    """Searches of which some learn so fast that they fail."""
    more = {"epochs": 3, "health.examples": 32}
    return tiny(data, settings=more, grid={"weights.lr": [0.1, 1e-6], "seed": "0..1"}, stop=stop)


@pytest.mark.parametrize("executor", ["here", "pool"])
def test_the_clearly_bad_go_no_further(executor: str, data: str, tmp_path: Path) -> None:
    options = {"jobs": 2} if executor == "pool" else {}
    rows = sweep(tmp_path, stopping(data, after=1, keep=1), executor, options=options).run()
    dropped = {row["name"]: row["reason"] for row in rows if row["state"] == "dropped"}
    assert len(dropped) == 3
    assert {row["epochs"] for row in rows if row["state"] == "dropped"} == {1}
    [kept] = [row for row in rows if row["state"] == "finished"]
    assert kept["epochs"] == 3
    [taken] = json.loads((tmp_path / "decisions.json").read_text()).values()
    assert taken["dropped"] == dropped
    best = max(taken["accuracies"].values())
    assert taken["accuracies"][kept["name"]] == best
    again = sweep(tmp_path, stopping(data, after=1, keep=1)).run()
    assert again == rows


def test_what_was_finished_before_a_comparison_stays_so(data: str, tmp_path: Path) -> None:
    values = stopping(data, after=1, keep=1)
    first = {"grid": {**values["grid"], "seed": 0}, "stop": {}}
    before = sweep(tmp_path, values | first).run()
    assert [row["state"] for row in before] == ["finished"] * 2
    rows = {row["name"]: row for row in sweep(tmp_path, values).run()}
    assert [rows[own["name"]] for own in before] == before
    [taken] = json.loads((tmp_path / "decisions.json").read_text()).values()
    assert len(taken["accuracies"]) == 4
    assert set(taken["dropped"]) <= {*rows} - {own["name"] for own in before}
    assert taken["dropped"]


def test_another_number_to_keep_is_refused_afterwards(data: str, tmp_path: Path) -> None:
    sweep(tmp_path, stopping(data, after=1, keep=1)).run()
    with pytest.raises(RunError, match="compared after 1 epochs already, to keep 1 and not 2; name"):
        sweep(tmp_path, stopping(data, after=1, keep=2)).run()


def test_rungs_and_how_many_are_kept_matter(data: str, tmp_path: Path) -> None:
    def epochs(name: str, **stop: Any) -> list[int]:
        return sorted(row["epochs"] for row in sweep(tmp_path / name, stopping(data, **stop)).run())

    assert epochs("never") == [3, 3, 3, 3]
    assert epochs("two", after=[1, 2], keep=1) == [1, 1, 1, 3]
    assert epochs("more", after=2, keep=3)[0] == 2
    taken = json.loads((tmp_path / "two" / "decisions.json").read_text())
    assert list(taken) == ["search after 1", "search after 2"]


def test_runs_that_come_too_late_to_be_compared_are_refused(data: str, tmp_path: Path) -> None:
    sweep(tmp_path, stopping(data, after=1, keep=1)).run()
    late = stopping(data, after=1, keep=1) | {"grid": {"weights.lr": [0.1, 1e-6], "seed": "0..2"}}
    with pytest.raises(RunError, match=r"compared after 1 epochs already, and search/darts-lr0\.1-s2 makes"):
        sweep(tmp_path, late).run()


def test_runs_on_other_images_are_not_compared(data: str, tmp_path: Path) -> None:
    other = few_digits(tmp_path / "other.npz")
    values = tiny(data, grid={"data": [data, other], "seed": "0..1"}, stop={"after": 1, "keep": 1})
    rows = sweep(tmp_path / "sweep", values).run()
    finished = [row["settings"]["data.name"] for row in rows if row["state"] == "finished"]
    assert finished == [data, other]


def test_where_all_fail_nothing_is_decided(data: str, tmp_path: Path, plugins: tuple[str, ...]) -> None:
    method = {"name": "failing-darts", "times": 1}
    more = {"epochs": 3, "method": method}
    values = tiny(data, settings=more, stop={"after": 2, "keep": 1}, tries=1)
    rows = sweep(tmp_path, values, plugins=plugins).run()
    assert [row["state"] for row in rows] == ["failed", "failed"]
    assert not (tmp_path / "decisions.json").exists()
    again = sweep(tmp_path, values, plugins=plugins).run()
    assert sorted(row["state"] for row in again) == ["dropped", "finished"]


def test_methods_that_train_nothing_are_not_stopped(data: str, tmp_path: Path) -> None:
    values = tiny(data, grid={"method": ["random"], "seed": "0..1"}, stop={"after": 1, "keep": 1})
    rows = sweep(tmp_path, values).run()
    assert [row["state"] for row in rows] == ["finished", "finished"]


def test_plugins_are_kept_and_asked_for(data: str, tmp_path: Path, plugins: tuple[str, ...]) -> None:
    sweep(tmp_path, tiny(data, grid={"method": "slow-darts"}), plugins=plugins).run()
    assert read_sweep(tmp_path).settings["plugins"] == [SLOWLY]
    values = yaml.safe_load((tmp_path / "sweep.yaml").read_text())
    values["settings"]["plugins"] = ["/nowhere/own.py"]
    with pytest.raises(OptionError, match=r"if you trust it, add --plugin /nowhere/own\.py"):
        sweep(tmp_path / "other", values)


def test_two_drivers_of_one_sweep(data: str, tmp_path: Path) -> None:
    own = sweep(tmp_path, tiny(data))
    with Lock(tmp_path), pytest.raises(RunInUseError):
        own.run()


def test_a_stop_keeps_what_is_there(data: str, tmp_path: Path) -> None:
    own = sweep(tmp_path, tiny(data))

    class Stopper(Monitor):
        def on_start(self, job: Job) -> None:
            if job.name.endswith("s1"):
                own.stop()

    own.queue.monitor = Stopper()
    with pytest.raises(Stopped, match="stopped; runs not begun: 0"):
        own.run()
    assert [row["name"] for row in read_results(tmp_path)] == ["search/darts-s0"]
    assert len(sweep(tmp_path, tiny(data)).run()) == 2


TRAINED = {
    "batch": 16,
    "net.channels": 4,
    "net.auxiliary": 0,
    "net.drop_path": 0,
    "data.cutout": 0,
    "data.flip": False,
    "data.pad": 1,
    "data.valid": 0.25,
    "weights.lr": 0.1,
    "epochs": 2,
}


def stages(data: str) -> dict[str, Any]:
    search = {**tiny(data)["settings"], "epochs": 1}
    screen = {"cells": "search", "settings": {**TRAINED, "seed": 2}, "stop": {"after": 1, "keep": 1}}
    final = {"cells": "best of screen", "settings": TRAINED, "grid": {"seed": "0..1"}}
    return {
        "stages": {
            "search": {"do": "search", "settings": search, "grid": {"seed": "0..1"}},
            "screen": {"do": "train", **screen},
            "final": {"do": "train", **final},
        }
    }


def test_three_stages_are_the_protocol(data: str, tmp_path: Path) -> None:
    """The same searches, networks, choices and trainings, to the last bit; random networks are beside it."""
    rows = sweep(tmp_path / "sweep", stages(data)).run()
    arm = run_protocol(tmp_path / "protocol", settings(data, "random=none"))["arms"]["found"]
    ends = {
        "search/s": "search/darts-s",
        "train/found-": "screen/found-",
        "final/found-": f"final/{arm['best']}-",
    }
    expected = {}
    for name, run in inner_runs(tmp_path / "protocol").items():
        start = next(own for own in ends if name.startswith(own))
        theirs = name.replace(start, ends[start]) + ("-s2" if start.startswith("train") else "")
        expected[theirs] = (run.result() or {}).get("digest")
    assert {row["name"]: row.get("digest") for row in rows} == expected
    finals = [row["test_accuracy"] for row in rows if row["stage"] == "final"]
    assert finals == [own["accuracy"] for own in arm["finals"]]
    taken = json.loads((tmp_path / "sweep" / "decisions.json").read_text())
    assert [*taken["screen after 1"]["accuracies"].values()] == [
        own["short_accuracy"] for own in arm["networks"]
    ]
    texts = [json.loads(own["text"]) for own in taken["cells of screen"]["cells"]]
    assert texts == [own["genotype"] for own in arm["networks"]]


def test_random_cells_are_those_of_the_protocol(data: str, tmp_path: Path) -> None:
    """The same cells, choices and trainings, to the last bit."""
    values = stages(data)
    values["stages"]["screen"]["cells"] = "random 2 of search"
    rows = sweep(tmp_path / "sweep", values).run()
    arm = run_protocol(tmp_path / "protocol", settings(data, "random=count"))["arms"]["random"]
    runs = inner_runs(tmp_path / "protocol")
    expected = {
        f"screen/{name.removeprefix('train/')}-s2": run
        for name, run in runs.items()
        if "train/random" in name
    }
    expected |= {f"final/{arm['best']}-s{seed}": runs[f"final/random-s{seed}"] for seed in range(2)}
    digests = {row["name"]: row.get("digest") for row in rows if row["stage"] != "search"}
    assert digests == {name: (run.result() or {}).get("digest") for name, run in expected.items()}


def test_trainings_that_choose_leave_test_images_alone(data: str, tmp_path: Path) -> None:
    rows = sweep(tmp_path, stages(data)).run()
    seen = {row["stage"]: row.get("test_accuracy") is not None for row in rows if row["state"] == "finished"}
    assert seen == {"search": False, "screen": False, "final": True}


def test_the_best_of_searches_and_more_than_one(data: str, tmp_path: Path) -> None:
    search = {"do": "search", "settings": {**tiny(data)["settings"], "epochs": 1}, "grid": {"seed": "0..2"}}
    final = {"do": "train", "settings": {**TRAINED, "epochs": 1}}

    def trained(name: str, cells: str) -> int:
        values = {"stages": {"search": search, "final": {**final, "cells": cells}}}
        return sum(row["stage"] == "final" for row in sweep(tmp_path / name, values).run())

    every = trained("all", "search")
    assert trained("one", "best of search") == 1
    assert trained("two", "best 2 of search") == min(2, every)


def test_cells_by_name(tmp_path: Path, data: str) -> None:
    settings = {**TRAINED, "data": data, "epochs": 1, "net.cells": 3}
    rows = sweep(tmp_path, {"do": "train", "cells": ["darts-v2"], "settings": settings}).run()
    assert [row["name"] for row in rows] == ["train/darts-v2-s0"]
    assert Run.read(rows[0]["path"]).config["space"]["name"] == "darts"


def test_cells_that_were_taken_stay(data: str, tmp_path: Path) -> None:
    sweep(tmp_path, stages(data)).run()
    other = stages(data)
    other["stages"]["screen"]["cells"] = "best 1 of search"
    with pytest.raises(RunError, match="screen has taken all cells of search already, so it cannot take the"):
        sweep(tmp_path, other).run()
    more = stages(data)
    more["stages"]["search"]["grid"] = {"seed": "0..2"}
    with pytest.raises(RunError, match="screen has taken its cells from other runs of search already"):
        sweep(tmp_path, more).run()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cells": "serch"}, "called 'serch'; did you mean 'search'?"),
        ({"cells": "best of final"}, "screen: cells: final comes later; before it there is search"),
        ({"cells": ()}, "screen: trainings need cells"),
        ({"settings": {"epoch": 1}}, "screen: no setting called 'epoch'; did you mean 'epochs'"),
        ({"settings": {**TRAINED, "net.channels": 0}}, "screen: net.channels=0"),
        ({"settings": {**TRAINED, "data": "nothing.npz"}}, "there is no file or folder 'nothing.npz'"),
        ({"settings": {**TRAINED, "weights.schedule": "cosin"}}, "no schedule called 'cosin'"),
        ({"stop": {"after": 2}}, "has 2 epochs, so nothing can stop after 2"),
        ({"recipe": "fast"}, "screen: no training recipe called 'fast'"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_done(
    change: dict[str, Any], words: str, data: str, tmp_path: Path
) -> None:
    values = stages(data)
    values["stages"]["screen"] = {**values["stages"]["screen"], **change}
    with pytest.raises(DartboardError) as told:
        sweep(tmp_path / "sweep", values)
    assert words in str(told.value)
    assert not (tmp_path / "sweep").exists()


def test_searches_take_no_cells(data: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="search: searches find cells, and take none"):
        sweep(tmp_path, tiny(data, cells=["darts-v2"]))


def test_a_composition_that_cannot_be_is_told(data: str, tmp_path: Path) -> None:
    with pytest.raises(
        OptionError,
        match=r"search/pc-darts-method\.warmup15-s0: the architecture is frozen for the first 15 epochs",
    ):
        sweep(tmp_path, tiny(data, grid={"method": ["darts", {"name": "pc-darts", "warmup": 15}]}))


def test_writing_the_tables_takes_a_small_share_of_the_time_however_many_rows_they_have(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, writing, sizes = 100.0, 0.0, []

    def write(_: Path, rows: list[Any]) -> None:
        nonlocal now, writing
        now, writing = now + 0.001 * len(rows), writing + 0.001 * len(rows)
        sizes.append(len(rows))

    def row(name: str, *_: object) -> dict[str, Any]:
        return {"name": name, "stage": "search", "state": "failed", "reason": "none"}

    monkeypatch.setattr(sweep_module, "monotonic", lambda: now)
    monkeypatch.setattr(sweep_module, "write_results", write)
    monkeypatch.setattr(sweep_module, "row_of", row)
    driver = sweep(tmp_path, tiny(data))
    names = [f"search/darts-s{seed}" for seed in range(2000)]
    driver._planned = {name: name for name in names}  # type: ignore[misc]
    start = now
    for name in names:
        now += 1.0
        driver._record(name, "failed", "")
    assert sizes[:3] == [1, 12, 23]  # every ten seconds, as long as they are small
    assert writing < 0.011 * (now - start)
    assert sizes[-1] > 1700
