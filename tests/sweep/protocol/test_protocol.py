"""The protocol of three stages, whole, on few digits."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
import torch

from dartboard.data import Dataset, ImageSet, LoadOptions
from dartboard.errors import DivergedError, RunError, Stopped
from dartboard.nn import load_model
from dartboard.relax import Gumbel
from dartboard.runs import Run
from dartboard.runs.lookup import find_genotype
from dartboard.search import Hook, Searcher
from dartboard.search import config as search_config
from dartboard.space import decode, get_space, space_to_json
from dartboard.sweep.protocol.protocol import Protocol, reopen, verdict
from dartboard.sweep.pruning import DIVERGED, reasons_to_prune
from dartboard.train import Trainer, TrainHook
from dartboard.utils.statistics import Difference, compare
from helpers.protocol_cases import (
    all_results,
    few_digits,
    inner_runs,
    run_protocol,
    settings,
    start,
    without_times,
)

TEXT = (
    '{"cell": {"inputs": 1, "output": [2], "edges": '
    '[["skip_connect", 0, 1], ["skip_connect", 0, 2], ["skip_connect", 1, 2]]}}'
)
SKIPS = decode(TEXT)


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where images are, and a protocol that nobody disturbed."""
    path = tmp_path_factory.mktemp("protocol")
    torch.set_num_threads(1)
    run_protocol(path / "usual", settings(few_digits(path / "few.npz"), "keep=2", "searches=3"))
    return path


@pytest.fixture
def data(folder: Path) -> str:
    return str(folder / "few.npz")


@pytest.fixture
def usual(folder: Path) -> dict[str, Any]:
    return dict(Run.read(folder / "usual").result() or {})


def test_every_stage_is_runs_like_others(folder: Path, usual: dict[str, Any]) -> None:
    runs = inner_runs(folder / "usual")
    networks = {arm: len(usual["arms"][arm]["networks"]) for arm in ("found", "random")}
    assert networks["random"] == 3
    expected = {f"search/s{n}" for n in range(3)}
    expected |= {f"train/{arm}-{n}" for arm, number in networks.items() for n in range(number)}
    expected |= {f"final/{arm}-s{n}" for arm in networks for n in range(2)}
    assert set(runs) == expected
    for name, run in runs.items():
        assert run.config["kind"] == ("search" if name.startswith("search") else "train")
        assert run.config["data"]["name"] == str(folder / "few.npz")
    assert load_model(folder / "usual/final/found-s1/last.safetensors").facts["seed"] == 1
    assert find_genotype(str(folder / "usual")) == find_genotype(str(folder / "usual/final/found-s0"))


def test_searches_are_reported_as_they_were(folder: Path, usual: dict[str, Any]) -> None:
    names = [own["run"] for own in usual["arms"]["found"]["networks"]]
    for seed, row in enumerate(usual["searches"]):
        result = Run.read(folder / "usual" / row["run"]).result() or {}
        assert row["seed"] == seed == Run.read(folder / "usual" / row["run"]).config["seed"]
        for key in ("genotype", "valid_accuracy", "discrete_accuracy", "seconds"):
            assert row[key] == result[key]
        assert f"train/{row['network']}" in names


@pytest.mark.parametrize("arm", ["found", "random"])
def test_the_clearly_bad_and_the_many_are_dropped(arm: str, folder: Path, usual: dict[str, Any]) -> None:
    rows = {own["run"]: own for own in usual["arms"][arm]["networks"]}
    short = {name: own["short_accuracy"] for name, own in rows.items()}
    assert usual["examples"] == 16  # a quarter of 64
    reasons = reasons_to_prune(short, usual["examples"], 2)
    assert {name: own["dropped"] for name, own in rows.items()} == {name: reasons.get(name) for name in short}
    for name, own in rows.items():
        run = Run.read(folder / "usual" / name)
        metrics = run.metrics()
        assert metrics[0]["valid_accuracy"] == own["short_accuracy"]
        assert len(metrics) == (2 if own["dropped"] is None else 1)
        assert (run.result() is None) == (own["dropped"] is not None)
        assert own["accuracy"] == (metrics[1]["valid_accuracy"] if own["dropped"] is None else None)
    kept = {name: own["accuracy"] for name, own in rows.items() if own["dropped"] is None}
    assert f"train/{usual['arms'][arm]['best']}" == max(kept, key=lambda name: kept[name])


