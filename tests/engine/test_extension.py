"""Runs that are given other epochs: as one run whose settings say so, wherever it was interrupted."""

import math
from functools import partial

import pytest

from dartboard.engine.config import LoopOptions
from dartboard.engine.extension import other_epochs
from dartboard.engine.hooks import AnyHook
from dartboard.errors import CheckpointError, CompositionError, OptionError, RunError, Stopped
from dartboard.runs import Run, digest
from dartboard.search.config import SEARCH
from helpers.loop_cases import StopAt
from helpers.search_cases import search
from helpers.train_cases import train

STEPS = {"search": 3, "train": 4}
"""Steps per epoch of the small search and the small training."""
EVERYTHING = {
    "net": {"drop_path": 0.3, "auxiliary": 0.4},
    "weights": {"ema": 0.9, "by": "step", "cycles": 2, "momentum": 0.9},
    "evaluation": {"every": 3},
}
KINDS = {
    "adam": partial(search, "darts"),
    "measured rate": partial(search, "gaea-darts"),
    "temperature": partial(search, "gaea-gdas", method_options={"warmup": 0.5}),
    "attention": partial(search, "asm"),
    "training": train,
    "everything": partial(train, **EVERYTHING),
}
pytestmark = pytest.mark.usefixtures("one_thread")


class Kill(AnyHook):
    """Ends a loop after a step without a chance to save."""

    def __init__(self, step):
        self.step = step

    def on_step_end(self, loop):
        if loop.step == self.step:
            raise KeyboardInterrupt


def story(path):
    """All that a run has come to, but for times: every epoch, the last checkpoint and the result."""
    run = Run.read(path)
    _, state = run.load()
    rows = [{key: value for key, value in row.items() if key != "seconds"} for row in run.metrics()]
    result = {key: value for key, value in run.result().items() if key != "seconds"}
    return rows, digest({**state, "seconds": 0.0}), result


def through(make, path, **more):
    """The story of a loop that runs through."""
    with Run.create(path, {}) as run:
        make(run=run, **more).fit()
    return story(path)


def extended(make, path, epochs, **more):
    """Resumes a run with other epochs; returns the settings that changed."""
    with Run.resume(path) as run:
        config = run.config
        known = {key: config[key] for key in ("epochs", "schedule_history") if key in config}
        changes = other_epochs(run, make(**known).options, epochs) or {}
        loop = make(run=run, **known | changes, **more)
        run.reconfigure(changes)
        loop.fit()
    return changes


@pytest.mark.parametrize("kind", KINDS)
def test_a_finished_run_goes_on_as_its_new_settings_say(kind, tmp_path):
    make = KINDS[kind]
    through(make, tmp_path / "run")
    changes = extended(make, tmp_path / "run", 4)
    assert changes == {"epochs": 4, "schedule_history": [{"until": 2, "epochs": 2}]}
    assert Run.read(tmp_path / "run").config == changes
    assert story(tmp_path / "run") == through(make, tmp_path / "whole", **changes)


@pytest.mark.parametrize("kind", ["measured rate", "everything"])
def test_a_kill_in_the_added_epochs_changes_nothing(kind, tmp_path):
    make = partial(KINDS[kind], checkpoint={"steps": 2})
    through(make, tmp_path / "run")
    steps = 2 * STEPS["search" if kind == "measured rate" else "train"]
    with pytest.raises(KeyboardInterrupt):
        extended(make, tmp_path / "run", 4, hooks=[Kill(steps + 1)])
    assert Run.read(tmp_path / "run").state == "stopped"
    with Run.resume(tmp_path / "run") as run, pytest.raises(KeyboardInterrupt):  # without saying it again
        make(run=run, hooks=[Kill(steps + 4)], **run.config).fit()
    with Run.resume(tmp_path / "run") as run:
        make(run=run, **run.config).fit()
        settings = run.config
    assert story(tmp_path / "run") == through(make, tmp_path / "whole", **settings)


@pytest.mark.parametrize("kind", ["adam", "everything"])
def test_an_epoch_that_has_begun_keeps_its_schedule(kind, tmp_path):
    """And so does a run that is made shorter."""
    make = partial(KINDS[kind], checkpoint={"steps": 1})
    steps = STEPS["search" if kind == "adam" else "train"]
    for epochs, start in ((5, 3), (3, 6)):
        path = tmp_path / f"run{epochs}"
        with Run.create(path, {}) as run, pytest.raises(Stopped):
            make(run=run, epochs=start, hooks=[StopAt(steps + 1)]).fit()
        with Run.resume(path) as run:
            run.reconfigure({"epochs": start, "schedule_history": []})
        changes = extended(make, path, epochs)
        assert changes == {"epochs": epochs, "schedule_history": [{"until": 2, "epochs": start}]}
        assert story(path) == through(make, tmp_path / f"whole{epochs}", **changes)


