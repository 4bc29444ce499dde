"""Write a trained network for other programs.

MODEL is the directory of a training, or a model's file (.safetensors). What is written takes batches of
normalised images [N, C, H, W] of any length and gives logits; the names of the classes, the mean and the
deviation go along. It is run and compared with torch before it is put in its place.
"""

import json
import os
import re
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dartboard.cli.arguments import UsageError, add_plugins, load_plugins, positive

if TYPE_CHECKING:
    from torch import Tensor

    from dartboard.cli.models import LoadedModel
    from dartboard.export import Exported, Format

CHECKED = 64
"""How many images a network is checked on."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a run of dartboard train, or a model's file")
    add(
        "--format",
        required=True,
        metavar="F",
        help="onnx, torchscript, pt2, python or timm; see dartboard list formats",
    )
    add("--out", metavar="FILE", help="the file to write (default: named after MODEL, beside it)")
    add("--which", choices=("best", "last"), help="which network of a run (default: best)")
    add("--data", metavar="D", help="images to check with (default: those that it was trained on)")
    add("--opset", type=positive, metavar="N", help="version of ONNX's operators (default: torch's choice)")
    add("--force", action="store_true", help="replace files that are there already")
    add_plugins(parser)
    add("--json", action="store_true", help="print one JSON object instead")


def run(args: Namespace) -> int:
    """Export, and print what was written."""
    from dartboard.cli.models import find_model
    from dartboard.export import FORMATS, export_model

    form = FORMATS[args.format]
    load_plugins(args.plugin)
    found = find_model(args.model, args.which)
    path = _place(args, form, found)
    data = args.data or found.model.facts.get("data")
    images, words = _images(found, data, asked=args.data is not None)
    start = time.perf_counter()
    exported = export_model(found.model, path, args.format, images=images, opset=args.opset)
    facts = {"model": args.model, "format": args.format, "data": data, "checked_on": words}
    _print(exported, facts | {"seconds": time.perf_counter() - start}, args)
    return 0


def _place(args: Namespace, form: "Format", found: "LoadedModel") -> Path:
    """The file to write; nothing that is there already is lost."""
    path = Path(args.out) if args.out else _default(args, form)
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {str(path.parent)!r} to write {path.name} to")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"the folder {str(path.parent)!r} cannot be written to; choose another with --out")
    for file in form.files(path):
        if file.exists() and file.samefile(found.file):
            raise UsageError(f"{file} is the model itself; choose another name with --out")
        if file.exists() and not args.force:
            raise UsageError(
                f"{file} is there already; replace it with --force, or choose another with --out"
            )
    return path


def _default(args: Namespace, form: "Format") -> Path:
    """A name after the run or the model's file; one that can be imported where that matters."""
    path = Path(args.model).resolve()
    name = path.name if path.is_dir() else path.stem
    name += "_last" if args.which == "last" else ""
    if form.suffix == ".py":
        name = re.sub(r"\W", "_", name) + ("" if path.is_dir() else "_net")
        name = name if name.isidentifier() else f"net_{name}"
    given = Path(args.model).parent if Path(args.model).name else path.parent
    return given / f"{name}{form.suffix}"


def _images(found: "LoadedModel", data: object, *, asked: bool) -> tuple["Tensor", str]:
    """Images to check with, and what they are, in words; noise if none can be had and none were asked for."""
    from dartboard.errors import DartboardError, one_line
    from dartboard.export import noise_images

    if not isinstance(data, str):
        noisy = noise_images(found.model)
        return noisy, f"{len(noisy)} images of noise: the model does not say its data"
    try:
        return _real(found, data)
    except (DartboardError, OSError) as error:
        if asked:
            raise
        noisy, reason = noise_images(found.model), one_line(error)
        return noisy, f"{len(noisy)} images of noise: its data cannot be had ({reason})"


def _real(found: "LoadedModel", name: str) -> tuple["Tensor", str]:
    import torch

    from dartboard.cli.models import choose_images, load_images, network_batches
    from dartboard.export import model_metadata

    facts = model_metadata(found.model)
    chosen = choose_images(load_images(name, facts))
    (batch,) = network_batches(chosen.images, facts, batch=CHECKED, device=torch.device("cpu"), limit=CHECKED)
    return batch.x, f"{len(batch.y)} of the {chosen}"


def _print(exported: "Exported", facts: dict[str, Any], args: Namespace) -> None:
    from dartboard.cli.render import Terminal, format_bytes, labelled
    from dartboard.utils.text import command

    files = {str(path): count for path, count in exported.files.items()}
    if args.json:
        found = {"files": files, "difference": exported.difference, "images": exported.images}
        print(json.dumps(facts | found))
        return
    terminal = Terminal()
    for file, count in files.items():
        terminal.write(labelled("written", f"{file} ({format_bytes(count)})"))
    words = f"{exported.difference:.1e} at most between its logits and torch's, on {facts['checked_on']}"
    terminal.write(labelled("difference", words, terminal.width))
    data = facts["data"] if isinstance(facts["data"], str) else "DATA"
    words = command("evaluate", next(iter(files)), "--data", data, plugins=args.plugin)
    terminal.write(labelled("next", words))