@pytest.mark.parametrize("arm", ["found", "random"])
def test_the_best_is_tested_with_every_seed(arm: str, folder: Path, usual: dict[str, Any]) -> None:
    own = usual["arms"][arm]
    results = [Run.read(folder / "usual" / f"final/{arm}-s{seed}") for seed in range(2)]
    last = [(run.result() or {})["last"]["test"]["top1"] for run in results]
    assert [row["accuracy"] for row in own["finals"]] == last
    assert [row["seed"] for row in own["finals"]] == [run.config["seed"] for run in results] == [0, 1]
    assert own["summary"] == {"mean": fmean(last), "deviation": stdev(last), "count": 2}
    assert own["parameters"] == (results[0].result() or {})["parameters"]
    assert own["flops"] == (results[0].result() or {})["flops"]
    assert usual["measured_on"] == "test"


def test_seconds_and_the_difference_add_up(usual: dict[str, Any]) -> None:
    found, other = usual["arms"]["found"], usual["arms"]["random"]
    for arm, searching in ((found, sum(own["seconds"] for own in usual["searches"])), (other, 0.0)):
        choosing = sum(own["seconds"] for own in arm["networks"])
        final = sum(own["seconds"] for own in arm["finals"])
        assert arm["seconds"]["total"] == pytest.approx(searching + choosing + final)
    accuracies = [[own["accuracy"] for own in arm["finals"]] for arm in (found, other)]
    expected = compare(*accuracies)
    assert list(usual["difference"].values()) == [expected.mean, expected.low, expected.high]
    assert usual["verdict"].count(".") >= 1


def test_all_trainings_have_equal_settings(folder: Path) -> None:
    for stage, seeds in (("train", {2}), ("final", {0, 1})):
        runs = [run for name, run in inner_runs(folder / "usual").items() if name.startswith(stage)]
        assert {run.config["seed"] for run in runs} == seeds
        others = [{**run.config, "seed": 0, "cell": ""} for run in runs]
        assert all(own == others[0] for own in others)


def test_the_same_again_is_the_same(folder: Path, data: str, tmp_path: Path) -> None:
    run_protocol(tmp_path / "run", settings(data, "keep=2", "searches=3"))
    assert all_results(tmp_path / "run") == all_results(folder / "usual")


