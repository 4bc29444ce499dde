"""A plugin: DARTS that takes its time, so that there are moments at which it can be disturbed.

An environment variable says how long a step takes at least; another method fails as often as it is told.
"""

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from dartboard.search.hooks import Hook
from dartboard.search.method import METHODS, Method

PACE = "SLOWLY_SECONDS"


class Pause(Hook):
    """Waits after every step."""

    def on_step_end(self, searcher):  # noqa: ARG002
        time.sleep(float(os.environ.get(PACE, "0.02")))


@dataclass(frozen=True)
class Fail(Hook):
    """Fails at the end of the first epoch, in the first so many attempts that there are of a run."""

    times: int

    def on_epoch_end(self, searcher, record):
        marks = sorted(searcher.run.path.glob("attempt-*"))
        if record.epoch == 0 and len(marks) < self.times:
            (searcher.run.path / f"attempt-{len(marks)}").touch()
            raise RuntimeError(f"attempt {len(marks)} of {Path(searcher.run.path).name} fails")


@METHODS.register("slow-darts")
def slow_darts(lr: float = 3e-4) -> Method:
    """DARTS, one step after a while."""
    plain = METHODS["darts"](lr=lr)
    return replace(plain, hooks=(*plain.hooks, Pause()))


@METHODS.register("failing-darts")
def failing_darts(times: int = 0) -> Method:
    """DARTS that fails a few times."""
    plain = METHODS["darts"]()
    return replace(plain, hooks=(*plain.hooks, Fail(times)))
