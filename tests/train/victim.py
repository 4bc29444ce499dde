"""A small training that is there to be killed.

usage: python victim.py DIRECTORY KIND PLACES

Starts the training, or goes on with it, and writes a line at every place it comes to: the number of each
step, then `select`. After so many places it waits to be killed.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from dartboard.data import Dataset
from dartboard.space import adopt, get_published, get_space
from dartboard.train import Trainer, TrainOptions
from helpers.kill_targets import images, run_target

EPOCHS, STEPS, BATCH = 3, 5, 8

KINDS = {
    "plain": {},
    "everything": {
        "net": {"auxiliary": 0.4, "drop_path": 0.3},
        "data": {"mixup": 0.4, "cutout": 4},
        "weights": {"ema": 0.9, "nesterov": True, "smoothing": 0.1, "cycles": 2, "by": "step"},
    },
    "bf16": {"precision": "bf16"},
}


def make(kind, run, hooks=()):
    """The training, with chance wherever a training can have it."""
    values = {
        "epochs": EPOCHS,
        "batch": BATCH,
        "net": {"channels": 4, "cells": 3, "auxiliary": 0.0, "drop_path": 0.0},
        "data": {"pad": 1, "flip": True, "cutout": 0},
        "checkpoint": {"steps": 2},
    }
    for key, value in KINDS[kind].items():
        values[key] = {**values.get(key, {}), **value} if isinstance(value, dict) else value
    space = adopt(get_space("darts"), get_published("darts-v2"))
    data = Dataset("noise", ("dark", "bright"), images(STEPS * BATCH), images(20, seed=1))
    return Trainer(space, data, TrainOptions.model_validate(values), run=run, hooks=hooks)


if __name__ == "__main__":
    run_target(make)
