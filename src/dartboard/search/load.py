"""Loads a search from its run."""

import torch

from dartboard.engine.rng_scope import RngScope
from dartboard.engine.state import restore
from dartboard.errors import CheckpointError, RunError
from dartboard.runs import SPACE, Run
from dartboard.search.config import build, validate
from dartboard.search.searcher import Searcher
from dartboard.space import load_space
from dartboard.utils.progress import Progress


def restore_search(searcher: Searcher, run: Run, *, fall_back: bool = False) -> None:
    """Restores a searcher from the last checkpoint of a run.

    Args:
        searcher: Made from the settings of the run.
        run: A finished one.
        fall_back: Whether an older checkpoint will do where the last is damaged.

    Raises:
        CheckpointError: If the run has no checkpoint, or one that is damaged or of other settings.
    """
    checkpoint = run.load(fall_back=fall_back)
    if checkpoint is None:
        raise CheckpointError(
            f"{run.path} has no checkpoint, and with it no trained weights; remove the run, and do it again"
        )
    with RngScope(searcher.device)():
        restore(searcher, checkpoint[1])


def load_searcher(
    run: Run, device: torch.device | str = "cpu", *, fall_back: bool = False, progress: Progress | None = None
) -> Searcher:
    """The searcher of a run as its last checkpoint has it: supernet, relaxation and held-out images.

    Args:
        run: Of a search; it need not be finished, and nothing is written to it.
        device: Where to compute.
        fall_back: Whether an older checkpoint will do where the last is damaged.
        progress: Is told how far the loading of images is.

    Raises:
        RunError: If it is no run of a search.
        CheckpointError: If it has no checkpoint, or one that is damaged.
        DartboardError: If its images, space, method or plugins are not there.
    """
    kind = run.config.get("kind", "search")
    if kind != "search":
        raise RunError(f"{run.path} is a run of dartboard {kind}; name one of dartboard search")
    parts = build(validate(run.config), load_space(str(run.path / SPACE)), progress)
    searcher = Searcher(*parts, device=device)
    restore_search(searcher, run, fall_back=fall_back)
    return searcher
