"""A trained network as one file, with everything needed to use it.

The file is in the format of safetensors, so that any program can read the weights; the space and the config
of the network, the names of its classes and the normalization of images are in its header as JSON, under
"dartboard".
"""

import json
import math
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save

from dartboard.errors import DartboardError, ModelError, RunError, one_line
from dartboard.nn.network import CellNet, NetConfig
from dartboard.space.files import space_from_json, space_to_json
from dartboard.utils.checksums import read_file
from dartboard.utils.formats import check_format
from dartboard.utils.safe_files import TEXT_LIMIT, WEIGHTS_LIMIT, open_file

KEY = "dartboard"
VERSION = 1
MODEL_KIND = ".safetensors"
"""File extension of models."""
BEST, LAST = "best.safetensors", "last.safetensors"
"""File names of the models in the run of a training: of the best epoch, and of the last."""


@dataclass(frozen=True, eq=False)
class Model:
    """A trained network.

    Args:
        net: The network, discrete or not.
        classes: The names of the classes, in the order of its logits.
        mean: Mean of the pixels of each channel, which are from 0 to 255; subtracted from them.
        std: Standard deviation of the pixels of each channel; divides them.
        facts: Plain values about its origin: data, accuracy, seed and the like.
        crop_pct: The fraction of the sides of an image, around its center, resized to the input.
    """

    net: CellNet
    classes: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    facts: dict[str, Any] = field(default_factory=dict)
    crop_pct: float = 1.0

    def __post_init__(self) -> None:
        config = self.net.config
        if len(self.classes) != config.classes:
            raise ModelError(f"the network has {config.classes} classes, not {len(self.classes)}")
        if not len(self.mean) == len(self.std) == config.input[0]:
            raise ModelError(
                f"images have {config.input[0]} channels; mean and std have "
                f"{len(self.mean)} and {len(self.std)}"
            )
        if not all(map(math.isfinite, self.mean)) or not all(0 < std < math.inf for std in self.std):
            raise ModelError(f"images cannot be normalized by the mean {self.mean} and the std {self.std}")
        if not 0 < self.crop_pct <= 1:
            raise ModelError(
                f"crop_pct is a fraction of an image's sides, above 0 and at most 1, not {self.crop_pct!r}"
            )


def pack_model(model: Model) -> bytes:
    """The bytes of a model's file; equal models give equal bytes."""
    header = {
        "version": VERSION,
        "space": json.loads(space_to_json(model.net.space)),
        "config": asdict(model.net.config),
        "classes": model.classes,
        "mean": model.mean,
        "deviation": model.std,
        "facts": model.facts,
        "centre": model.crop_pct,
    }
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.net.state_dict().items()}
    return save(tensors, {KEY: json.dumps(header)})


def load_model(path: str | Path, *, root: Path | None = None) -> Model:
    """The model in a file, in evaluation mode, on the CPU.

    Args:
        path: The file.
        root: The run that it belongs to; None for a file that the user has named.

    Raises:
        ModelError: If there is no such file, or it is damaged.
    """
    try:
        check_length(path, root)
        return unpack_model(read_file(path, root=root, limit=WEIGHTS_LIMIT))
    except FileNotFoundError:
        raise ModelError(f"there is no file {str(path)!r} to read a model from") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})") from None
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    except RunError as error:
        raise ModelError(str(error)) from None


def check_length(path: str | Path, root: Path | None = None) -> None:
    """Refuses a file whose length is not what its header says, before its weights are read.

    Raises:
        ModelError: If it was cut off, or is something else; raises as `open_file` too.
    """
    with open_file(path, root=root, limit=WEIGHTS_LIMIT) as file:
        size, length = os.fstat(file.fileno()).st_size, int.from_bytes(file.read(8), "little")
        try:
            if not 0 < length <= min(size - 8, TEXT_LIMIT):
                raise ValueError(f"its header would have {length:,} bytes")
            entries = json.loads(file.read(length))
            ends = [entry["data_offsets"][1] for name, entry in entries.items() if name != "__metadata__"]
            if 8 + length + max(ends, default=0) != size:
                raise ValueError(f"it has {size:,} bytes instead of {8 + length + max(ends, default=0):,}")
        except (ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError) as error:
            raise ModelError(f"not a model that can be used ({one_line(error)})") from None


def unpack_model(data: bytes) -> Model:
    """The model in the bytes of a file, in evaluation mode, on the CPU.

    Raises:
        ModelError: If they are not a model, or damaged.
    """
    try:
        tensors = load(data)
        length = int.from_bytes(data[:8], "little")
        metadata = json.loads(data[8 : 8 + length]).get("__metadata__", {})
        if KEY not in metadata:
            raise ModelError("it has weights, but not what network they are of; dartboard train writes both")
        header = json.loads(metadata[KEY])
        if not isinstance(header, dict):
            raise ModelError("its description of the network is not a JSON object")
        check_format(header.get("version"), VERSION, "it", ModelError)
        config = NetConfig(**header["config"] | {"input": tuple(header["config"]["input"])})
        net = CellNet(space_from_json(json.dumps(header["space"])), config)
        net.load_state_dict(tensors)
        mean, std = (tuple(map(float, header[name])) for name in ("mean", "deviation"))
        classes, facts = tuple(map(str, header["classes"])), dict(header["facts"])
        return Model(net.eval(), classes, mean, std, facts, float(header["centre"]))
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError, DartboardError) as error:
        reason = one_line(error)
        raise ModelError(f"not a model that can be used ({reason})") from None
