"""Files as NAS-Bench-201 and NATS-Bench write them, with made-up numbers."""

import bz2
import pickle
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

EPOCHS = 200
SETS = {
    "cifar10-valid": ("x-valid", "ori-test"),
    "cifar10": ("ori-test",),
    "cifar100": ("ori-test", "x-valid", "x-test"),
    "ImageNet16-120": ("ori-test", "x-valid", "x-test"),
}
"""What is trained on, and what is measured on after each training."""
SEEDS = (777, 888, 999)


def accuracy(index: int, trained: str, measured: str, seed: int) -> float:
    """An accuracy that no other cell, training or seed has."""
    place = list(SETS).index(trained) * 3 + SETS[trained].index(measured)
    return 10 + 6 * place + index * 1e-4 + (seed - 888) / 111 * (0.3 + index % 7)


def trial(index: int, trained: str, seed: int, epochs: int) -> dict[str, Any]:
    """One training; only the last epoch of what is measured matters, the one before it is another."""
    last = {f"{name}@{epochs - 1}": accuracy(index, trained, name, seed) for name in SETS[trained]}
    before = {f"{name}@{epochs - 2}": 1.0 for name in SETS[trained]}
    return {
        "name": trained,
        "net_state_dict": None,
        "train_acc1es": dict.fromkeys((epochs - 2, epochs - 1), 50.0),
        "train_acc5es": dict.fromkeys((epochs - 2, epochs - 1), 90.0),
        "train_losses": dict.fromkeys((epochs - 2, epochs - 1), 1.5),
        "train_times": OrderedDict(dict.fromkeys((epochs - 2, epochs - 1), 12.0)),
        "arch_config": {"channel": 16, "num_cells": 5, "class_num": 10},
        "params": np.float64((100_000 + index + 5850 * (trained == "cifar100")) / 1e6),
        "flop": 10 + index * 1e-3,
        "seed": seed,
        "epochs": epochs,
        "latency": [0.01],
        "eval_names": list(SETS[trained]),
        "eval_acc1es": before | last,
        "eval_times": dict.fromkeys(before | last, 2.5),
        "eval_losses": dict.fromkeys(before | last, 1.25),
    }


def results(index: int, cell: str, seeds: Sequence[int], epochs: int) -> dict[str, Any]:
    """All trainings of one schedule."""
    trials = {(name, seed): trial(index, name, seed, epochs) for name in SETS for seed in seeds}
    seen = {name: list(seeds) for name in SETS}
    own = {"arch_index": index, "arch_str": cell, "all_results": trials, "dataset_seed": seen}
    return own | {"clear_net_done": True}


def cell_file(index: int, cell: str, seeds: Sequence[int] = SEEDS) -> dict[str, Any]:
    """What the file of a cell holds."""
    both = (("12", results(index + 5, cell, (111,), 12)), ("200", results(index, cell, seeds, EPOCHS)))
    return OrderedDict(both)


def save(path: Path, value: object) -> None:
    """Writes a value as NATS-Bench does."""
    path.write_bytes(bz2.compress(pickle.dumps(value, protocol=4), 1))


def meta(cells: Sequence[str]) -> dict[str, Any]:
    """What the file of all cells holds."""
    return {
        "meta_archs": list(cells),
        "total_archs": len(cells),
        "arch2infos": None,
        "evaluated_indexes": set(),
    }


def nats_folder(folder: Path, cells: Sequence[str], written: int) -> Path:
    """A folder that lists all cells and has the files of the first few."""
    folder.mkdir(exist_ok=True)
    save(folder / "meta.pickle.pbz2", meta(cells))
    for index, cell in enumerate(cells[:written]):
        save(folder / f"{index:06d}.pickle.pbz2", cell_file(index, cell))
    return folder


def whole_nats(cells: Sequence[str]) -> dict[str, Any]:
    """What the one file of NATS-Bench holds."""
    trainings = {index: cell_file(index, cell) for index, cell in enumerate(cells)}
    return meta(cells) | {"arch2infos": trainings, "evaluated_indexes": set(trainings)}


def whole_nb201(cells: Sequence[str]) -> dict[str, Any]:
    """What the one file of NAS-Bench-201 holds, version 1.0 or 1.1."""
    trainings = {
        index: {"full": own["200"], "less": own["12"]}
        for index, own in whole_nats(cells)["arch2infos"].items()
    }
    return meta(cells) | {"arch2infos": trainings, "evaluated_indexes": sorted(trainings)}
