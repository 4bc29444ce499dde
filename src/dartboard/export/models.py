"""Trained networks by their place: the run of a training, a model's file, or an exported network."""

import re
from dataclasses import dataclass
from pathlib import Path

import torch

from dartboard.errors import ModelError, OptionError
from dartboard.export.formats import FORMATS, Format, LoadedNetwork, open_exported
from dartboard.export.metadata import model_metadata
from dartboard.nn.model_file import BEST, LAST, MODEL_KIND, Model, load_model
from dartboard.runs import Run, is_run

WHICH = {"best": BEST, "last": LAST}
"""The files of the networks in a training's run."""


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model and the file that it was loaded from."""

    model: Model
    file: Path


def find_network(text: str, which: str | None, device: torch.device) -> LoadedNetwork:
    """The network that a text names, ready to run: of a run, in a model's file, or exported.

    Raises:
        DartboardError: If there is none.
    """
    path = Path(text)
    if path.is_dir() or path.suffix == MODEL_KIND:
        model = find_model(text, which).model
        return LoadedNetwork(model.net.to(device), model_metadata(model))
    if which is not None:
        raise OptionError(f"--which chooses between the networks of a run; {text} is a file")
    if path.suffix not in {form.suffix for form in FORMATS.values()}:
        kinds = ", ".join(sorted({MODEL_KIND, *(form.suffix for form in FORMATS.values())}))
        raise ModelError(f"{text} is neither a run nor a network: those are files of kind {kinds}")
    return open_exported(path, device)


def find_model(text: str, which: str | None) -> LoadedModel:
    """The model that a text names: of a run, or in a file.

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
            raise ModelError(_missing_model(path))
    elif which is not None:
        raise OptionError(f"--which chooses between the networks of a run; {text} is a file")
    return LoadedModel(load_model(path), path)


def _missing_model(path: Path) -> str:
    """Why there is no such file, and what to do."""
    folder = path.parent
    kind = Run.read(folder).config.get("kind", "search") if is_run(folder) else None
    if kind == "train":
        return f"the training {folder} has no {path.name} yet; resume with: dartboard train --resume {folder}"
    if kind == "search":
        train = f"dartboard train {folder} --recipe quick"
        return f"the run {folder} has found a cell, but it is not trained; train it: {train}"
    if kind == "protocol":
        return f"{folder} holds many trainings; name one of those in {folder / 'final'}"
    return f"{folder} is no run of dartboard train: it has no {path.name}"


def default_file(source: str | Path, which: str | None, form: Format) -> Path:
    """A file named after the run or the model's file; Python source gets a name that can be imported."""
    path = Path(source).resolve()
    name = path.name if path.is_dir() else path.stem
    name += "_last" if which == "last" else ""
    if form.suffix == ".py":
        name = re.sub(r"\W", "_", name) + ("" if path.is_dir() else "_net")
        name = name if name.isidentifier() else f"net_{name}"
    folder = Path(source).parent if Path(source).name else path.parent
    return folder / f"{name}{form.suffix}"
