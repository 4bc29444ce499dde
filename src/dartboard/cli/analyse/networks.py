"""From the command line to the cells and trained networks that the tools analyze."""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dartboard.cli.arguments import UsageError, announce_program, load_images
from dartboard.errors import DivergedError, one_line
from dartboard.runs.directory import RunReader, is_run
from dartboard.runs.lookup import find_genotype, home_of, space_name, space_of_run
from dartboard.space import NONE, Genotype, SearchSpace, load_space
from dartboard.utils.progress import Progress
from dartboard.utils.safe_files import WEIGHTS_LIMIT, read_file

if TYPE_CHECKING:
    import torch

    from dartboard.analysis.examples import Examples, Network
    from dartboard.analysis.module_training import Factory
    from dartboard.data import Dataset
    from dartboard.export import LoadedNetwork


SETTING = re.compile(r"[a-z_.]+=")
"""How a word begins that is a setting such as epochs=30."""
SMALL: dict[str, Any] = {
    "epochs": 15,
    "net": {"channels": 8, "cells": 5},
    "data": {"name": "cluttered-digits", "pad": 1, "flip": False},
}
"""What cells are trained with unless settings say otherwise: minutes on a laptop."""
PARTS = ("test", "valid", "train")
TIMM = "timm:"
"""Prefix of a network of timm: timm:NAME, or timm:NAME@FILE.safetensors with weights."""
NETWORKS = "a run of dartboard train, a model's file, an exported network, timm:NAME[@WEIGHTS], or a cell"
"""What can be analyzed, for help texts."""
CELL = "cell"
"""The label of a cell that is trained."""


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A trained network with images.

    Args:
        network: The network: a model, or the module of an exported or a timm network.
        images: Images to measure it with, labeled with the network's own class indices; normalized tensors
            for a module.
        train: Training images, likewise; few of them.
        description: What the images are.
    """

    network: "Network"
    images: "Examples"
    train: "Examples"
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
    """Whether a text names a network: of a training's run, in a model's file, exported, or of timm."""
    if text.startswith(TIMM):
        return True
    try:
        path = Path(text)
        is_folder = path.is_dir()
    except OSError:  # a genotype can be too long for a file name
        return False
    if is_folder and is_run(path):
        return bool(RunReader.read(path).config.get("kind", "search") == "train")
    if not is_folder and not path.suffix:
        return False
    from dartboard.export.formats import FORMATS
    from dartboard.export.models import WHICH
    from dartboard.nn.model_file import MODEL_KIND

    if is_folder:
        return any((path / file).is_file() for file in WHICH.values())
    return path.suffix in {MODEL_KIND, *(export_format.suffix for export_format in FORMATS.values())}


def is_module(text: str) -> bool:
    """Whether a text names a network that may not be made of cells: an exported file, or one of timm."""
    if text.startswith(TIMM):
        return True
    if not re.fullmatch(r".*\.\w{2,6}", text) or text.endswith((".json", ".txt", ".safetensors")):
        return False
    from dartboard.export.formats import FORMATS

    return Path(text).suffix in {export_format.suffix for export_format in FORMATS.values()}


def fresh_network(text: str, data: "Dataset") -> "Factory":
    """What builds a network of timm or of an exported Python file anew, with weights drawn at random.

    Raises:
        DartboardError: If that network cannot be built, or cannot begin anew.
    """
    import torch

    from dartboard.export.models import open_exported

    if not is_module(text):
        raise UsageError(f"{text} is a cell; compare cells and other networks by two commands")
    if text.startswith(TIMM):
        if "@" in text:
            raise UsageError(f"{text} would be trained from the start; leave out the weights behind @")
        return partial(create_timm, text.removeprefix(TIMM), data)
    announce_program(text)
    network = _differentiable(text, open_exported(Path(text), torch.device("cpu")))
    parts = [part for part in network.modules() if any(True for _ in part.parameters(recurse=False))]
    if any(not callable(getattr(part, "reset_parameters", None)) for part in parts):
        raise UsageError(f"{text} cannot begin with fresh weights; give its Python file, or timm:NAME")

    def build() -> torch.nn.Module:
        net = deepcopy(network).requires_grad_(True)
        for part in net.modules():
            reset: Any = getattr(part, "reset_parameters", None)
            if reset is not None:
                reset()
        return net

    return build


def open_network(
    text: str, args: Namespace, *, examples: int, which: str | None = None, fresh: int = 1
) -> TrainedNetwork:
    """The network in a file, `best` or `last` of a training's directory, or one of timm.

    It comes with at most `examples` images to measure it with, which `args.data` and `args.part` name, and at
    most `fresh` training images.

    Raises:
        DartboardError: If there is no such network, it has no weights that can be moved, or no images fit it.
    """
    import torch

    from dartboard.data import Dataset, Images, ImageSet, load_dataset
    from dartboard.export import LoadedNetwork, model_metadata
    from dartboard.export.models import find_model, find_network
    from dartboard.nn.model_file import MODEL_KIND, Model
    from dartboard.train.evaluation import choose_images, class_indices, network_batches

    network: Network
    loaded: Model | LoadedNetwork
    data: Dataset | None = None
    if text.startswith(TIMM):
        if args.data is None:
            raise UsageError(f"{text} does not say what images it takes; name them with --data")
        data = load_dataset(args.data)
        loaded = open_timm(text, data)
    elif Path(text).is_dir() or Path(text).suffix == MODEL_KIND:
        loaded = find_model(text, which).model
    else:
        announce_program(text)
        loaded = find_network(text, which, torch.device("cpu"))
    if isinstance(loaded, Model):
        network, metadata = loaded, model_metadata(loaded)
        name = args.data or loaded.facts.get("data")
    else:
        network, metadata, name = _differentiable(text, loaded), loaded.metadata, args.data
    if not isinstance(name, str):
        raise UsageError(f"{text} does not say what it was trained on; name images with --data")
    data = data or load_images(name, metadata)
    chosen = choose_images(data, args.part)
    indices = class_indices(data.classes, metadata.classes)

    def fitted(images: Images, most: int) -> "Examples":
        """At most this number of images in memory, labeled with the network's class indices."""
        few = images.spread(most)
        if isinstance(network, Model):
            few = few.load()
            return ImageSet(few.images, indices[few.labels])
        (batch,) = network_batches(few, metadata, batch=most, device=torch.device("cpu"))
        return batch.x, indices[batch.y]

    description = f"{min(len(chosen.images), examples):,} of {chosen}"
    return TrainedNetwork(network, fitted(chosen.images, examples), fitted(data.train, fresh), description)


