"""A protocol as a sweep: its stages, where their cells come from, and what their runs are called."""

from pathlib import Path
from typing import Any

import pytest

from dartboard.errors import DartboardError
from dartboard.sweep.config import plain, validate
from dartboard.sweep.plan import SweepPlanner
from dartboard.sweep.protocol.config import ProtocolConfig, load_protocol
from dartboard.sweep.protocol.preset import RUN_NAMES, to_sweep
from helpers.protocol_cases import few_digits, settings

WORDS = ("searches=3", "short=2", "keep=2", "seeds=4", "seed=7", "train.epochs=9", "train.seed=20")


def config(*words: str) -> ProtocolConfig:
    return load_protocol(words=[*WORDS, *words])


@pytest.mark.parametrize(
    ("random", "cells"),
    [
        ("none", None),
        ("count", "random 3 of search"),
        ("time", "random within the time of train-found"),
    ],
)
def test_the_stages(random: str, cells: str | None) -> None:
    stages = to_sweep(config(f"random={random}")).stages
    arms = ["found"] if cells is None else ["found", "random"]
    assert list(stages) == ["search", *(f"{kind}-{arm}" for kind in ("train", "final") for arm in arms)]
    assert stages["search"].grid == {"seed": (7, 8, 9)}
    assert stages["train-found"].cells == "search"
    for arm in arms:
        train, final = stages[f"train-{arm}"], stages[f"final-{arm}"]
        assert (train.stop.after, train.stop.keep, train.grid) == ((2,), 2, {})
        assert train.settings["seed"] == 24  # none of the final ones
        assert (final.cells, final.stop.after) == (f"best of train-{arm}", ())
        assert final.grid == {"seed": (20, 21, 22, 23)}
    if cells is not None:
        assert (stages["train-random"].cells, stages["train-random"].cells_seed) == (cells, 7)


def test_what_is_short_is_compared_at_its_end() -> None:
    stages = to_sweep(config("short=9", "train.evaluation.every=6")).stages
    assert stages["train-found"].stop.after == ()
    assert stages["train-found"].settings["evaluation.every"] == 3


def test_it_could_be_written_in_a_file() -> None:
    sweep = to_sweep(config("search.method=gdas", "search.data.name=digits"))
    assert validate(plain(sweep)) == sweep


def planned(folder: Path, data: str, **options: Any) -> dict[str, list[str]]:
    runs = SweepPlanner(to_sweep(settings(data)), folder, **options).rehearse()
    return {stage: [run.name for run in of_stage] for stage, of_stage in runs.items()}


def test_names_of_runs(tmp_path: Path) -> None:
    data = few_digits(tmp_path / "few.npz")
    names = planned(tmp_path / "run", data, names=RUN_NAMES)
    assert names["search"] == ["search/s0", "search/s1"]
    assert names["train-random"] == ["train/any-0"]
    assert names["final-found"] == ["final/found-s0", "final/found-s1"]
    assert planned(tmp_path / "run", data)["final-found"] == ["final-found/any-0-s0", "final-found/any-0-s1"]


def test_two_runs_of_a_stage_have_two_names(tmp_path: Path) -> None:
    with pytest.raises(DartboardError, match="two different runs would be called final/x"):
        planned(tmp_path / "run", few_digits(tmp_path / "few.npz"), names={"final-found": "final/x"})
