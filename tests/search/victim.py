"""A small search that is there to be killed.

usage: python victim.py DIRECTORY METHOD PLACES

Starts the search, or goes on with it, and writes a line at every place it comes to: the number of each step,
then `select`. After so many places it waits to be killed.
"""

import os
import sys
import time
from pathlib import Path
from random import Random

import torch

from dartboard.data import Dataset, ImageSet
from dartboard.runs import Run
from dartboard.search import Hook, Searcher, SearchOptions, make_method
from dartboard.search.options import CheckpointOptions, DataOptions, NetOptions
from dartboard.space import get_space

EPOCHS, STEPS, BATCH = 3, 5, 4
PATIENCE = 60
"""Nobody kills it after so many seconds: it leaves by itself."""


def score(genotype):
    """How good an architecture is, by chance, but always the same."""
    return Random(repr(genotype)).random()


OPTIONS = {
    "pc-darts": {"warmup": 1},
    "gaea-pc-darts": {"warmup": 1},
    "xnas": {"zeta": 0.05},
    "random-ws": {"samples": 5, "epoch_samples": 3},
    "evolution": {"score": score, "population": 5, "tournament": 2, "cycles": 20},
}
"""What a method needs to have something to lose in a few steps."""


class Places(Hook):
    """Says where the search is, and holds it after so many places."""

    def __init__(self, places):
        self.left = places

    def on_step_end(self, searcher):
        self.say(searcher.step)

    def on_select(self, _):
        self.say("select")

    def say(self, place):
        os.write(1, f"{place}\n".encode())
        self.left -= 1
        if self.left == 0:
            time.sleep(PATIENCE)
            os._exit(3)


def images():
    """Random images, dark ones and bright ones; half of them are held out."""
    labels = torch.arange(2 * STEPS * BATCH) % 2
    chance = torch.Generator().manual_seed(0)
    pixels = torch.randint(192, (len(labels), 3, 8, 8), generator=chance) + 64 * labels[:, None, None, None]
    return Dataset("noise", ("dark", "bright"), ImageSet(pixels.to(torch.uint8), labels))


def make(method, run, hooks=()):
    """The search, with chance wherever a search can have it."""
    options = SearchOptions(
        epochs=EPOCHS,
        batch=BATCH,
        net=NetOptions(channels=4, drop_path=0.2),
        data=DataOptions(valid=0.5, pad=1, flip=True),
        checkpoint=CheckpointOptions(steps=2),
    )
    made = make_method(method, OPTIONS.get(method, {}))
    return Searcher(get_space("nano"), made, images(), options, run=run, hooks=hooks)


def open_run(path):
    """The run in a directory, which may have to be made."""
    return Run.resume(path) if (path / "config.yaml").exists() else Run.create(path, {"victim": path.name})


if __name__ == "__main__":
    torch.set_num_threads(1)
    directory, method, places = sys.argv[1:]
    with open_run(Path(directory)) as run:
        make(method, run, [Places(int(places))]).fit()
