"""Trained networks: exported after a check against torch, opened again, and found by their place."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import torch
from torch import Tensor

from dartboard.errors import ModelError, OptionError, UnknownNameError
from dartboard.export.formats import FORMATS, ExportRequest, Format, LoadedNetwork, model_metadata
from dartboard.nn.model_file import BEST, LAST, MODEL_KIND, Model, load_model
from dartboard.runs import RunReader, is_run
from dartboard.runs.directory import read_config
from dartboard.utils.atomic import write_bytes

TOLERANCE = 1e-4
"""The largest difference allowed in a logit, relative to the largest logit where that is above 1."""
NOISE_IMAGES = 16
"""Random images that a network is checked on."""
WHICH = {"best": BEST, "last": LAST}
"""The files of the networks in a training's run."""


@dataclass(frozen=True)
class Exported:
    """The files that were written, with their sizes in bytes; the file to open is the first.

    `difference` is the largest between a logit and torch's, over as many `images` as it was checked on.
    """

    files: Mapping[Path, int]
    difference: float
    images: int


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model and the file that it was loaded from."""

    model: Model
    file: Path


class SupportsModel(Protocol):
    """Something that has a trained model, such as the result of a training."""

    def model(self) -> Model: ...


def export_model(
    model: Model | SupportsModel | RunReader | str | Path,
    path: str | Path | None = None,
    format: str | None = None,  # noqa: A002
    *,
    images: Tensor | None = None,
    opset: int | None = None,
) -> Exported:
    """Write a model in a format, completely or not at all, after running what will be written.

    Args:
        model: The model, whose network must be discrete; or the result or the run of a training, or a model's
            file.
        path: The file to write; a format may write others next to it. None for a file next to the run,
            named after it.
        format: Name of the format; None for the first with the file's suffix.
        images: Normalized images to check with, float32 [N, C, H, W]; None for seeded noise.
        opset: Version of the ONNX operators; None for the exporter's default.

    Raises:
        ModelError: If it cannot be written, or computes something else.

    Examples:
        >>> from dartboard import Trainer, export_model
        >>> settings = {"epochs": 1, "net": {"channels": 2, "auxiliary": 0}}
        >>> cell = "|nor_conv_3x3~0|+|skip_connect~0|none~1|"
        >>> result = Trainer(cell, "digits", space="nano", run="runs/mine", **settings).fit()
        >>> [str(file) for file in export_model("runs/mine", format="torchscript").files]
        ['runs/mine.pt']
        >>> [str(file) for file in export_model(result, "net.pt2").files]
        ['net.pt2']
    """
    kind, path = _file_and_format(model, path, format)
    if isinstance(model, RunReader | str | Path):
        model = find_model(str(model.path if isinstance(model, RunReader) else model), None).model
    elif not isinstance(model, Model):
        model = model.model()
    export_format = FORMATS[kind]
    if not model.net.space.discrete:
        raise ModelError(
            "the network has choices left to make; only networks of one architecture are exported"
        )
    if path.suffix != export_format.suffix:
        raise ModelError(
            f"the name of a file for {kind} ends in {export_format.suffix}; {path.name!r} does not"
        )
    if opset is not None and not export_format.has_opset:
        names = " and ".join(name for name, other in FORMATS.items() if other.has_opset)
        raise ModelError(f"an opset is for {names}; {kind} has none")
    contents = export_format.pack(ExportRequest(model, path.stem, opset))
    images = noise_images(model) if images is None else images
    with TemporaryDirectory() as folder:
        for suffix, data in contents.items():
            (Path(folder) / path.name).with_suffix(suffix).write_bytes(data)
        network = export_format.load(Path(folder) / path.name, torch.device("cpu"))
    difference = verify(network.forward, model, images)
    write_all({path.with_suffix(suffix): data for suffix, data in contents.items()})
    sizes = {file: len(contents[file.suffix]) for file in export_format.files(path)}
    return Exported(sizes, difference, len(images))


def _file_and_format(model: object, path: str | Path | None, kind: str | None) -> tuple[str, Path]:
    """The name of the format, and the file to write."""
    if kind is None:
        if path is None:
            raise OptionError(
                f"name a format ({', '.join(FORMATS)}), or a file whose name ends in its suffix"
            )
        kind = _format_of(Path(path))
    export_format = FORMATS[kind]
    if path is not None:
        return kind, Path(path)
    place = model if isinstance(model, str | Path) else getattr(model, "path", getattr(model, "run", None))
    if place is None:
        raise OptionError("name the file to write: the model is of no run that it could be named after")
    return kind, default_file(place, None, export_format)


def _format_of(path: Path) -> str:
    """The name of the first format with a file's suffix."""
    by_suffix = {export_format.suffix: name for name, export_format in reversed(list(FORMATS.items()))}
    if path.suffix not in by_suffix:
        raise UnknownNameError("kind of exported network", path.suffix, by_suffix)
    return by_suffix[path.suffix]


