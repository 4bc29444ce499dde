"""TorchScript, for torch in Python and in C++."""

import io
import warnings
from pathlib import Path

import torch
from torch import Tensor

from dartboard.errors import ModelError
from dartboard.export.about import about, read_text
from dartboard.export.base import FORMATS, Format, Logits, Opened, Order, example

EXTRA = "about.json"
"""The file inside that says what the network is."""


def pack(order: Order) -> dict[str, bytes]:
    """The model as a traced program."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is old, and that sizes of images become constants
        program = torch.jit.trace(Logits(order.model), example(order.model), check_trace=False)
        torch.jit.save(program, buffer, _extra_files={EXTRA: about(order.model).text()})
    return {".pt": buffer.getvalue()}


def load(path: Path, device: torch.device) -> Opened:
    """Opens a file.

    Raises:
        ModelError: If it is no program.
    """
    extra = {EXTRA: ""}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.jit.load(io.BytesIO(path.read_bytes()), map_location=device, _extra_files=extra)
    except RuntimeError as error:
        raise ModelError(f"{path}: not a TorchScript program ({str(error).splitlines()[0]})") from None
    program.eval()

    def forward(images: Tensor) -> Tensor:
        with torch.jit.optimized_execution(False):  # type: ignore[attr-defined]  # or each size is compiled
            logits: Tensor = program(images)
        return logits

    return Opened(forward, read_text(extra[EXTRA]))


FORMATS.register("torchscript")(Format(".pt", "TorchScript, for torch in Python and C++", pack, load))
