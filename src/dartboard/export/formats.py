"""Export formats, and the export itself: files are checked against torch before they are put in place."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from dartboard.errors import ModelError, OptionError, UnknownNameError, one_line
from dartboard.export.metadata import Metadata
from dartboard.nn.model_file import Model
from dartboard.nn.network import CellNet
from dartboard.registry import Registry
from dartboard.runs import RunReader
from dartboard.utils.atomic import write_bytes

TOLERANCE = 1e-4
"""The largest difference allowed in a logit, relative to the largest logit where that is above 1."""
NOISE_IMAGES = 16
"""Random images that a network is checked on."""


@dataclass(frozen=True, eq=False)
class ExportRequest:
    """What a format is asked to write.

    Args:
        model: The model, its network discrete.
        name: Name of the network.
        opset: Version of the ONNX operators; None for the exporter's default.
    """

    model: Model
    name: str
    opset: int | None = None


@dataclass(frozen=True, eq=False)
class LoadedNetwork:
    """An exported network that is ready to run.

    Args:
        forward: From normalized images, float32 [N, C, H, W], to logits [N, classes] on the same device.
        metadata: Its metadata.
    """

    forward: Callable[[Tensor], Tensor]
    metadata: Metadata


@dataclass(frozen=True)
class Format:
    """A file format for networks.

    Args:
        suffix: Suffix of its file.
        description: What it is, in a few words.
        pack: Contents of the files, by suffix.
        load: Opens a file, to run on a device.
        companions: Suffixes of the files that are written next to it.
        has_opset: Whether it takes a version of the ONNX operators.
    """

    suffix: str
    description: str
    pack: Callable[[ExportRequest], dict[str, bytes]]
    load: Callable[[Path, torch.device], LoadedNetwork]
    companions: tuple[str, ...] = ()
    has_opset: bool = False

    def files(self, path: Path) -> tuple[Path, ...]:
        """All files that are written for the file `path`, itself first."""
        return (path, *(path.with_suffix(suffix) for suffix in self.companions))


FORMATS: Registry[Format] = Registry("format", "dartboard.export_formats")
"""Export formats by name."""


def register_export_format(name: str) -> Callable[[Format], Format]:
    """Function that registers a `Format` as the export format `name`.

    Examples:
        >>> from dataclasses import replace
        >>> from dartboard import register_export_format
        >>> from dartboard.export import FORMATS
        >>> traced = replace(FORMATS["torchscript"], suffix=".ts", description="TorchScript, as .ts")
        >>> register_export_format("ts")(traced).suffix
        '.ts'
    """
    return FORMATS.register(name, stacklevel=2)


@dataclass(frozen=True)
class Exported:
    """The files that were written.

    Args:
        files: Size in bytes by path; the file to open is the first.
        difference: The largest difference between a logit and torch's.
        images: Number of images it was checked on.
    """

    files: Mapping[Path, int]
    difference: float
    images: int


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
        from dartboard.export.models import find_model

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
        by_suffix = {form.suffix: name for name, form in reversed(list(FORMATS.items()))}
        if Path(path).suffix not in by_suffix:
            raise UnknownNameError("kind of exported network", Path(path).suffix, by_suffix)
        kind = by_suffix[Path(path).suffix]
    form = FORMATS[kind]
    if path is not None:
        return kind, Path(path)
    place = model if isinstance(model, str | Path) else getattr(model, "path", getattr(model, "run", None))
    if place is None:
        raise OptionError("name the file to write: the model is of no run that it could be named after")
    from dartboard.export.models import default_file

    return kind, default_file(place, None, form)


def open_exported(path: Path, device: torch.device) -> LoadedNetwork:
    """An exported network from its file, in whichever format it is.

    Raises:
        ModelError: If there is no such file, or it cannot be run.
    """
    by_suffix: dict[str, Format] = {}
    for export_format in FORMATS.values():
        by_suffix.setdefault(export_format.suffix, export_format)
    if path.suffix not in by_suffix:
        raise UnknownNameError("kind of exported network", path.suffix, by_suffix)
    if not path.is_file():
        raise ModelError(f"there is no file {str(path)!r} to read a network from")
    try:
        return by_suffix[path.suffix].load(path, device)
    except ModelError as error:
        text = str(error)
        raise ModelError(text if text.startswith(str(path)) else f"{path}: {text}") from None


def noise_images(model: Model) -> Tensor:
    """Seeded normal noise in the shape of the model's images [N, C, H, W]."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(NOISE_IMAGES, *model.net.config.input, generator=generator)


@torch.no_grad()
def verify(forward: Callable[[Tensor], Tensor], model: Model, images: Tensor) -> float:
    """The largest difference in a logit between an exported network and the model's, at two batch sizes.

    Raises:
        ModelError: If they differ by more than rounding.
    """
    images = images.cpu()
    expected = _logits(model, images)
    actual = torch.cat([forward(images[:1]), forward(images[1:])]) if len(images) > 1 else forward(images)
    difference = float((actual - expected).abs().max())
    allowed = TOLERANCE * max(1.0, float(expected.abs().max()))
    if not difference <= allowed:
        raise ModelError(
            f"the exported network differs from torch's by {difference:.2g} in a logit, more than "
            f"{allowed:.2g}; nothing was written"
        )
    return difference


def _logits(model: Model, images: Tensor) -> Tensor:
    """Logits of the model's own network in evaluation mode, on the CPU; the modes of its modules are kept."""
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
    """Write several files; if one cannot be written, all are restored."""
    before = {path: path.read_bytes() if path.exists() else None for path in files}
    try:
        for path, data in files.items():
            write_bytes(path, data)
    except BaseException:
        for path, old in before.items():
            path.unlink(missing_ok=True) if old is None else write_bytes(path, old)
        raise


class Logits(nn.Module):
    """A network from images to logits and nothing else, by the plain formula; no auxiliary head."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.net = plain_network(model)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.net(images)
        return logits


def plain_network(model: Model) -> CellNet:
    """A copy of a model's network that computes by the plain formula, on the CPU, in evaluation mode."""
    config = replace(model.net.config, mix="plain", auxiliary=False, drop_path=0.0)
    net = CellNet(model.net.space, config)
    state = model.net.state_dict()
    net.load_state_dict({name: value for name, value in state.items() if not name.startswith("auxiliary.")})
    return net.eval().requires_grad_(False)


def example_images(model: Model) -> Tensor:
    """Two images of zeros of the model's shape, to trace with."""
    return torch.zeros(2, *model.net.config.input)


def import_package(name: str, extra: str) -> Any:
    """A package that only some formats need.

    Raises:
        ModelError: If it cannot be imported; names the extra that installs it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise ModelError(f"{name} is not installed; pip install 'dartboard[{extra}]'") from None
    except (ImportError, RuntimeError) as error:
        reason = one_line(error)
        raise ModelError(f"{name} cannot be imported ({reason}); pip install 'dartboard[{extra}]'") from None
