"""Decisions of earlier versions, read as those of a sweep; whole protocols are in tests/runs."""

import json
from pathlib import Path
from typing import Any

from dartboard.sweep.cells import SweepCell
from dartboard.sweep.decision_log import DecisionLog, read_budget, read_cells, read_rung
from dartboard.sweep.protocol.config import load_protocol
from dartboard.sweep.protocol.old_decisions import convert, is_old
from dartboard.sweep.pruning import DIVERGED
from dartboard.sweep.random_cells import NO_TIME, Budget

SEARCHES = ["search/s0", "search/s1", "search/s2"]
CELL = SweepCell("any-0", "", "nano", 3, {"name": "digits"})


def row(short: float | None, dropped: str | None = None) -> dict[str, Any]:
    return {"short": short, "short_seconds": 10.0, "accuracy": None, "dropped": dropped}


OLD: dict[str, Any] = {
    "stack": "{}",
    "found": [
        {"name": "found-0", "genotype": {"a": 1}, "seeds": [0, 2]},
        {"name": "found-1", "genotype": {"a": 2}, "seeds": [1]},
    ],
    "kept found": {"found-0": row(0.5), "found-1": row(0.4)},
    "best found": {
        "name": "found-0",
        "trials": {"found-0": {"accuracy": 0.6}, "found-1": {"accuracy": None, "dropped": DIVERGED}},
    },
    "budget": {"search_seconds": 5.0, "short_seconds": [10.0], "networks": 3},
    "random": [{"name": f"random-{n}", "genotype": {"a": n}, "seeds": []} for n in range(3)],
    "kept random": {"random-0": row(None, DIVERGED), "random-1": row(0.3)},
    "best random": {"name": "random-1", "trials": {"random-1": {"accuracy": 0.7}}},
}


def converted(folder: Path, old: dict[str, Any], *words: str) -> DecisionLog:
    config = load_protocol(words=["short=2", "keep=4", "train.epochs=3", "seed=9", "searches=3", *words])
    (folder / "decisions.json").write_text(json.dumps(convert(old, config, SEARCHES, CELL)))
    return DecisionLog(folder)


def test_every_decision_is_read(tmp_path: Path) -> None:
    log = converted(tmp_path, OLD)
    assert is_old(OLD)
    assert not is_old(log.decisions)
    assert log.get("stack") == "{}"
    found, final = read_cells(log, "train-found"), read_cells(log, "final-found")
    assert found is not None
    assert [(cell.label, cell.text, cell.runs, cell.space) for cell in found.cells] == [
        ("found-0", '{"a": 1}', ["search/s0", "search/s2"], "nano"),
        ("found-1", '{"a": 2}', ["search/s1"], "nano"),
    ]
    assert (found.among, found.taken) == (SEARCHES, "all cells")
    assert final is not None
    assert (final.finished, final.cells[0].label, final.taken) == (["train/found-0"], "found-0", "the best 1")
    assert read_budget(log, "train-random") == Budget(5.0, [10.0], 3)
    random = read_cells(log, "train-random")
    assert random is not None
    assert random.among == ["train/found-0", "train/found-1"]
    assert random.taken == "random cells for the time (seed 9)"
    rung = read_rung(log, "train-random", 2)
    assert rung is not None
    assert (rung.keep, rung.failed) == (4, {})
    assert rung.accuracies == {"train/random-0": None, "train/random-1": 0.3, "train/random-2": None}
    assert rung.pruned == {"train/random-0": DIVERGED, "train/random-2": NO_TIME}


def test_a_number_of_random_networks(tmp_path: Path) -> None:
    log = converted(tmp_path, {**OLD, "budget": {"networks": 3}}, "random=count")
    random = read_cells(log, "train-random")
    assert random is not None
    assert (random.among, random.taken) == (SEARCHES, "3 random cells (seed 9)")
    assert read_budget(log, "train-random") is None


def test_what_was_not_decided_is_not(tmp_path: Path) -> None:
    log = converted(tmp_path, {key: OLD[key] for key in ("stack", "found")}, "train.epochs=2")
    assert list(log.decisions) == ["stack", "cells of train-found"]
    log = converted(tmp_path, OLD, "train.epochs=2")  # no longer than short trainings, which are not compared
    assert read_rung(log, "train-random", 2) is None
