"""What goes along with an exported network, in every format."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
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
"""The key in files of each attribute."""


@dataclass(frozen=True)
class About:
    """What one has to know to use a network.

    Args:
        classes: The names of the classes, in the order of the logits.
        input: Channels, height and width of the images that it was trained on.
        mean: Subtracted from the pixels of each channel, which are from 0 to 255.
        std: What they are divided by then.
        crop_pct: The fraction of the sides of an image, around its center, resized to the input.
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
        """The deviation for pixels from 0 to 1."""
        return tuple(value / BRIGHTEST for value in self.std)

    def texts(self) -> dict[str, str]:
        """Each fact as JSON."""
        return {key: json.dumps(getattr(self, name)) for key, name in KEYS.items()}

    def text(self) -> str:
        """All facts as one JSON object."""
        return json.dumps({key: getattr(self, name) for key, name in KEYS.items()})


def about(model: Model) -> About:
    """What goes along with a model."""
    return About(model.classes, model.net.config.input, model.mean, model.std, model.crop_pct)


def read_about(facts: Mapping[str, Any]) -> About:
    """From the facts that go along with a file to what they say.

    Raises:
        ModelError: If there are none, or they make no sense.
    """
    try:
        channels, height, width = map(int, facts["input"])
        mean, std = (tuple(map(float, facts[name])) for name in ("mean", "deviation"))
        names, crop_pct = tuple(map(str, facts["classes"])), float(facts["centre"])
        if not 0 < crop_pct <= 1 or not all(0 < own < math.inf for own in (*std, channels, height, width)):
            raise ValueError("out of range")
        return About(names, (channels, height, width), mean, std, crop_pct)
    except (KeyError, TypeError, ValueError):
        raise ModelError(
            "it does not say its classes and how images are normalised; files that dartboard export writes do"
        ) from None


def read_module(module: ModuleType) -> About:
    """What the constants of a written file say."""
    return read_about({key: getattr(module, key.upper(), None) for key in KEYS})


def read_text(text: str | bytes) -> About:
    """From a JSON object to what it says."""
    try:
        facts = json.loads(text)
    except ValueError:
        facts = None
    return read_about(facts if isinstance(facts, dict) else {})
