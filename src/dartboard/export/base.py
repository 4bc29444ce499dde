"""Formats: what a network can be exported as, each a registered way to write it and to open it again."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dartboard.errors import ModelError, one_line
from dartboard.export.about import About
from dartboard.nn.model_file import Model
from dartboard.nn.network import CellNet
from dartboard.registry import Registry


@dataclass(frozen=True, eq=False)
class Order:
    """What is asked of a format.

    Args:
        model: The model, its network discrete.
        name: What the network is to be called.
        opset: The version of ONNX's operators; None for the exporter's own choice.
    """

    model: Model
    name: str
    opset: int | None = None


@dataclass(frozen=True, eq=False)
class Opened:
    """An exported network that is ready to run.

    Args:
        forward: From normalised images, float32 [N, C, H, W], to logits [N, classes] on the same device.
        about: What goes along with it.
    """

    forward: Callable[[Tensor], Tensor]
    about: About


@dataclass(frozen=True)
class Format:
    """A way to write networks.

    Args:
        suffix: How the name of its file ends.
        brief: What it is, in a few words.
        pack: Gives the bytes of the files, by the ends of their names.
        load: Opens a file, to run on a device.
        beside: How the names of the files end that stand beside it.
    """

    suffix: str
    brief: str
    pack: Callable[[Order], dict[str, bytes]]
    load: Callable[[Path, torch.device], Opened]
    beside: tuple[str, ...] = ()

    def files(self, path: Path) -> tuple[Path, ...]:
        """All files that are written for the file `path`, itself first."""
        return (path, *(path.with_suffix(suffix) for suffix in self.beside))


FORMATS: Registry[Format] = Registry("format", "dartboard.export_formats")


class Logits(nn.Module):
    """A network from images to logits and nothing else, by the plain formula; no auxiliary head."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.net = plain(model)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.net(images)
        return logits


def plain(model: Model) -> CellNet:
    """A copy of a model's network that computes by the plain formula, on the CPU, in evaluation mode."""
    config = replace(model.net.config, mix="plain", auxiliary=False, drop_path=0.0)
    net = CellNet(model.net.space, config)
    state = {name: value for name, value in model.net.state_dict().items() if not _is_auxiliary(name)}
    net.load_state_dict(state)
    return net.eval().requires_grad_(False)


def example(model: Model) -> Tensor:
    """Two images of zeros of the model's shape."""
    return torch.zeros(2, *model.net.config.input)


def find_package(name: str, extra: str) -> Any:
    """A package that only some formats need.

    Raises:
        ModelError: If it cannot be imported; says with which extra it comes.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise ModelError(f"{name} is not installed; pip install 'dartboard[{extra}]'") from None
    except (ImportError, RuntimeError) as error:
        reason = one_line(error)
        raise ModelError(f"{name} cannot be imported ({reason}); pip install 'dartboard[{extra}]'") from None


def _is_auxiliary(name: str) -> bool:
    return name.startswith("auxiliary.")
