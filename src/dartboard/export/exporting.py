"""From a model to the files of a format, checked against torch before they are put in their place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from dartboard.errors import ModelError, UnknownNameError
from dartboard.export.base import FORMATS, Format, Opened, Order
from dartboard.nn.model_file import Model
from dartboard.utils.atomic import write_bytes

TOLERANCE = 1e-4
"""The most that a logit may differ, where the largest is 1 or less; in proportion where it is more."""
CHECKED = 16
"""How many images of chance a network is checked on."""


@dataclass(frozen=True)
class Exported:
    """What was written.

    Args:
        files: The files and their sizes in bytes; the one to open first.
        difference: The largest difference between a logit and torch's.
        images: How many images it was checked on.
    """

    files: Mapping[Path, int]
    difference: float
    images: int


def export_model(
    model: Model, path: Path, kind: str, *, images: Tensor | None = None, opset: int | None = None
) -> Exported:
    """Writes a model in a format, whole or not at all, once what was written has been run.

    Args:
        model: The model; its network must be discrete.
        path: The file to write; a format may put others beside it.
        kind: The name of the format.
        images: Normalised images to check with, float32 [N, C, H, W]; None for seeded noise.
        opset: The version of ONNX's operators; None for the exporter's own choice.

    Raises:
        ModelError: If it cannot be written, or computes something else.
    """
    form = FORMATS[kind]
    _check(model, path, kind, form, opset)
    packed = form.pack(Order(model, path.stem, opset))
    images = noise(model) if images is None else images
    with TemporaryDirectory() as folder:
        for suffix, data in packed.items():
            (Path(folder) / path.name).with_suffix(suffix).write_bytes(data)
        opened = form.load(Path(folder) / path.name, torch.device("cpu"))
    difference = verify(opened.forward, model, images)
    write_all({path.with_suffix(suffix): data for suffix, data in packed.items()})
    sizes = {own: len(packed[own.suffix]) for own in form.files(path)}
    return Exported(sizes, difference, len(images))


def _check(model: Model, path: Path, kind: str, form: Format, opset: int | None) -> None:
    if not model.net.space.discrete:
        raise ModelError(
            "the network has choices left to make; only networks of one architecture are exported"
        )
    if path.suffix != form.suffix:
        raise ModelError(f"the name of a file for {kind} ends in {form.suffix}; {path.name!r} does not")
    if opset is not None and kind != "onnx":
        raise ModelError(f"an opset is for onnx; {kind} has none")


def noise(model: Model) -> Tensor:
    """Seeded normal noise in the shape of the model's images [N, C, H, W]."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(CHECKED, *model.net.config.input, generator=generator)


@torch.no_grad()
def verify(forward: Callable[[Tensor], Tensor], model: Model, images: Tensor) -> float:
    """The largest difference of logits between an exported network and the model's, for two sizes of batches.

    Raises:
        ModelError: If they differ by more than rounding.
    """
    images = images.cpu()
    expected = _logits(model, images)
    pieces = torch.cat([forward(images[:1]), forward(images[1:])]) if len(images) > 1 else forward(images)
    difference = float((pieces - expected).abs().max())
    allowed = TOLERANCE * max(1.0, float(expected.abs().max()))
    if not difference <= allowed:
        raise ModelError(
            f"the exported network differs from torch's by {difference:.2g} in a logit, more than "
            f"{allowed:.2g}; nothing was written"
        )
    return difference


def _logits(model: Model, images: Tensor) -> Tensor:
    """What the model's own network says in evaluation mode, wherever it is."""
    net = model.net
    modes = {module: module.training for module in net.modules()}
    device = next(net.parameters()).device
    try:
        logits: Tensor = net.eval()(images.to(device))
        return logits.cpu()
    finally:
        for module, mode in modes.items():
            module.training = mode


def write_all(files: Mapping[Path, bytes]) -> None:
    """Writes several files; if one cannot be written, all are as they were."""
    before = {path: path.read_bytes() if path.exists() else None for path in files}
    try:
        for path, data in files.items():
            write_bytes(path, data)
    except BaseException:
        for path, old in before.items():
            path.unlink(missing_ok=True) if old is None else write_bytes(path, old)
        raise


def open_exported(path: Path, device: torch.device) -> Opened:
    """An exported network from its file, in whichever format it is.

    Raises:
        ModelError: If there is no such file, or it cannot be run.
    """
    kinds: dict[str, Format] = {}
    for form in FORMATS.values():
        kinds.setdefault(form.suffix, form)
    if path.suffix not in kinds:
        raise UnknownNameError("kind of exported network", path.suffix, kinds)
    if not path.is_file():
        raise ModelError(f"there is no file {str(path)!r} to read a network from")
    try:
        return kinds[path.suffix].load(path, device)
    except ModelError as error:
        text = str(error)
        raise ModelError(text if text.startswith(str(path)) else f"{path}: {text}") from None
