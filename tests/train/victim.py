"""A small training that is there to be killed.

usage: python victim.py DIRECTORY KIND PLACES

Starts the training, or goes on with it, and writes a line at every place it comes to: the number of each
step, then `select`. After so many places it waits to be killed.
"""

import os
import sys
import time
from pathlib import Path

import torch

from dartboard.data import Dataset, ImageSet
from dartboard.runs import Run
from dartboard.space import adopt, get_published, get_space
from dartboard.train import Trainer, TrainHook, TrainOptions

EPOCHS, STEPS, BATCH = 3, 5, 8
PATIENCE = 60
"""Nobody kills it after so many seconds: it leaves by itself."""

KINDS = {
    "plain": {},
    "everything": {
        "net": {"auxiliary": 0.4, "drop_path": 0.3},
        "data": {"mixup": 0.4, "cutout": 4},
        "weights": {"ema": 0.9, "nesterov": True, "smoothing": 0.1, "cycles": 2, "by": "step"},
    },
    "bf16": {"precision": "bf16"},
}


class Places(TrainHook):
    """Says where the training is, and holds it after so many places."""

    def __init__(self, places):
        self.left = places

    def on_step_end(self, loop):
        self.say(loop.step)

    def on_select(self, _):
        self.say("select")

    def say(self, place):
        os.write(1, f"{place}\n".encode())
        self.left -= 1
        if self.left == 0:
            time.sleep(PATIENCE)
            os._exit(3)


def images(count, seed):
    """Random images, dark ones and bright ones."""
    labels = torch.arange(count) % 2
    chance = torch.Generator().manual_seed(seed)
    pixels = torch.randint(192, (count, 3, 8, 8), generator=chance) + 64 * labels[:, None, None, None]
    return ImageSet(pixels.to(torch.uint8), labels)


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
    data = Dataset("noise", ("dark", "bright"), images(STEPS * BATCH, 0), images(20, 1))
    return Trainer(space, data, TrainOptions.model_validate(values), run=run, hooks=hooks)


def open_run(path):
    """The run in a directory, which may have to be made."""
    return Run.resume(path) if (path / "config.yaml").exists() else Run.create(path, {"victim": path.name})


if __name__ == "__main__":
    torch.set_num_threads(1)
    directory, kind, places = sys.argv[1:]
    with open_run(Path(directory)) as run:
        make(kind, run, [Places(int(places))]).fit()