def test_the_learning_rate_follows_the_length_in_force(tmp_path):
    """Half a cosine wave from 0.025 to 0.001 over the epochs that counted at the time."""
    make = KINDS["adam"]
    through(make, tmp_path / "run")
    extended(make, tmp_path / "run", 3)
    extended(make, tmp_path / "run", 6)
    assert Run.read(tmp_path / "run").config["schedule_history"] == [
        {"until": 2, "epochs": 2},
        {"until": 3, "epochs": 3},
    ]
    fractions = [0, 1 / 2, 2 / 3, 3 / 6, 4 / 6, 5 / 6]
    expected = [0.001 + 0.024 * (1 + math.cos(math.pi * fraction)) / 2 for fraction in fractions]
    assert [row["lr"] for row in Run.read(tmp_path / "run").metrics()] == pytest.approx(expected)


def test_the_architecture_keeps_its_rate_and_its_warmup(tmp_path):
    """The rate of theory is that of the first length, and nothing that moves is frozen again."""
    make = KINDS["adam"]
    through(make, tmp_path / "run")
    extended(make, tmp_path / "run", 8)
    rates = {row["arch_lr"] for row in Run.read(tmp_path / "run").metrics()}
    assert len(rates) == 1
    slow = search(
        "pc-darts", method_options={"warmup": 0.5}, epochs=9, schedule_history=[{"until": 3, "epochs": 4}]
    )
    assert (slow.plan.warmup, slow.plan.at(0).epochs, slow.plan.at(3).epochs) == (2, 4, 9)


def test_extended_twice_at_the_same_place_is_extended_once(tmp_path):
    make = KINDS["training"]
    through(make, tmp_path / "run")
    with Run.resume(tmp_path / "run") as run:
        for epochs in (9, 7, 4, 4):
            known = {key: run.config[key] for key in ("epochs", "schedule_history") if key in run.config}
            changes = other_epochs(run, make(**known).options, epochs)
            if changes is not None:
                run.reconfigure(changes)
        assert changes is None
        assert run.config == {"epochs": 4, "schedule_history": [{"until": 2, "epochs": 2}]}


def test_a_run_that_has_not_begun_has_no_seam(tmp_path):
    with Run.create(tmp_path / "run", {}) as run:
        assert other_epochs(run, LoopOptions(), 7) == {"epochs": 7, "schedule_history": []}
    with Run.create(tmp_path / "stopped", {}) as run:
        loop = search("darts", run=run)
        loop.stop()  # before the first step
        with pytest.raises(Stopped):
            loop.fit()
    with Run.resume(tmp_path / "stopped") as run:  # but its update rule has its rate
        assert other_epochs(run, search("darts").options, 7)["schedule_history"] == [
            {"until": 1, "epochs": 2}
        ]


def test_what_is_refused(tmp_path):
    through(train, tmp_path / "run")
    run = Run.read(tmp_path / "run")
    with pytest.raises(RunError, match=r"has 2 complete epochs; it can have epochs=2 or more, not 1"):
        other_epochs(run, train().options, 1)
    with Run.create(tmp_path / "half", {}) as half, pytest.raises(Stopped):
        train(run=half, hooks=[StopAt(5)]).fit()
    with pytest.raises(RunError, match="has 1 complete epochs and has begun epoch 2; it can have epochs=2"):
        other_epochs(half, train(epochs=3).options, 1)
    with pytest.raises(CompositionError, match="a search of 2 epochs cannot be given other epochs"):
        search("xnas", epochs=4, schedule_history=[{"until": 2, "epochs": 2}])


def test_a_state_of_other_schedules_is_refused(tmp_path):
    """The epochs that it has begun would have been trained otherwise."""
    through(train, tmp_path / "run")
    for wrong in ({"epochs": 4}, {"epochs": 4, "schedule_history": [{"until": 1, "epochs": 2}]}):
        with Run.resume(tmp_path / "run") as run, pytest.raises(CheckpointError, match="epochs was 2, is 4"):
            train(run=run, **wrong).fit()


def test_random_search_has_no_epochs_to_add(tmp_path):
    with Run.create(tmp_path / "run", {}) as run:
        search("random", run=run).fit()
    with pytest.raises(RunError, match="trains nothing"):
        other_epochs(run, search("random").options, 7)


@pytest.mark.parametrize("history", [[[3, 2], [2, 3]], [[2, 3], [2, 4]], [[9, 2]]])
def test_a_history_rises(history):
    entries = [{"until": until, "epochs": epochs} for until, epochs in history]
    with pytest.raises(OptionError, match="schedule_history"):
        SEARCH.validate({"epochs": 8, "schedule_history": entries})
