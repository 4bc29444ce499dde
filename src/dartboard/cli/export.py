"""Write a trained network for other programs.

MODEL is the directory of a training, or a model's file (.safetensors). What is written takes batches of
normalized images [N, C, H, W] of any length and gives logits; the names of the classes, the mean and the
deviation go along. It is run and compared with torch before it is put in its place.
"""

import os
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from dartboard.cli.arguments import UsageError, add_plugins, load_images, load_plugins, positive
from dartboard.cli.render import Terminal, format_bytes, labeled, print_json
from dartboard.utils.text import command

if TYPE_CHECKING:
    from torch import Tensor

    from dartboard.export import Format
    from dartboard.export.models import LoadedModel
    from dartboard.nn import Model

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
    """Export the network, and print the files and the largest difference."""
    from dartboard.export import FORMATS, export_model
    from dartboard.export.models import find_model

    form = FORMATS[args.format]
    load_plugins(args.plugin)
    loaded = find_model(args.model, args.which)
    path = _output_file(args, form, loaded)
    data = args.data or loaded.model.facts.get("data")
    images, source = _images(loaded.model, data, required=args.data is not None)
    start = time.perf_counter()
    exported = export_model(loaded.model, path, args.format, images=images, opset=args.opset)
    seconds = time.perf_counter() - start
    files = {str(path): count for path, count in exported.files.items()}
    if args.json:
        facts = {"model": args.model, "format": args.format, "data": data, "checked_on": source}
        results = {"files": files, "difference": exported.difference, "images": exported.images}
        print_json(facts | {"seconds": seconds} | results)
        return 0
    terminal = Terminal()
    for file, count in files.items():
        terminal.write(labeled("written", f"{file} ({format_bytes(count)})"))
    difference = f"{exported.difference:.1e} at most between its logits and torch's, on {source}"
    terminal.write(labeled("difference", difference, terminal.width))
    images_name = data if isinstance(data, str) else "DATA"
    evaluate = command("evaluate", next(iter(files)), "--data", images_name, plugins=args.plugin)
    terminal.write(labeled("next", evaluate))
    return 0


def _output_file(args: Namespace, form: "Format", loaded: "LoadedModel") -> Path:
    """The file to write; existing files are refused unless `--force` is given."""
    from dartboard.export.models import default_file

    path = Path(args.out) if args.out else default_file(args.model, args.which, form)
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {str(path.parent)!r} to write {path.name} to")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"the folder {str(path.parent)!r} cannot be written to; choose another with --out")
    for file in form.files(path):
        if file.exists() and file.samefile(loaded.file):
            raise UsageError(f"{file} is the model itself; choose another name with --out")
        if file.exists() and not args.force:
            raise UsageError(
                f"{file} is there already; replace it with --force, or choose another with --out"
            )
    return path


def _images(model: "Model", name: object, *, required: bool) -> tuple["Tensor", str]:
    """Images to check the export with, and a description; noise if there are none, unless `required`."""
    import torch

    from dartboard.errors import DartboardError, one_line
    from dartboard.export import model_metadata, noise_images
    from dartboard.train.evaluation import choose_images, network_batches

    reason = "the model does not say its data"
    if isinstance(name, str):
        try:
            metadata = model_metadata(model)
            chosen = choose_images(load_images(name, metadata))
            cpu = torch.device("cpu")
            (batch,) = network_batches(chosen.images, metadata, batch=CHECKED, device=cpu, limit=CHECKED)
        except (DartboardError, OSError) as error:
            if required:
                raise
            reason = f"its data cannot be had ({one_line(error)})"
        else:
            return batch.x, f"{len(batch.y)} of the {chosen}"
    noise = noise_images(model)
    return noise, f"{len(noise)} images of noise: {reason}"
