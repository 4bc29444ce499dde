"""From the command line to the cells and trained networks that the tools analyze."""

import re
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dartboard.cli.arguments import UsageError, load_images
from dartboard.errors import DivergedError
from dartboard.runs.directory import RunReader, is_run
from dartboard.runs.lookup import find_genotype, home_of, space_name, space_of_run
from dartboard.space import NONE, Genotype, SearchSpace, load_space
from dartboard.utils.progress import Progress

if TYPE_CHECKING:
    import torch

    from dartboard.data import ImageSet
    from dartboard.nn import Model


SETTING = re.compile(r"[a-z_.]+=")
"""How a word begins that is a setting such as epochs=30."""
SMALL: dict[str, Any] = {
    "epochs": 15,
    "net": {"channels": 8, "cells": 5},
    "data": {"name": "cluttered-digits", "pad": 1, "flip": False},
}
"""What cells are trained with unless settings say otherwise: minutes on a laptop."""
PARTS = ("test", "valid", "train")
CELL = "cell"
"""The label of a cell that is trained."""


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A trained network with images.

    Args:
        model: The network.
        images: Images to measure it with, labeled with the network's own class indices.
        train: Training images, likewise; few of them.
        description: What the images are.
    """

    model: "Model"
    images: "ImageSet"
    train: "ImageSet"
    description: str


def add_network_flags(parser: ArgumentParser) -> None:
    """Declare which network of a run is meant, and which images."""
    add = parser.add_argument
    add("--which", choices=("best", "last"), help="which network of a run (default: best)")
    add("--data", metavar="D", help="images (default: those that the network was trained on)")
    add("--part", choices=PARTS, help="which of them (default: the first of these that there are)")


def add_supernet_flags(parser: ArgumentParser) -> None:
    """Declare the flags of the tools that load the supernet of a search."""
    add = parser.add_argument
    add("--out", type=Path, metavar="DIR", help="write pictures and numbers there")
    add("--device", metavar="D", help="device to compute on (default: cuda if there is one, else cpu)")
    add("--fall-back", action="store_true", help="take an older checkpoint if the last is damaged")
    add("--json", action="store_true", help="print one JSON object instead")


def candidates(text: str, genotype: Genotype, named_space: str | None) -> list[str]:
    """The ops that can take each other's place in a cell, but for `none`, which is no connection.

    Without `named_space` they are those of the space that a search chose from if `text` is its run, else of
    the first of the catalog that takes the cell.
    """
    space = load_space(named_space) if named_space is not None else searched_space(text) or home_of(genotype)
    edges = (edge for _, cell in space.groups for edge in cell.edges if edge.target not in cell.joins)
    return [op for op in dict.fromkeys(op for edge in edges for op in edge.ops) if op != NONE]


def searched_space(text: str) -> SearchSpace | None:
    """The space that a search chooses from, if `text` is its run; that of a training is its cell alone."""
    space = space_of_run(text)
    return space if space and RunReader.read(text).config.get("kind", "search") == "search" else None


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

    kind = RunReader.read(path).config.get("kind", "search") if is_run(path) else None
    return kind == "train" or any((path / file).is_file() for file in WHICH.values())


def open_network(
    text: str, args: Namespace, *, examples: int, which: str | None = None, fresh: int = 1
) -> TrainedNetwork:
    """The network in a model's file or the directory of a training, `best` or `last`.

    It comes with at most `examples` images to measure it with, which `args.data` and `args.part` name, and at
    most `fresh` training images.

    Raises:
        DartboardError: If there is no such network, or no images that fit it.
    """
    from dartboard.data import Images, ImageSet
    from dartboard.export import model_metadata
    from dartboard.export.models import find_model
    from dartboard.train.evaluation import choose_images, class_indices

    model = find_model(text, which).model
    name = args.data or model.facts.get("data")
    if not isinstance(name, str):
        raise UsageError(f"{text} does not say what it was trained on; name images with --data")
    data = load_images(name, model_metadata(model))
    chosen = choose_images(data, args.part)
    indices = class_indices(data.classes, model.classes)

    def fitted(images: Images, most: int) -> ImageSet:
        """At most this number of images in memory, labeled with the network's class indices."""
        few = images.spread(most).load()
        return ImageSet(few.images, indices[few.labels])

    images = fitted(chosen.images, examples)
    return TrainedNetwork(model, images, fitted(data.train, fresh), f"{len(images):,} of {chosen}")


def directory_name(text: str) -> str:
    """What was typed as part of a directory's name."""
    name = Path(text).name.removesuffix(".json").removesuffix(".safetensors")
    return name if re.fullmatch(r"[A-Za-z0-9][\w.+-]{0,40}", name) else CELL


def train_cell(args: Namespace, out: Path, device: "torch.device", progress: Progress) -> str:
    """The run or the file of the trained network `args.what`; a cell is trained first, with one thread.

    That training is an ordinary run in the folder `runs` of `out`; one that is finished is not done again.

    Raises:
        DartboardError: If there is no such network or cell, if overrides are not settings, or if the training
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
    for word in args.overrides:
        if not SETTING.match(word):
            raise UsageError(f"{word!r} is not a setting such as epochs=30; give one network or cell alone")
    settings = make_settings(SMALL, flags, words=args.overrides)
    (training,) = compare({CELL: genotype}, settings, out, device=device, progress=progress).trainings
    if training.fault is not None:
        raise DivergedError(f"the training of the cell broke off: {training.fault}, and another --out")
    return str(out / RUNS / training.entry.name)
