"""From what stands on the command line to a trained network."""

from dataclasses import dataclass
from pathlib import Path

import torch

from dartboard.cli.arguments import UsageError
from dartboard.errors import ModelError
from dartboard.export.about import about
from dartboard.export.base import FORMATS, Opened
from dartboard.export.exporting import open_exported
from dartboard.nn.model_file import MODEL_KIND, Model, load_model
from dartboard.runs import Run, is_run
from dartboard.train.trainer import BEST, LAST

WHICH = {"best": BEST, "last": LAST}
"""The networks that a training keeps."""


@dataclass(frozen=True, eq=False)
class Found:
    """A model and the file that it is from."""

    model: Model
    file: Path


def find_model(text: str, which: str | None) -> Found:
    """The model that is meant: of a run, or in a file.

    Args:
        text: A directory or a file.
        which: `best` or `last`, of a run; None for the best.

    Raises:
        DartboardError: If there is none.
    """
    path = Path(text)
    if path.is_dir():
        path = path / WHICH[which or "best"]
        if not path.is_file():
            raise ModelError(_untrained(path))
    elif which is not None:
        raise UsageError(f"--which chooses between the networks of a run; {text} is a file")
    return Found(load_model(path), path)


def _untrained(path: Path) -> str:
    """Why a directory has no such network."""
    folder = path.parent
    kind = Run.read(folder).config.get("kind", "search") if is_run(folder) else None
    if kind == "train":
        return f"the training {folder} has no {path.name} yet; go on with: dartboard train --resume {folder}"
    if kind == "search":
        again = f"dartboard train {folder} --recipe quick"
        return f"the run {folder} has found a cell, but it is not trained; train it: {again}"
    if kind == "protocol":
        return f"{folder} holds many trainings; name one of those in {folder / 'final'}"
    return f"{folder} is no run of dartboard train: it has no {path.name}"


def find_network(text: str, which: str | None, device: torch.device) -> Opened:
    """The network that is meant, ready to run: of a run, in a model's file, or exported.

    Raises:
        DartboardError: If there is none.
    """
    path = Path(text)
    if path.is_dir() or path.suffix == MODEL_KIND:
        model = find_model(text, which).model
        return Opened(model.net.to(device), about(model))
    if which is not None:
        raise UsageError(f"--which chooses between the networks of a run; {text} is a file")
    if path.suffix not in {form.suffix for form in FORMATS.values()}:
        kinds = ", ".join(sorted({MODEL_KIND, *(form.suffix for form in FORMATS.values())}))
        raise ModelError(f"{text} is neither a run nor a network: those are files of kind {kinds}")
    return open_exported(path, device)
