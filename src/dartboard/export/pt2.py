"""PT2 archives: programs of `torch.export`."""

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from dartboard.errors import ModelError
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
    """The model as an exported program, with a batch axis of any length."""
    model, buffer = request.model, io.BytesIO()
    shapes = {"images": {0: torch.export.Dim("batch")}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network, example = InferenceNetwork(model), (example_images(model),)
        program = torch.export.export(network, example, dynamic_shapes=shapes)
        torch.export.save(program, buffer, extra_files={METADATA_FILE: model_metadata(model).to_json()})
    return {".pt2": buffer.getvalue()}


def load(path: Path, device: torch.device) -> LoadedNetwork:
    """A network from a program of `torch.export`, and the metadata stored with it.

    Raises:
        ModelError: If the file is not such a program.
    """
    extra = {METADATA_FILE: ""}
    try:
        with _weights_only():
            program = torch.export.load(io.BytesIO(read_file(path, limit=WEIGHTS_LIMIT)), extra_files=extra)
    except Exception as error:  # noqa: BLE001  a damaged archive can raise anything
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise ModelError(f"{path}: not a program of torch.export ({reason})") from None
    return LoadedNetwork(program.module().to(device), Metadata.from_json(extra[METADATA_FILE]))


@contextmanager
def _weights_only() -> Iterator[None]:
    """Keep torch from unpickling anything but tensors, and from logging and warning.

    Where the pickles of an archive hold more than tensors, torch would otherwise unpickle them all the same,
    and run what they contain.
    """
    original, logger = torch.load, logging.getLogger("torch")
    level = logger.level

    def load_tensors(*args: Any, **options: Any) -> Any:
        return original(*args, **(options | {"weights_only": True}))

    torch.load = load_tensors
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.load = original
        logger.setLevel(level)


FORMATS.register("pt2")(Format(".pt2", "a program of torch.export", pack, load))
