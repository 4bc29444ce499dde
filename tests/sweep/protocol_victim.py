"""A small protocol that is there to be killed.

usage: python protocol_victim.py DIRECTORY IMAGES PLACES [KEY=VALUE ...]

Starts the protocol, or goes on with it, and writes a line at every place it comes to: each step and each
final selection or measurement of the runs inside, and each decision. After so many places it waits to be
killed.
"""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

from dartboard.runs import Run, is_run
from dartboard.sweep.decision_log import DecisionLog
from dartboard.sweep.protocol.protocol import reopen
from helpers import protocol_cases
from helpers.kill_targets import PlaceReporter


class PlacesInside(PlaceReporter):
    """Says at which run of the protocol, too."""

    def on_step_end(self, loop):
        self.say(f"{loop.run.path.name} {loop.step}")

    def on_select(self, loop):
        self.say(f"{loop.run.path.name} select")


def spoken(once, places):
    """Decisions that are places: said when they are about to be written."""

    def say(self, name, decide):
        def aloud():
            found = decide()
            places.say(f"decides {name}")
            return found

        return once(self, name, aloud)

    return say


if __name__ == "__main__":
    torch.set_num_threads(1)
    directory, images, count, *words = sys.argv[1:]
    path, places = Path(directory), PlacesInside(int(count))
    DecisionLog.once = spoken(DecisionLog.once, places)
    if is_run(path):
        protocol = reopen(Run.resume(path), hooks=[places])
    else:
        protocol = protocol_cases.start(path, protocol_cases.settings(images, *words), hooks=[places])
    with protocol.run:
        protocol.fit()
