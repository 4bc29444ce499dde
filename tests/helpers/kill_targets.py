"""What scripts that are there to be killed share: where they say they are, their images, their start."""

import os
import sys
import time
from pathlib import Path

import torch

from dartboard.data import ImageSet
from dartboard.engine.hooks import LoopHook
from dartboard.runs import Run

PATIENCE = 60
"""Nobody kills them after so many seconds: they leave by themselves."""


class PlaceReporter(LoopHook):
    """Says where a loop is, and holds it after so many places."""

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


def images(count, seed=0):
    """Random images, dark ones and bright ones."""
    labels = torch.arange(count) % 2
    chance = torch.Generator().manual_seed(seed)
    pixels = torch.randint(192, (count, 3, 8, 8), generator=chance) + 64 * labels[:, None, None, None]
    return ImageSet(pixels.to(torch.uint8), labels)


def open_run(path):
    """The run in a directory, which may have to be made."""
    return Run.resume(path) if (path / "config.yaml").exists() else Run.create(path, {"victim": path.name})


def run_target(make):
    """Starts what the words of the command line ask for, DIRECTORY KIND PLACES, or goes on with it.

    Args:
        make: The loop of a kind, with its run and hooks.
    """
    torch.set_num_threads(1)
    directory, kind, places = sys.argv[1:]
    with open_run(Path(directory)) as run:
        make(kind, run, [PlaceReporter(int(places))]).fit()
