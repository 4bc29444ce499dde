"""From the command line to the cells and trained networks that the tools analyze."""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dartboard.cli.arguments import UsageError
from dartboard.errors import DivergedError
from dartboard.runs.lookup import find_genotype, home_of, space_name, space_of_run
from dartboard.space import NONE, Genotype, SearchSpace, load_space
from dartboard.utils.progress import Progress

if TYPE_CHECKING:
    import torch

    from dartboard.data import Images, ImageSet
    from dartboard.nn import Model


SETTING = re.compile(r"[a-z_.]+=")
"""How a word begins that is a setting such as epochs=30."""
SMALL: dict[str, Any] = {
    "epochs": 15,
    "net": {"channels": 8, "cells": 5},
    "data": {"name": "cluttered-digits", "pad": 1, "flip": False},
}
"""What cells are trained with unless words say otherwise: minutes on a laptop."""


def candidates(text: str, genotype: Genotype, named_space: str | None) -> list[str]:
    """The ops that can take each other's place in a cell, but for `none`, which is no connection.

    Args:
        text: What was typed for the cell.
        genotype: The cell.
        named_space: The space that was named; None for the one that a search chose from, else for the first
            of the catalog that takes the cell.
    """
    space = load_space(named_space) if named_space is not None else searched_space(text) or home_of(genotype)
    edges = (edge for _, cell in space.groups for edge in cell.edges if edge.target not in cell.joins)
    return [op for op in dict.fromkeys(op for edge in edges for op in edge.ops) if op != NONE]


def searched_space(text: str) -> SearchSpace | None:
    """The space that a search chooses from, if `text` is its run; that of a training is its cell alone."""
    space = space_of_run(text)
    if space is None:
        return None
    from dartboard.runs import Run  # with torch, which a mere name does without

    return space if Run.read(text).config.get("kind", "search") == "search" else None


PARTS = ("test", "valid", "train")


@dataclass(frozen=True, eq=False)
class Network:
    """A trained network with images.

    Args:
        model: The network.
        images: To look at it with, with the network's own numbers of the classes.
        train: Training images, likewise; few of them.
        words: What the images are.
    """

    model: "Model"
    images: "ImageSet"
    train: "ImageSet"
    words: str


def add_network_flags(parser: ArgumentParser) -> None:
    """Declare which network of a run is meant, and which images."""
    add = parser.add_argument
    add("--which", choices=("best", "last"), help="which network of a run (default: best)")
    add("--data", metavar="D", help="images (default: those that the network was trained on)")
    add("--part", choices=PARTS, help="which of them (default: the first of these that there are)")


def is_trained(text: str) -> bool:
    """Whether a text names a trained network: a model's file, or the run of a training."""
    from dartboard.nn.model_file import MODEL_KIND

    try:
        path = Path(text)
        if not path.is_dir():
            return path.suffix == MODEL_KIND
    except OSError:  # a genotype can be too long for a file name
        return False
    from dartboard.export.models import WHICH
    from dartboard.runs import Run, is_run

    kind = Run.read(path).config.get("kind", "search") if is_run(path) else None
    return kind == "train" or any((path / file).is_file() for file in WHICH.values())


def open_network(
    text: str, args: Namespace, *, examples: int, which: str | None = None, fresh: int = 1
) -> Network:
    """The trained network that is meant, with as many images as are asked for.

    Args:
        text: A model's file or the directory of a training.
        args: What was typed: `data` and `part`.
        examples: Images to look at it with, at the most.
        which: `best` or `last`, of a run; None for the best.
        fresh: Training images, at the most.

    Raises:
        DartboardError: If there is no such network, or no images that fit it.
    """
    from dartboard.cli.models import load_images
    from dartboard.export import model_metadata
    from dartboard.export.models import find_model
    from dartboard.train.evaluation import choose_images

    model = find_model(text, which).model
    name = args.data or model.facts.get("data")
    if not isinstance(name, str):
        raise UsageError(f"{text} does not say what it was trained on; name images with --data")
    data = load_images(name, model_metadata(model))
    chosen = choose_images(data, args.part)
    images = _fitted(chosen.images, examples, data.classes, model.classes)
    train = _fitted(data.train, fresh, data.classes, model.classes)
    words = f"{len(images):,} of {chosen}"
    return Network(model, images, train, words)


def _fitted(
    images: "Images", most: int, data_classes: tuple[str, ...], network_classes: tuple[str, ...]
) -> "ImageSet":
    """At most so many images in memory, with the numbers that a network has for their classes."""
    from dartboard.data import ImageSet
    from dartboard.train.evaluation import class_indices

    few = images.spread(most).load()
    return ImageSet(few.images, class_indices(data_classes, network_classes)[few.labels])


CELL = "cell"
"""The label of a cell that is trained."""


def plain(text: str) -> str:
    """What was typed as part of a directory's name."""
    name = Path(text).name.removesuffix(".json").removesuffix(".safetensors")
    return name if re.fullmatch(r"[A-Za-z0-9][\w.+-]{0,40}", name) else CELL


def trained(args: Namespace, out: Path, device: "torch.device", tell: Progress) -> str:
    """The run or the file of the network that is meant; a cell is trained before, with one thread.

    Args:
        args: What was typed: `what`, `overrides` and `data`.
        out: A cell's training is an ordinary run in its folder `runs`; what is finished is not done again.
        device: Where to train.
        tell: Called with the number of complete epochs.

    Raises:
        DartboardError: If there is no such network or cell, if words are no settings, or if the training
            broke off.
    """
    if is_trained(args.what):
        if args.overrides:
            raise UsageError(f"{args.what} is trained already; leave out {args.overrides[0]}")
        return str(args.what)
    from dartboard.analysis.convergence import RUNS, compare, make_settings

    genotype = find_genotype(args.what)
    space = space_of_run(args.what) or home_of(genotype)
    flags: dict[str, Any] = {"space": space_name(args.what, None, space)}
    flags |= {} if args.data is None else {"data": {"name": args.data}}
    settings = make_settings(SMALL, flags, words=_settings(args.overrides))
    (training,) = compare({CELL: genotype}, settings, out, device=device, progress=tell).trainings
    if training.fault is not None:
        raise DivergedError(f"the training of the cell broke off: {training.fault}, and another --out")
    return str(out / RUNS / training.entry.name)


def _settings(words: Sequence[str]) -> Sequence[str]:
    """Words that are settings; others are mistakes."""
    for word in words:
        if not SETTING.match(word):
            raise UsageError(f"{word!r} is no setting such as epochs=30; give one network or cell alone")
    return words
