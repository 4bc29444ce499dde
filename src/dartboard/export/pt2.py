"""PT2 archives: programs of `torch.export`."""

import io
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dartboard.errors import ModelError
from dartboard.export.about import about, read_text
from dartboard.export.base import FORMATS, Format, Logits, Opened, Order, example

EXTRA = "about.json"
"""The file inside that says what the network is."""


def pack(order: Order) -> dict[str, bytes]:
    """The model as an exported program, with a batch axis of any length."""
    buffer = io.BytesIO()
    shapes = {"images": {0: torch.export.Dim("batch")}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(Logits(order.model), (example(order.model),), dynamic_shapes=shapes)
        torch.export.save(program, buffer, extra_files={EXTRA: about(order.model).text()})
    return {".pt2": buffer.getvalue()}


def load(path: Path, device: torch.device) -> Opened:
    """Opens a file.

    Raises:
        ModelError: If it is no program.
    """
    extra = {EXTRA: ""}
    try:
        with _tensors_alone():
            program = torch.export.load(io.BytesIO(path.read_bytes()), extra_files=extra)
    except Exception as error:  # noqa: BLE001  what a damaged archive leads to is of any kind
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise ModelError(f"{path}: not a program of torch.export ({reason})") from None
    module = program.module().to(device)

    def forward(images: Tensor) -> Tensor:
        logits: Tensor = module(images)
        return logits

    return Opened(forward, read_text(extra[EXTRA]))


@contextmanager
def _tensors_alone() -> Iterator[None]:
    """Inside, torch unpickles nothing but tensors, says nothing, and warns of nothing.

    Where an archive's pickles are not of tensors alone, torch would unpickle them all the same, and run what
    they say.
    """
    load, logger = torch.load, logging.getLogger("torch")
    level = logger.level
    torch.load = partial(_load_tensors, load)
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.load = load
        logger.setLevel(level)


def _load_tensors(load: Callable[..., Any], *given: Any, **more: Any) -> Any:
    return load(*given, **(more | {"weights_only": True}))


FORMATS.register("pt2")(Format(".pt2", "a program of torch.export", pack, load))
