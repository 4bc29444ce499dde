"""TorchScript, for torch in Python and in C++."""

import io
import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from dartboard.errors import ModelError, UnsafeFileError
from dartboard.export.formats import (
    FORMATS,
    ExportRequest,
    Format,
    InferenceNetwork,
    LoadedNetwork,
    Metadata,
    example_images,
    model_metadata,
)
from dartboard.utils.safe_files import WEIGHTS_LIMIT, read_file

METADATA_FILE = "about.json"
"""Name of the metadata inside the archive."""


def pack(request: ExportRequest) -> dict[str, bytes]:
    """The model as a traced program."""
    model, buffer = request.model, io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecation, and image sizes that become constants
        program = torch.jit.trace(InferenceNetwork(model), example_images(model), check_trace=False)
        torch.jit.save(program, buffer, _extra_files={METADATA_FILE: model_metadata(model).to_json()})
    return {".pt": buffer.getvalue()}


def load(path: Path, device: torch.device) -> LoadedNetwork:
    """A network from a TorchScript program, and the metadata stored with it.

    Raises:
        ModelError: If the file is not a TorchScript program.
    """
    extra = {METADATA_FILE: ""}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.jit.load(
                io.BytesIO(read_file(path, limit=WEIGHTS_LIMIT)), map_location=device, _extra_files=extra
            )
    except (RuntimeError, UnsafeFileError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise ModelError(f"{path}: not a TorchScript program ({reason})") from None
    return LoadedNetwork(_Program(program.eval()), Metadata.from_json(extra[METADATA_FILE]))


class _Program(nn.Module):
    """A TorchScript program as a module, interpreted: otherwise it is compiled for each size."""

    def __init__(self, program: nn.Module) -> None:
        super().__init__()
        self.program = program

    def forward(self, images: Tensor) -> Tensor:
        with torch.jit.optimized_execution(False):  # type: ignore[attr-defined]
            logits: Tensor = self.program(images)
        return logits


FORMATS.register("torchscript")(Format(".pt", "TorchScript, for torch in Python and C++", pack, load))