def _differentiable(text: str, loaded: "LoadedNetwork") -> "torch.nn.Module":
    """The module of an exported network.

    Raises:
        UsageError: If it is not torch that runs it.
    """
    from torch import nn

    if not isinstance(loaded.forward, nn.Module):
        raise UsageError(
            f"{text} cannot be differentiated, nor its weights moved: torch does not run it; export the "
            "network as python, torchscript or pt2, or give its run"
        )
    return loaded.forward


def open_timm(text: str, data: "Dataset") -> "LoadedNetwork":
    """A network of timm for the classes and the channels of a data set, fresh or with the weights of a file.

    Raises:
        DartboardError: If timm is not installed, has no such network, or the weights do not fit.
    """
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load

    from dartboard.export import LoadedNetwork, Metadata

    name, _, weights = text.removeprefix(TIMM).partition("@")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = create_timm(name, data).eval()
    if weights:
        try:
            net.load_state_dict(load(read_file(weights, limit=WEIGHTS_LIMIT)))
        except (OSError, SafetensorError, RuntimeError) as error:
            reason = one_line(error)
            raise UsageError(
                f"{weights} cannot be the weights of {name}, in a file of safetensors ({reason})"
            ) from None
    return LoadedNetwork(net, Metadata(data.classes, data.shape, data.mean, data.std))


def create_timm(name: str, data: "Dataset") -> "torch.nn.Module":
    """A fresh network of timm for the classes and the channels of a data set.

    Raises:
        DartboardError: If timm is not installed, or cannot make it.
    """
    from dartboard.export.formats import import_package

    timm = import_package("timm", "timm")
    try:
        net: torch.nn.Module = timm.create_model(name, num_classes=len(data.classes), in_chans=data.shape[0])
    except Exception as error:  # noqa: BLE001  timm's errors have no root of their own
        raise UsageError(f"timm cannot make {name!r} for these images ({one_line(error)})") from None
    return net


def directory_name(text: str) -> str:
    """What was typed as part of a directory's name."""
    name = text.removeprefix(TIMM).partition("@")[0] if text.startswith(TIMM) else Path(text).name
    for suffix in (".json", ".safetensors", ".py", ".pt", ".pt2", ".onnx"):
        name = name.removesuffix(suffix)
    return name if re.fullmatch(r"[A-Za-z0-9][\w.+-]{0,40}", name) else CELL


def unique_names(texts: Sequence[str]) -> list[str]:
    """A name for each of the networks that were typed; those of one name are numbered."""
    names = [directory_name(text) for text in texts]
    if len({*names}) == len(names):
        return names
    return [f"{name}-{number}" for number, name in enumerate(names, 1)]


def train_cell(what: str, args: Namespace, out: Path, device: "torch.device", progress: Progress) -> str:
    """The run or the file of the trained network `what`; a cell is trained first, with one thread.

    That training is an ordinary run in the folder `runs` of `out`; one that is finished is not done again.

    Raises:
        DartboardError: If there is no such network or cell, if overrides are not settings, or if the training
            broke off.
    """
    if is_trained(what):
        if args.overrides:
            raise UsageError(f"{what} is trained already; leave out {args.overrides[0]}")
        return what
    from dartboard.analysis.convergence import RUNS, compare, make_settings

    genotype = find_genotype(what)
    space = space_of_run(what) or home_of(genotype)
    flags: dict[str, Any] = {"space": space_name(what, None, space)}
    flags |= {} if args.data is None else {"data": {"name": args.data}}
    for word in args.overrides:
        if not SETTING.match(word):
            raise UsageError(f"{word!r} is not a setting such as epochs=30")
    settings = make_settings(SMALL, flags, words=args.overrides)
    (training,) = compare({CELL: genotype}, settings, out, device=device, progress=progress).trainings
    if training.fault is not None:
        raise DivergedError(f"the training of the cell broke off: {training.fault}, and another --out")
    return str(out / RUNS / training.entry.name)