def test_images_are_loaded_once(data: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loaded: list[str] = []
    load = search_config.load_images
    monkeypatch.setattr(
        search_config, "load_images", lambda name, how: loaded.append(name) or load(name, how)
    )
    run_protocol(tmp_path / "run", settings(data, "random=none", "seeds=1"))
    assert loaded == [data]
    Protocol(settings(data, "train.data.name=digits"))
    assert loaded == [data, data, "digits"]
    Protocol(settings(data, "train.data.area=0.5"))  # parts are taken of other images than are searched on
    assert loaded[3:] == [data, data]


class Forbidden(ImageSet):
    """Images that nobody may look at while `closed` says so."""

    closed = False

    def _check(self) -> None:
        assert not Forbidden.closed, "test images are looked at"

    def to(self, device: torch.device | str) -> ImageSet:
        self._check()
        return super().to(device)

    def take(self, indices: torch.Tensor) -> ImageSet:
        self._check()
        return super().take(indices)

    def fingerprint(self) -> str:
        self._check()
        return super().fingerprint()


def test_networks_are_chosen_without_test_images(
    data: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    load = search_config.load_images

    def guarded(name: str, how: LoadOptions) -> Dataset:
        found = load(name, how)
        assert isinstance(found.test, ImageSet)
        return replace(found, test=Forbidden(found.test.images, found.test.labels))

    monkeypatch.setattr(search_config, "load_images", guarded)
    protocol = start(tmp_path / "run", settings(data))
    data_set = protocol.builder.images(protocol.config.search.data)
    data_set.fingerprint  # noqa: B018  # which searches save; it is of all images
    monkeypatch.setattr(Forbidden, "closed", True)
    assert protocol.run is not None
    with protocol.run, pytest.raises(RunError, match="test images are looked at"):
        protocol.fit()
    assert {name.split("/")[0] for name in inner_runs(tmp_path / "run")} == {"search", "train"}
    taken = json.loads((tmp_path / "run/decisions.json").read_text())
    assert {"cells of final-found", "cells of final-random"} <= set(taken)


@pytest.mark.parametrize("share", ["0", "null"])
def test_a_tenth_is_held_out_where_nothing_is(share: str, data: str) -> None:
    protocol = Protocol(settings(data, f"train.data.valid={share}"))
    assert protocol.planned["train-found"][0].config["data"]["valid"] == 0.1
    assert protocol.examples == 6


def test_without_test_images_validation_images_are_measured(tmp_path: Path) -> None:
    found = run_protocol(tmp_path / "run", settings(few_digits(tmp_path / "few.npz", test=0), "random=none"))
    assert found["measured_on"] == "valid"
    last = (Run.read(tmp_path / "run/final/found-s0").result() or {})["last"]
    assert found["arms"]["found"]["finals"][0]["accuracy"] == last["valid"]["top1"]


def test_equal_genotypes_are_trained_once(data: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    same = settings(data, "random=none", "search.method=darts", "search.epochs=1", "seeds=1")
    conclude = Searcher._conclude

    def fixed(searcher: Searcher) -> Any:
        return replace(conclude(searcher), genotype=SKIPS)

    monkeypatch.setattr(Searcher, "_conclude", fixed)
    said: list[str] = []
    found = run_protocol(tmp_path / "run", same, message=said.append)
    assert [own["network"] for own in found["searches"]] == ["found-0", "found-0"]
    (network,) = found["arms"]["found"]["networks"]
    assert list(network["seeds"]) == [0, 1]
    assert network["dropped"] is None
    assert "the searches with seeds 0, 1 found the same network: it is trained once" in said


def test_without_random_networks_nothing_is_compared(data: str, tmp_path: Path) -> None:
    found = run_protocol(tmp_path / "run", settings(data, "random=none", "seeds=1"))
    assert set(found["arms"]) == {"found"}
    assert found["difference"] is None
    assert found["verdict"] == "No random architectures were trained to compare with."
    assert found["arms"]["found"]["summary"]["deviation"] is None


def test_random_networks_get_the_time_of_the_searches(
    data: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # A clock of their own: 25 s for the searches, 10 s for a short training.
    monkeypatch.setattr(Searcher, "seconds", property(lambda _: 12.5, lambda *_: None), raising=False)
    clock = property(lambda trainer: 10.0 * (trainer.epoch + 1), lambda *_: None)
    monkeypatch.setattr(Trainer, "seconds", clock, raising=False)
    found = run_protocol(tmp_path / "run", settings(data, "random=time", "seeds=1"))
    number = len(found["arms"]["found"]["networks"])
    assert len(found["arms"]["random"]["networks"]) == number + math.floor(25 / 10)
    taken = json.loads((tmp_path / "run/decisions.json").read_text())["budget of train-random"]
    assert taken == {"search_seconds": 25.0, "short_seconds": [10.0] * number, "networks": number + 2}


def test_slow_random_networks_get_no_more_time(
    data: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # 25 s for the searches and 10 s for each of two short trainings; 20 s for those of random networks.
    monkeypatch.setattr(Searcher, "seconds", property(lambda _: 12.5, lambda *_: None), raising=False)

    def clock(trainer: Trainer) -> float:
        slow = trainer.run is not None and trainer.run.path.name.startswith("random")
        return (20.0 if slow else 10.0) * (trainer.epoch + 1)

    monkeypatch.setattr(Trainer, "seconds", property(clock, lambda *_: None), raising=False)
    said: list[str] = []
    found = run_protocol(tmp_path / "run", settings(data, "random=time", "seeds=1"), message=said.append)
    assert len(found["arms"]["found"]["networks"]) == 2
    assert len(found["arms"]["random"]["networks"]) == 2  # of 4: a third would come to 60 s, more than 45
    assert "the time is spent after 2 random networks" in said
    with Run.resume(tmp_path / "run") as run:
        assert without_times(reopen(run).fit().facts()) == without_times(found)


@pytest.mark.usefixtures("without_checksums")
def test_a_budget_stands_once_it_is_decided(
    data: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Searcher, "seconds", property(lambda _: 0.0, lambda *_: None), raising=False)
    config = settings(data, "random=time", "seeds=1")
    found = run_protocol(tmp_path / "run", config)
    path = tmp_path / "run/decisions.json"
    taken = json.loads(path.read_text())
    assert taken["budget of train-random"]["networks"] == len(found["arms"]["found"]["networks"])
    later = ("cells of train-random", "train-random after 1", "cells of final-random")
    kept = {key: own for key, own in taken.items() if key not in later}
    kept["budget of train-random"] |= {"networks": 3, "search_seconds": 1000.0}
    path.write_text(json.dumps(kept))
    with Run.resume(tmp_path / "run") as run:
        again = reopen(run).fit().facts()
    assert len(again["arms"]["random"]["networks"]) == 3


def test_what_is_short_is_not_paused(data: str, tmp_path: Path) -> None:
    found = run_protocol(tmp_path / "run", settings(data, "short=2", "random=none", "seeds=1"))
    for network in found["arms"]["found"]["networks"]:
        assert network["short_accuracy"] is None
        assert network["dropped"] is None
        assert network["accuracy"] is not None
    starts = [len(run.environment()) for name, run in inner_runs(tmp_path / "run").items() if "train" in name]
    assert set(starts) == {1}


def test_epochs_are_measured_where_networks_are_dropped(data: str, tmp_path: Path) -> None:
    found = run_protocol(
        tmp_path / "run",
        settings(data, "train.evaluation.every=4", "train.epochs=4", "short=2", "random=none", "seeds=1"),
    )
    assert all(own["short_accuracy"] is not None for own in found["arms"]["found"]["networks"])
    rows = inner_runs(tmp_path / "run")["train/found-0"].metrics()
    assert ["valid_accuracy" in row for row in rows][:2] == [False, True]


class StopRule(Hook):
    """Stops a protocol after so many steps of all its loops."""

    def __init__(self, steps: int) -> None:
        self.left, self.protocol = steps, None

    def on_step_end(self, _: Any) -> None:
        self.left -= 1
        if self.left == 0 and self.protocol is not None:
            self.protocol.stop()


@pytest.mark.parametrize("steps", [5, 13, 40])
def test_a_protocol_that_was_stopped_goes_on(steps: int, data: str, folder: Path, tmp_path: Path) -> None:
    hook = StopRule(steps)
    protocol = start(tmp_path / "run", settings(data, "keep=2", "searches=3"), hooks=[hook])
    hook.protocol = protocol
    assert protocol.run is not None
    with protocol.run, pytest.raises(Stopped, match="stopped"):
        protocol.fit()
    assert hook.left == 0
    with Run.resume(tmp_path / "run") as run:
        reopen(run).fit()
    assert all_results(tmp_path / "run") == all_results(folder / "usual")


def test_a_protocol_that_is_stopped_before_it_begins_does_nothing(data: str, tmp_path: Path) -> None:
    protocol = start(tmp_path / "run", settings(data))
    protocol.stop()
    assert protocol.run is not None
    with protocol.run:
        with pytest.raises(Stopped, match="stopped; runs not begun"):
            protocol.fit()
        assert inner_runs(tmp_path / "run") == {}
        assert protocol.fit().searches[0].seed == 0


def test_a_finished_protocol_says_its_result_again(folder: Path, usual: dict[str, Any]) -> None:
    before = {name: run.environment() for name, run in inner_runs(folder / "usual").items()}
    with Run.resume(folder / "usual") as run:
        assert json.loads(json.dumps(reopen(run).fit().facts())) == usual
    assert {name: run.environment() for name, run in inner_runs(folder / "usual").items()} == before


class Burst(TrainHook):
    """Makes trainings of some runs diverge at a step."""

    def __init__(self, step: int, *names: str) -> None:
        self.step, self.names = step, names

    def on_step_end(self, trainer: Trainer) -> None:
        if trainer.run is not None and trainer.run.path.name in self.names and trainer.step == self.step:
            raise DivergedError("the loss is not a number")


@pytest.mark.parametrize("step", [1, 4])
def test_a_network_that_diverges_is_dropped(step: int, data: str, tmp_path: Path) -> None:
    config = settings(data, "random=none", "seeds=1", "keep=2")
    found = run_protocol(tmp_path / "run", config, hooks=[Burst(step, "found-0")])
    bad, good = found["arms"]["found"]["networks"]
    assert (bad["dropped"], bad["accuracy"]) == (DIVERGED, None)
    assert good["dropped"] is None
    assert found["arms"]["found"]["best"] == "found-1"


def test_where_all_diverge_nothing_is_left(data: str, tmp_path: Path) -> None:
    config = settings(data, "random=none", "seeds=1")
    with pytest.raises(DivergedError, match="all found networks diverged; a smaller"):
        run_protocol(tmp_path / "run", config, hooks=[Burst(1, "found-0", "found-1")])


SMALL = ("random=none", "seeds=1")


@pytest.mark.parametrize("word", ["searches=1", "short=2", "keep=2", "seeds=2", "random=count", "seed=1"])
def test_every_setting_matters(word: str, data: str, small: dict[str, Any], tmp_path: Path) -> None:
    assert without_times(run_protocol(tmp_path / "run", settings(data, *SMALL, word))) != small


@pytest.fixture(scope="module")
def small(folder: Path) -> dict[str, Any]:
    """What the smallest protocol comes to."""
    return dict(without_times(run_protocol(folder / "small", settings(str(folder / "few.npz"), *SMALL))))


@pytest.mark.parametrize(
    ("word", "look"),
    [
        ("search.weights.lr=0.2", lambda search, *_: search.options.weights.lr == 0.2),
        ("search.seed=5", lambda search, *_: search.options.seed == 5),
        ("search.space.without=[none]", lambda search, *_: "none" not in search.space.ops),
        ("search.method=gdas", lambda search, *_: isinstance(search.relaxation, Gumbel)),
        ("train.weights.lr=0.05", lambda _, *both: {own.options.weights.lr for own in both} == {0.05}),
        ("train.seed=5", lambda _, *both: [own.options.seed for own in both] == [7, 5]),
        ("train.net.cells=2", lambda _, *both: {own.net.space.stack.cells for own in both} == {2}),
        ("train.data.name=digits", lambda _, *both: {len(own.data.train) for own in both} == {1500}),
        (
            "train.data.valid=0.5",
            lambda _, *both: {len(own.loaders.held_out["valid"]) for own in both} == {32},
        ),
    ],
)
def test_settings_of_searches_and_trainings_reach_them(
    word: str, look: Callable[..., bool], data: str
) -> None:
    def loops(*words: str) -> list[Any]:
        protocol = Protocol(settings(data, *words))
        return [protocol.build(stage) for stage in ("search", "train-found", "final-found")]

    assert look(*loops(word))
    assert not look(*loops())


def test_a_space_in_a_file_is_named_and_remembered(data: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(space_to_json(replace(get_space("nano"), name="mine")))
    found = run_protocol(tmp_path / "run", settings(data, f"search.space={file}", *SMALL))
    for name in ("search/s0", "train/found-0", "final/found-s0"):
        assert Run.read(tmp_path / "run" / name).config["space"]["name"] == str(file)
    file.unlink()
    with Run.resume(tmp_path / "run") as run:
        assert without_times(reopen(run).fit().facts()) == without_times(found)


def test_another_stack_takes_the_cells_and_is_remembered(data: str, tmp_path: Path) -> None:
    stack = tmp_path / "stack.json"
    stack.write_text(space_to_json(get_space("nano").resized(2)))
    config = settings(data, f"train.space.name={stack}", "random=none", "seeds=1")
    found = run_protocol(tmp_path / "run", config)
    assert load_model(tmp_path / "run/final/found-s0/last.safetensors").net.space.stack.cells == 2
    stack.unlink()
    with Run.resume(tmp_path / "run") as run:
        assert without_times(reopen(run).fit().facts()) == without_times(found)


@pytest.mark.usefixtures("without_checksums")
def test_old_decisions_that_were_changed_are_told(data: str, tmp_path: Path) -> None:
    protocol = start(tmp_path / "run", settings(data))
    (tmp_path / "run/decisions.json").write_text(json.dumps({"found": [{"name": "found-0"}]}))
    assert protocol.run is not None
    with protocol.run, pytest.raises(RunError, match="should hold the decisions of a protocol"):
        protocol.fit()


def test_a_protocol_needs_a_run(data: str) -> None:
    with pytest.raises(RunError, match="a protocol needs a run to write to"):
        Protocol(settings(data)).fit()


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.001, 0.019, "Search beat random here: +1.00 points, 95 % interval +0.10 to +1.90."),
        (0.0, 0.02, "Search did not beat random here, nor random search: +1.00 points"),
        (-0.01, 0.03, "Search did not beat random here, nor random search: +1.00 points"),
        (None, None, "With one seed nobody can say whether search beat random here: +1.00 points"),
    ],
)
def test_the_verdict(low: float | None, high: float | None, words: str) -> None:
    assert verdict(Difference(0.01, low, high)).startswith(words)


def test_random_can_win() -> None:
    assert verdict(Difference(-0.01, -0.02, -0.001)).startswith("Random beat search here: -1.00 points")


@pytest.mark.usefixtures("without_checksums")
def test_options_that_an_old_protocol_does_not_know_have_the_value_of_then(data: str, tmp_path: Path) -> None:
    config = settings(data, "search.method=asm", "search.method.init=random", "random=none", *SMALL)
    before = run_protocol(tmp_path / "p", config)
    for file in (tmp_path / "p").glob("**/config.yaml"):
        file.write_text(re.sub(r"\n *init: random", "", file.read_text()))
    with Run.resume(tmp_path / "p") as run:
        again = reopen(run)
        assert again.config.search.method.options["init"] == "random"
        assert without_times(again.fit().facts()) == without_times(before)
