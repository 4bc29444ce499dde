"""Random cells beside those that searches found: drawn once, as many as asked for or as the time pays for."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dartboard.errors import OptionError, RunError
from dartboard.jobs.executors.local import InlineExecutor
from dartboard.search import Searcher
from dartboard.search.config import SpaceChoice, build_space
from dartboard.space import all_connected, decode, enumerate_genotypes, get_space, restrict
from dartboard.sweep.random_cells import Budget, draw_genotypes, random_cells
from dartboard.sweep.results import read_results
from dartboard.train import Trainer
from helpers.protocol_cases import few_digits
from helpers.sweep_cases import TRAINING, digests, sweep, tiny


@pytest.mark.parametrize("wanted", [0, 1, 5, 200, 1000])
def test_networks_drawn_are_different_and_of_the_space(wanted: int) -> None:
    space = get_space("nano")
    found = draw_genotypes(space, wanted, Random(1))
    assert len(found) == len(set(found)) == min(wanted, 205)  # 11 of the 216 are dead
    assert all(map(all_connected, found))
    for genotype in found:
        restrict(space, genotype)


def test_a_large_space_is_not_listed() -> None:
    found = draw_genotypes(get_space("darts"), 5, Random(1))
    assert len(set(found)) == 5


@pytest.mark.parametrize("wanted", [1, "half"])
def test_draws_are_uniform(wanted: int | str) -> None:
    space = get_space("nano").without("none").without("skip_connect")
    every = list(enumerate_genotypes(space))
    number = len(every) // 2 if wanted == "half" else 1
    rng, draws = Random(0), 20 * len(every) // number
    seen = Counter(genotype for _ in range(draws) for genotype in draw_genotypes(space, number, rng))
    assert len(seen) == len(every)
    spread = sum((seen[own] - 20) ** 2 / 20 for own in every)  # chi square, at most so for draws without
    assert spread < len(every) + 5 * (2 * len(every)) ** 0.5  # replacement


def test_the_seed_settles_what_is_drawn() -> None:
    space = get_space("nano")
    assert (
        draw_genotypes(space, 3, Random(1))
        == draw_genotypes(space, 3, Random(1))
        != draw_genotypes(space, 3, Random(2))
    )


def searched(config: Mapping[str, Any]) -> Any:
    return build_space(SpaceChoice.model_validate(config["space"]))


def test_every_space_that_was_searched_has_random_cells() -> None:
    configs = [
        {"space": {"name": "nano"}, "data": {"name": "digits", "size": 8, "pad": 1}},
        {"space": {"name": "nb201", "cells": 2, "without": ["none"]}, "data": {"name": "digits"}},
    ]
    cells = random_cells(configs, searched, 3, 0)
    assert [cell.label for cell in cells] == [f"random-{number}" for number in range(6)]
    assert [(cell.space, cell.stack) for cell in cells[2:4]] == [
        ("nano", get_space("nano").stack.cells),
        ("nb201", 2),
    ]
    assert cells[0].images == {"name": "digits", "size": 8}
    for cell in cells[3:]:
        restrict(get_space("nb201").without("none"), decode(cell.text))
    assert len({cell.text for cell in cells}) == 6
    assert cells == random_cells(configs, searched, 3, 0) != random_cells(configs, searched, 3, 1)


def test_a_budget_is_spent_before_it_is_exceeded() -> None:
    budget = Budget(25.0, [10.0, 10.0], 4)
    assert [budget.is_spent(seconds) for seconds in (0.0, 35.0, 35.1, 40.0)] == [False, False, True, True]


pytestmark = pytest.mark.usefixtures("one_thread")
SCREEN: dict[str, Any] = {
    **dict(word.split("=") for word in TRAINING),
    "data.valid": 0.25,
    "epochs": 2,
    "seed": 2,
}


@pytest.fixture
def data(tmp_path: Path) -> str:
    return few_digits(tmp_path / "few.npz")


def stages(data: str, cells: str, **more: Any) -> dict[str, Any]:
    """A sweep that trains what searches found, and random cells."""
    search = {"do": "search", "settings": {**tiny(data)["settings"], "epochs": 1}, "grid": {"seed": "0..1"}}
    screen = {"do": "train", "cells": "search", "settings": typed(SCREEN), "stop": {"after": 1, "keep": 1}}
    return {"stages": {"search": search, "screen": screen, "random": {**screen, "cells": cells, **more}}}


def typed(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: json.loads(value) if isinstance(value, str) else value for key, value in values.items()}


def decisions(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "decisions.json").read_text()))


def test_random_cells_are_drawn_once(data: str, tmp_path: Path) -> None:
    values = stages(data, "random 3 of search")
    rows = sweep(tmp_path / "a", values).run()
    names = [row["name"] for row in rows if row["stage"] == "random"]
    assert names == [f"random/random-{number}-s2" for number in range(3)]
    taken = decisions(tmp_path / "a")["cells of random"]
    assert (taken["random"], taken["seed"], len(taken["cells"])) == (3, 0, 3)
    before = digests(tmp_path / "a")
    sweep(tmp_path / "a", values).run()
    assert digests(tmp_path / "a") == before
    for change in ({"cells": "random 4 of search"}, {"cells_seed": 1}, {"cells": "search"}):
        other = stages(data, "random 3 of search")
        other["stages"]["random"] |= change
        words = r"random has taken 3 random cells \(seed 0\) of search already, so it cannot take "
        with pytest.raises(RunError, match=words):
            sweep(tmp_path / "a", other)


def test_the_seed_of_random_cells_matters(data: str, tmp_path: Path) -> None:
    for seed in (0, 1):
        sweep(tmp_path / str(seed), stages(data, "random 2 of search", cells_seed=seed)).run()
    first, second = (decisions(tmp_path / str(seed))["cells of random"]["cells"] for seed in (0, 1))
    assert [cell["text"] for cell in first] != [cell["text"] for cell in second]


@pytest.mark.parametrize("stage", ["search", "screen"])
def test_a_seed_without_random_cells_is_refused(stage: str, data: str, tmp_path: Path) -> None:
    values = stages(data, "random 2 of search")
    values["stages"][stage]["cells_seed"] = 1
    with pytest.raises(OptionError, match=f"{stage}: cells_seed: it has no random cells to draw"):
        sweep(tmp_path / "a", values)


def set_clock(monkeypatch: pytest.MonkeyPatch, random_seconds: float) -> None:
    """Searches take 12.5 s, an epoch of a training 10 s, one of a random cell as long as is said."""
    monkeypatch.setattr(Searcher, "seconds", property(lambda _: 12.5, lambda *_: None), raising=False)

    def clock(trainer: Trainer) -> float:
        is_random = trainer.run is not None and trainer.run.path.name.startswith("random")
        return (random_seconds if is_random else 10.0) * (trainer.epoch + 1)

    monkeypatch.setattr(Trainer, "seconds", property(clock, lambda *_: None), raising=False)


def test_random_cells_get_the_time_of_the_searches(
    data: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_clock(monkeypatch, 10.0)
    values = stages(data, "random within the time of screen")
    rows = sweep(tmp_path / "a", values).run()
    found = len(decisions(tmp_path / "a")["cells of screen"]["cells"])
    assert sum(row["stage"] == "random" for row in rows) == found + 2  # 25 s pay for two of 10 s
    assert decisions(tmp_path / "a")["budget of random"] == {
        "search_seconds": 25.0,
        "short_seconds": [10.0] * found,
        "networks": found + 2,
    }


@pytest.mark.parametrize("capacity", [1, 3])
def test_slow_random_cells_get_no_more_time(
    capacity: int, data: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_clock(monkeypatch, 20.0)
    monkeypatch.setattr(InlineExecutor, "capacity", capacity)
    values = stages(data, "random within the time of screen")
    sweep(tmp_path / "a", values).run()
    found = len(decisions(tmp_path / "a")["cells of screen"]["cells"])
    rows = [row for row in read_results(tmp_path / "a") if row["stage"] == "random"]
    assert len(rows) == found + 2
    counted = (25 + 10 * found - 10) // 20 + 1  # another one is trained if 10 s are left for it
    assert all(row["reason"] in ("", "not the best") for row in rows[:counted])
    for number, row in enumerate(rows[counted:], counted):
        assert (row["state"], row["reason"]) == ("dropped", "the time of random cells is spent")
        assert row["epochs"] == (number < capacity)  # those that are trained at a time do not wait
        assert Path(row["path"]).exists() == (number < capacity)
    assert [row["state"] for row in rows].count("finished") == 1
    text = (tmp_path / "a" / "results.jsonl").read_text()
    sweep(tmp_path / "a", values).run()  # and it stays so
    assert (tmp_path / "a" / "results.jsonl").read_text() == text


def test_searches_that_differ_in_other_settings_have_the_same_random_cells(data: str, tmp_path: Path) -> None:
    values = stages(data, "random 2 of search")
    values["stages"]["search"]["grid"] = {"data.pad": [0, 1]}
    sweep(tmp_path / "a", values).run()
    cells = decisions(tmp_path / "a")["cells of random"]["cells"]
    assert len({cell["text"] for cell in cells}) == len(cells) == 2


def test_the_time_of_several_spaces_is_refused(data: str, tmp_path: Path) -> None:
    values = stages(data, "random within the time of screen")
    values["stages"]["search"]["grid"] = {"space": ["nano", "nb201"]}
    with pytest.raises(OptionError, match=r"random: cells: .*: expected searches of one space on the same"):
        sweep(tmp_path / "a", values)
