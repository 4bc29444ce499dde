"""Functions for worker processes, which import this module by its name."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from dartboard.data import Augment, ImageFiles
from dartboard.errors import DataError
from helpers import torchvision_shim

torchvision_shim.torchvision_available()  # in the worker as well, since it imports this module


class Vision(Augment):
    """An augmentation that makes torchvision importable wherever it is unpickled."""


def square(task: int) -> Tensor:
    return torch.tensor(task**2)


def slow_early_tasks(task: int) -> Tensor:
    """Of four tasks, later ones finish sooner."""
    time.sleep(0.02 * (3 - task % 4))
    return torch.tensor([task, os.getpid()])


def refuse_three(task: int) -> Tensor:
    if task == 3:
        raise DataError("three is one too many")
    return torch.tensor(task)


def broken(task: int) -> Tensor:
    return torch.tensor({}[task])  # type: ignore[index]


def kill_itself_at_two(task: int) -> Tensor:
    if task == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return torch.tensor(task)


def ignores_sigint(_: int) -> Tensor:
    """1 if SIGINT is ignored in this process, else 0."""
    return torch.tensor(int(signal.getsignal(signal.SIGINT) is signal.SIG_IGN))


def random_image_files(
    folder: Path, count: int, size: Callable[[int], tuple[int, int]], channels: int = 3
) -> ImageFiles:
    """PNG files of random pixels, of any height and width; read as 8x8."""
    rng, files = np.random.default_rng(0), []
    for number in range(count):
        shape: Any = (*size(number), channels)
        pixels = rng.integers(256, size=shape, dtype=np.uint8)
        files.append(str(folder / f"{number}.png"))
        Image.fromarray(pixels[..., 0] if channels == 1 else pixels).save(files[-1])
    return ImageFiles(tuple(files), torch.arange(count) % 3, (channels, 8, 8))
