"""The metadata that every exported network carries: classes, input shape and normalization."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dartboard.errors import ModelError
from dartboard.nn.model_file import Model

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
                "it does not say its classes and how images are normalised; files that dartboard export "
                "writes do"
            ) from None

    @classmethod
    def from_json(cls, text: str | bytes) -> "Metadata":
        """The metadata in a JSON object.

        Raises:
            ModelError: If the text is no such object.
        """
        try:
            values = json.loads(text)
        except ValueError:
            values = None
        return cls.from_dict(values if isinstance(values, dict) else {})


def model_metadata(model: Model) -> Metadata:
    """The metadata of a model."""
    return Metadata(model.classes, model.net.config.input, model.mean, model.std, model.crop_pct)
