"""Decisions of protocols as earlier versions recorded them, in the form of those of a sweep."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from dartboard.sweep.cells import SweepCell
from dartboard.sweep.decision_log import budget_key, cells_key, rung_key
from dartboard.sweep.protocol.config import ProtocolConfig
from dartboard.sweep.protocol.preset import FINAL, FOUND, RANDOM, TRAIN
from dartboard.sweep.random_cells import NO_TIME


def is_old(decisions: Mapping[str, Any]) -> bool:
    """True if an earlier version recorded these decisions."""
    return FOUND in decisions


def convert(
    old: Mapping[str, Any], config: ProtocolConfig, searches: Sequence[str], cell: SweepCell
) -> dict[str, Any]:
    """The decisions of a protocol as those of a sweep.

    Args:
        old: Decisions of an earlier version by name: `found`, `kept found`, `best found`, `budget` and so on.
        config: The protocol.
        searches: Names of its searches.
        cell: Any cell of its space, with the images of the searches.
    """
    new = {key: value for key, value in old.items() if key == "stack"}
    before: dict[str, Sequence[str]] = {FOUND: searches, RANDOM: searches}
    drawn: dict[str, dict[str, Any]] = {FOUND: {}, RANDOM: {"random": config.searches, "seed": config.seed}}
    if config.random == "time":
        before[RANDOM] = [f"train/{entry['name']}" for entry in old[FOUND]]
        drawn[RANDOM]["random"] = "time"
        new |= {budget_key(TRAIN[RANDOM]): old["budget"]} if "budget" in old else {}
    for arm in [arm for arm in (FOUND, RANDOM) if arm in old]:
        cells = {entry["name"]: asdict(_to_cell(entry, cell)) for entry in old[arm]}
        taken = {"among": before[arm], "finished": before[arm], "cells": list(cells.values())}
        new[cells_key(TRAIN[arm])] = {"best": None, **drawn[arm], **taken}
        kept, best = old.get(f"kept {arm}"), old.get(f"best {arm}")
        if kept is not None and config.short < config.train.epochs:
            rows = {f"train/{name}": kept.get(name, {"short": None, "dropped": NO_TIME}) for name in cells}
            new[rung_key(TRAIN[arm], config.short)] = {
                "keep": config.keep,
                "accuracies": {name: row["short"] for name, row in rows.items()},
                "dropped": {name: row["dropped"] for name, row in rows.items() if row["dropped"] is not None},
                "failed": {},
            }
        if best is not None:
            ends = {f"train/{name}": trial["accuracy"] for name, trial in best["trials"].items()}
            finished = [name for name, accuracy in ends.items() if accuracy is not None]
            taken = {"among": [f"train/{name}" for name in cells], "finished": finished}
            new[cells_key(FINAL[arm])] = {"best": 1, **taken, "cells": [cells[best["name"]]]}
    return new


def _to_cell(entry: Mapping[str, Any], cell: SweepCell) -> SweepCell:
    """The cell of an entry of an old decision, with what all cells of a protocol have in common."""
    runs = [f"search/s{seed}" for seed in entry["seeds"]]
    return replace(cell, label=entry["name"], text=json.dumps(entry["genotype"]), runs=runs)
