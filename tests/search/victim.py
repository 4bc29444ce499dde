"""A small search that is there to be killed.

usage: python victim.py DIRECTORY METHOD PLACES

Starts the search, or goes on with it, and writes a line at every place it comes to: the number of each step,
then `select`. After so many places it waits to be killed.
"""

import sys
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent.parent))

from dartboard.data import Dataset
from dartboard.engine.config import CheckpointOptions, DataOptions, NetOptions
from dartboard.search import Searcher, SearchOptions, make_method
from dartboard.space import get_space
from helpers.kill_targets import images, run_target

EPOCHS, STEPS, BATCH = 3, 5, 4


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
    data = Dataset("noise", ("dark", "bright"), images(2 * STEPS * BATCH))  # half of them are held out
    return Searcher(get_space("nano"), made, data, options, run=run, hooks=hooks)


if __name__ == "__main__":
    run_target(make)
