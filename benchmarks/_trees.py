"""Trees of runs as searches leave them, written by the library without training."""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from dartboard import Searcher
from dartboard.engine.hooks import AnyHook
from dartboard.errors import Stopped
from dartboard.runs import Run
from dartboard.runs.directory import CONFIG
from dartboard.runs.text_files import read_yaml, to_yaml
from dartboard.utils.checksums import write_file
from report import make_run


def make_runs(folder: Path, count: int, epochs: int = 20) -> None:
    """Finished searches of the DARTS space that differ in their seeds."""
    first = make_run(folder / "gaea-darts-darts-digits-s0", epochs)
    config = read_yaml(first / CONFIG)
    for seed in range(1, count):
        path = folder / f"gaea-darts-darts-digits-s{seed}"
        shutil.copytree(first, path)
        write_file(path / CONFIG, to_yaml({**config, "seed": seed}))


class StopAfterEpoch(AnyHook):
    """Ends a search as Ctrl-C does, when its first epoch is over."""

    def on_epoch_end(self, loop: Any, record: Any) -> None:  # noqa: ARG002
        loop.stop()


def make_long_run(path: Path, epochs: int) -> None:
    """A search of the nano space of which one epoch is left; all others are copies of the first."""
    hooks, net = [StopAfterEpoch()], {"channels": 2}
    with suppress(Stopped):
        Searcher("nano", "darts", "digits", run=path, epochs=epochs, net=net, hooks=hooks).fit()
    with Run.resume(path) as run:
        (metrics,), details = run.metrics(), run.epoch(0)
        del metrics["epoch"]
        for epoch in range(1, epochs - 1):
            run.record(epoch, metrics, details)
        checkpoint = run.load()
        assert checkpoint is not None
        step, state = checkpoint
        state |= {"epoch": epochs - 1, "step": step * (epochs - 1)}
        run.save(state["step"], state)