def default_file(source: str | Path, which: str | None, export_format: Format) -> Path:
    """A file named after the run or the model's file; Python source gets a name that can be imported."""
    path = Path(source).resolve()
    name = path.name if path.is_dir() else path.stem
    name += "_last" if which == "last" else ""
    if export_format.suffix == ".py":
        name = re.sub(r"\W", "_", name) + ("" if path.is_dir() else "_net")
        name = name if name.isidentifier() else f"net_{name}"
    folder = Path(source).parent if Path(source).name else path.parent
    return folder / f"{name}{export_format.suffix}"


def noise_images(model: Model) -> Tensor:
    """Seeded normal noise in the shape of the model's images [N, C, H, W]."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(NOISE_IMAGES, *model.net.config.input, generator=generator)


@torch.no_grad()
def verify(forward: Callable[[Tensor], Tensor], model: Model, images: Tensor) -> float:
    """The largest difference in a logit between an exported network and the model's, at two batch sizes.

    The model's network is compared in evaluation mode; the modes of its modules are restored.

    Raises:
        ModelError: If they differ by more than rounding.
    """
    net, images = model.net, images.cpu()
    modes = {module: module.training for module in net.modules()}
    try:
        expected = net.eval()(images.to(next(net.parameters()).device)).cpu()
    finally:
        for module, mode in modes.items():
            module.training = mode
    actual = torch.cat([forward(images[:1]), forward(images[1:])]) if len(images) > 1 else forward(images)
    difference = float((actual - expected).abs().max())
    allowed = TOLERANCE * max(1.0, float(expected.abs().max()))
    if not difference <= allowed:
        raise ModelError(
            f"the exported network differs from torch's by {difference:.2g} in a logit, more than "
            f"{allowed:.2g}; nothing was written"
        )
    return difference


def write_all(files: Mapping[Path, bytes]) -> None:
    """Write several files; if one cannot be written, all are restored."""
    before = {path: path.read_bytes() if path.exists() else None for path in files}
    try:
        for path, data in files.items():
            write_bytes(path, data)
    except BaseException:
        for path, old in before.items():
            path.unlink(missing_ok=True) if old is None else write_bytes(path, old)
        raise


def open_exported(path: Path, device: torch.device) -> LoadedNetwork:
    """An exported network from its file, in whichever format it is.

    Raises:
        ModelError: If there is no such file, or it cannot be run.
    """
    export_format = FORMATS[_format_of(path)]
    if not os.path.lexists(path):
        raise ModelError(f"there is no file {str(path)!r} to read a network from")
    try:
        return export_format.load(path, device)
    except ModelError as error:
        text = str(error)
        raise ModelError(text if text.startswith(str(path)) else f"{path}: {text}") from None


def find_network(text: str, which: str | None, device: torch.device) -> LoadedNetwork:
    """The network that a text names, ready to run: of a run, in a model's file, or exported.

    Raises:
        DartboardError: If there is none.
    """
    path = Path(text)
    if path.is_dir() or path.suffix == MODEL_KIND:
        model = find_model(text, which).model
        return LoadedNetwork(model.net.to(device), model_metadata(model))
    if which is not None:
        raise OptionError(f"--which chooses between the networks of a run; {text} is a file")
    suffixes = {export_format.suffix for export_format in FORMATS.values()}
    if path.suffix not in suffixes:
        kinds = ", ".join(sorted({MODEL_KIND, *suffixes}))
        raise ModelError(f"{text} is neither a run nor a network: those are files of kind {kinds}")
    return open_exported(path, device)


def find_model(text: str, which: str | None) -> LoadedModel:
    """The model that a text names: of a run, or in a file.

    Args:
        text: A directory or a file.
        which: `best` or `last`, of a run; None for the best.

    Raises:
        DartboardError: If there is none.
    """
    path = Path(text)
    if path.is_dir():
        if is_run(path):
            read_config(path, ["kind"])  # refuses a run of a newer version
        path = path / WHICH[which or "best"]
        if not os.path.lexists(path):
            raise ModelError(_missing_model(path))
        return LoadedModel(load_model(path, root=path.parent), path)
    if which is not None:
        raise OptionError(f"--which chooses between the networks of a run; {text} is a file")
    return LoadedModel(load_model(path), path)


def _missing_model(path: Path) -> str:
    """Why there is no such file, and what to do."""
    folder = path.parent
    kind = RunReader.read(folder).config.get("kind", "search") if is_run(folder) else None
    if kind == "train":
        return f"the training {folder} has no {path.name} yet; resume with: dartboard train --resume {folder}"
    if kind == "search":
        train = f"dartboard train {folder} --recipe quick"
        return f"the run {folder} has found a cell, but it is not trained; train it: {train}"
    if kind == "protocol":
        return f"{folder} holds many trainings; name one of those in {folder / 'final'}"
    return f"{folder} is not a run of dartboard train: it has no {path.name}"
