"""Weights that a training starts from: where they are read, and which tensors of a network they fill."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from dartboard.errors import ModelError, RunError, join_names, one_line
from dartboard.export.python import exported_names
from dartboard.nn.model_file import BEST, KEY, Model, check_length, unpack_model
from dartboard.nn.network import CellNet
from dartboard.runs import RunReader, is_run
from dartboard.runs.directory import INIT
from dartboard.utils.checksums import read_file
from dartboard.utils.safe_files import WEIGHTS_LIMIT

AUXILIARY = "auxiliary."
CLASSIFIERS = ("head.linear.", "auxiliary.linear.")
"""Beginnings of the names of tensors that belong to the classes."""


@dataclass(frozen=True, eq=False)
class InitialWeights:
    """A file of weights.

    Args:
        path: Full path of the file that they came from; empty for those of a training without a run.
        data: Its contents.
    """

    path: str
    data: bytes

    @cached_property
    def sha256(self) -> str:
        """Checksum of the contents."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def model(self) -> Model | None:
        """The model in the file; None if it has weights alone.

        Raises:
            ModelError: If it is damaged.
        """
        length = int.from_bytes(self.data[:8], "little")
        if f'"{KEY}"'.encode() not in self.data[8 : 8 + length]:
            return None
        try:
            return unpack_model(self.data)
        except ModelError as error:
            raise ModelError(f"{self.path}: {error}") from None

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        """The weights by name.

        Raises:
            ModelError: If they cannot be read.
        """
        if self.model is not None:
            return dict(self.model.net.state_dict())
        try:
            return safetensors.torch.load(self.data)
        except (SafetensorError, ValueError, KeyError) as error:
            raise ModelError(f"{self.path}: not weights that can be used ({one_line(error)})") from None

    @property
    def net_settings(self) -> dict[str, Any]:
        """The settings of a network that these weights fit, as far as the file says them."""
        if self.model is None:
            return {}
        net = self.model.net
        return {
            "channels": net.config.channels,
            "cells": net.space.stack.cells,
            "stem": net.config.stem_name,
        }


@dataclass(frozen=True)
class TakenWeights:
    """What a network has taken from a file.

    Args:
        taken: Names of tensors that were taken.
        new: Names of those that are drawn from the seed.
        unused: Names of those that the file alone has.
        reason: Why some are new; empty if none are.
    """

    taken: tuple[str, ...]
    new: tuple[str, ...]
    unused: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        parts = [f"{len(self.taken)} tensors taken"]
        if self.new:
            whole = any(name.startswith(AUXILIARY) and not name.startswith(CLASSIFIERS) for name in self.new)
            names = [f"{AUXILIARY}*" if whole and name.startswith(AUXILIARY) else name for name in self.new]
            parts.append(f"new are {join_names(dict.fromkeys(names))} ({self.reason})")
        if self.unused:
            parts.append(f"{len(self.unused)} of the auxiliary head not used")
        return "; ".join(parts)


def read_weights(source: str | Path, sha256: str | None = None) -> InitialWeights:
    """The weights of a run of a training, those of its best epoch, or of a file in the format of safetensors.

    Args:
        source: The directory of the run, or the file.
        sha256: Checksum that the file must have; None for any.

    Raises:
        ModelError: If there are none, they are not safetensors, or they have another checksum.
        RunError: If the run is one of something else than a training.
    """
    path, root = Path(source), None
    if is_run(path):
        kind = RunReader.read(path).config.get("kind", "search")
        if kind != "train":
            raise RunError(
                f"{path} is a run of dartboard {kind}; weights are taken from one of dartboard train"
            )
        path, root = path / BEST, path
        if not path.exists():
            raise ModelError(f"{root} has no weights yet: its first epoch is not over")
    elif path.is_dir():
        raise ModelError(f"{path} is a folder, but not a run; name a run of dartboard train, or a file")
    weights = InitialWeights(str(path.resolve()), _read(path, root))
    if sha256 is not None and weights.sha256 != sha256:
        raise ModelError(
            f"{path} is not the file that the settings name: its sha256 is {weights.sha256}, not {sha256}; "
            "bring that back, or leave out init.sha256"
        )
    return weights


def recorded_weights(run: Path, source: str) -> InitialWeights:
    """The weights that a run has kept of its start; `source` is the path that they came from.

    Raises:
        ModelError: If the run does not have them.
    """
    return InitialWeights(source, _read(run / INIT, run))


