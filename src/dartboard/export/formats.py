"""Export formats: their registry, the metadata that every file carries, and what formats share."""

import importlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dartboard.errors import ModelError, one_line
from dartboard.nn.model_file import Model
from dartboard.nn.network import CellNet
from dartboard.registry import Registry

BRIGHTEST = 255
KEYS = {
    "classes": "classes",
    "input": "input",
    "centre": "crop_pct",
    "mean": "mean",
    "deviation": "std",
    "unit_mean": "unit_mean",
    "unit_deviation": "unit_std",
}
"""Attribute by its key in files; in Python files the keys are constants in capital letters."""


@dataclass(frozen=True)
class Metadata:
    """What a user of a network needs to know.

    Args:
        classes: Class names, in the order of the logits.
        input: Channels, height and width of the training images.
        mean: Subtracted from the pixels of each channel, which are from 0 to 255.
        std: What they are divided by then.
        crop_pct: Fraction of the sides of an image, around its center, that is resized to the input.
    """

    classes: tuple[str, ...]
    input: tuple[int, int, int]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    crop_pct: float = 1.0

    @property
    def unit_mean(self) -> tuple[float, ...]:
        """The mean for pixels from 0 to 1, as torchvision and timm have it."""
        return tuple(value / BRIGHTEST for value in self.mean)

    @property
    def unit_std(self) -> tuple[float, ...]:
        """The standard deviation for pixels from 0 to 1."""
        return tuple(value / BRIGHTEST for value in self.std)

    def to_dict(self) -> dict[str, Any]:
        """The values by their keys in files."""
        return {key: getattr(self, attribute) for key, attribute in KEYS.items()}

    def to_json(self) -> str:
        """All values as one JSON object."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Metadata":
        """The metadata in the values of a file.

        Raises:
            ModelError: If values are missing, or make no sense.
        """
        try:
            channels, height, width = map(int, values["input"])
            mean, std = (tuple(map(float, values[key])) for key in ("mean", "deviation"))
            classes, crop_pct = tuple(map(str, values["classes"])), float(values["centre"])
            positive = (*std, channels, height, width)
            if not 0 < crop_pct <= 1 or not all(0 < value < math.inf for value in positive):
                raise ValueError("out of range")
            return cls(classes, (channels, height, width), mean, std, crop_pct)
        except (KeyError, TypeError, ValueError):
            raise ModelError(
                "it does not say its classes and how images are normalized; files that dartboard export "
                "writes do"
            ) from None

    @classmethod
    def from_json(cls, text: str | bytes) -> "Metadata":
        """The metadata in a JSON object.

        Raises:
            ModelError: If the text is not such an object.
        """
        try:
            values = json.loads(text)
        except ValueError:
            values = None
        return cls.from_dict(values if isinstance(values, dict) else {})


def model_metadata(model: Model) -> Metadata:
    """The metadata of a model."""
    return Metadata(model.classes, model.net.config.input, model.mean, model.std, model.crop_pct)


@dataclass(frozen=True, eq=False)
class ExportRequest:
    """What a format is asked to write.

    Args:
        model: The model, its network discrete.
        name: Name of the network.
        opset: Version of the ONNX operators; None for the exporter's default.
    """

    model: Model
    name: str
    opset: int | None = None


@dataclass(frozen=True, eq=False)
class LoadedNetwork:
    """An exported network that is ready to run, with its metadata.

    `forward` takes normalized images, float32 [N, C, H, W], to logits [N, classes] on the same device. It is
    a module where torch runs it.
    """

    forward: Callable[[Tensor], Tensor]
    metadata: Metadata


@dataclass(frozen=True)
class Format:
    """A file format for networks.

    Args:
        suffix: Suffix of its file.
        description: What it is, in a few words.
        pack: Contents of the files, by suffix.
        load: Opens a file, to run on a device.
        companions: Suffixes of the files that are written next to it.
        has_opset: Whether it takes a version of the ONNX operators.
    """

    suffix: str
    description: str
    pack: Callable[[ExportRequest], dict[str, bytes]]
    load: Callable[[Path, torch.device], LoadedNetwork]
    companions: tuple[str, ...] = ()
    has_opset: bool = False

    def files(self, path: Path) -> tuple[Path, ...]:
        """All files that are written for the file `path`, itself first."""
        return (path, *(path.with_suffix(suffix) for suffix in self.companions))


FORMATS: Registry[Format] = Registry("format", "dartboard.export_formats")
"""Export formats by name."""


def register_export_format(name: str) -> Callable[[Format], Format]:
    """Function that registers a `Format` as the export format `name`.

    Examples:
        >>> from dataclasses import replace
        >>> from dartboard import register_export_format
        >>> from dartboard.export import FORMATS
        >>> traced = replace(FORMATS["torchscript"], suffix=".ts", description="TorchScript, as .ts")
        >>> register_export_format("ts")(traced).suffix
        '.ts'
    """
    return FORMATS.register(name, stacklevel=2)


class InferenceNetwork(nn.Module):
    """A network from images to logits and nothing else, by the plain formula; no auxiliary head."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.net = plain_network(model)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.net(images)
        return logits


def plain_network(model: Model) -> CellNet:
    """A copy of a model's network that computes by the plain formula, on the CPU, in evaluation mode."""
    config = replace(model.net.config, mix="plain", auxiliary=False, drop_path=0.0)
    net = CellNet(model.net.space, config)
    state = model.net.state_dict()
    net.load_state_dict({name: value for name, value in state.items() if not name.startswith("auxiliary.")})
    return net.eval().requires_grad_(False)


def example_images(model: Model) -> Tensor:
    """Two images of zeros of the model's shape, to trace with."""
    return torch.zeros(2, *model.net.config.input)


def import_package(name: str, extra: str) -> Any:
    """A package that only some formats need.

    Raises:
        ModelError: If it cannot be imported; names the extra that installs it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise ModelError(f"{name} is not installed; pip install 'dartboard[{extra}]'") from None
    except (ImportError, RuntimeError) as error:
        reason = one_line(error)
        raise ModelError(f"{name} cannot be imported ({reason}); pip install 'dartboard[{extra}]'") from None