def _read(path: Path, root: Path | None) -> bytes:
    try:
        check_length(path, root)
        return read_file(path, root=root, limit=WEIGHTS_LIMIT)
    except FileNotFoundError:
        raise ModelError(f"there is no run or file {str(path)!r} to take weights from") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})") from None
    except ModelError as error:
        reason = (
            "weights are taken from files in the format of safetensors, such as best.safetensors of a run"
        )
        raise ModelError(f"{path}: {error}; {reason}") from None


def take_weights(net: CellNet, weights: InitialWeights, classes: Sequence[str]) -> TakenWeights:
    """Fills a network with weights from a file, and returns what was taken.

    Everything must fit, name by name and shape by shape, but for two parts. The classifiers, that of the
    auxiliary head too, stay as they are where the classes are others. An auxiliary head that the file does
    not have stays as it is, and one that the network does not have is not used.

    Args:
        net: The network; changed in place.
        weights: Its weights; those of an exported Python file have names of their own, which are understood.
        classes: The names of the classes that the network tells apart.

    Raises:
        ModelError: If the weights are of another network; says what differs.
    """
    _check_network(net, weights)
    own, given = net.state_dict(), _with_own_names(net, weights.tensors)
    same_classes = _same_classes(own, given, weights.model, classes)
    has_auxiliary = any(name.startswith(AUXILIARY) for name in given)
    new = [
        name
        for name in own
        if (name.startswith(CLASSIFIERS) and not same_classes)
        or (name.startswith(AUXILIARY) and not has_auxiliary)
    ]
    unused = [name for name in given if name.startswith(AUXILIARY) and net.auxiliary is None]
    _check_tensors(
        {name: value for name, value in own.items() if name not in new},
        {name: value for name, value in given.items() if name not in (*new, *unused)},
        weights.path,
    )
    net.load_state_dict({name: own[name] if name in new else given[name] for name in own})
    reasons = [] if same_classes else [f"the classes are others, {len(classes)} of them"]
    if net.auxiliary is not None and not has_auxiliary:
        reasons.append("the file has no auxiliary head")
    taken = tuple(name for name in own if name not in new)
    return TakenWeights(taken, tuple(new), tuple(unused), ", ".join(reasons))


def _check_network(net: CellNet, weights: InitialWeights) -> None:
    """Raises if the file says that it is of another network, which shapes alone need not show."""
    if weights.model is None:
        return
    other = weights.model.net
    facts = {
        "net.cells": (other.space.stack.cells, net.space.stack.cells),
        "net.channels": (other.config.channels, net.config.channels),
        "net.stem": (other.config.stem_name, net.config.stem_name),
        "the channels of images": (other.config.input[0], net.config.input[0]),
    }
    differing = [
        f"{name} is {theirs} there and {ours} here"
        for name, (theirs, ours) in facts.items()
        if theirs != ours
    ]
    for group, cell in net.space.groups:
        theirs = other.space.cells.get(group)
        if theirs is None or replace(theirs, contests=()) != replace(cell, contests=()):
            ops = [" ".join(edge.ops[0] for edge in own.edges) if own else "none" for own in (theirs, cell)]
            differing.append(f"the cell {group} has {ops[0]} there and {ops[1]} here")
    if not differing and other.space.stack != net.space.stack:
        differing.append("the cells are stacked otherwise")
    if differing:
        raise ModelError(f"{weights.path} has the weights of another network: {join_names(differing)}")


def _with_own_names(net: CellNet, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of an exported Python file under the network's own names; all others as they are."""
    own = {exported: name for name, exported in exported_names(net).items()}
    if any(name in tensors for name in net.state_dict()) or not any(name in tensors for name in own):
        return dict(tensors)
    return {own.get(name, name): tensor for name, tensor in tensors.items()}


def _same_classes(
    own: Mapping[str, Tensor], given: Mapping[str, Tensor], model: Model | None, classes: Sequence[str]
) -> bool:
    """Whether the classes are the same, by their names; by their number where the file has no names."""
    if model is not None:
        return model.classes == tuple(classes)
    name = f"{CLASSIFIERS[0]}bias"
    return name in given and given[name].shape == own[name].shape


def _check_tensors(own: Mapping[str, Tensor], given: Mapping[str, Tensor], path: str) -> None:
    """Raises if names or shapes differ; names them."""
    wrong = [
        f"{name} is {list(given[name].shape)} there and {list(tensor.shape)} here"
        for name, tensor in own.items()
        if name in given and given[name].shape != tensor.shape
    ]
    wrong += [
        f"{name} {list(tensor.shape)} is not there" for name, tensor in own.items() if name not in given
    ]
    wrong += [
        f"{name} {list(tensor.shape)} is only there" for name, tensor in given.items() if name not in own
    ]
    if wrong:
        raise ModelError(f"{path} has the weights of another network: {join_names(wrong, 4)}")
