"""Measure a trained network on images.

MODEL is the directory of a training, a model's file (.safetensors), or an exported network (.onnx, .pt, .pt2,
.py). A .py file is run: name only files that you trust. Images are brought to the network's size and
normalised as the network was trained.
"""

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from dartboard.cli.arguments import add_plugins, load_plugins, positive

if TYPE_CHECKING:
    from dartboard.cli.measuring import Measured

PARTS = ("test", "valid", "train")


def configure(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a run of dartboard train, a model's file, or an exported network")
    add(
        "--data",
        required=True,
        metavar="D",
        help="images: a folder, a file, or one of dartboard list datasets",
    )
    add("--part", choices=PARTS, help="which images (default: the first of these that there are)")
    add("--which", choices=("best", "last"), help="which network of a run (default: best)")
    add("--batch", type=positive, default=256, metavar="N", help="images at once (default: 256)")
    add("--device", metavar="D", help="where to compute (default: cuda if there is one, else cpu)")
    add_plugins(parser)
    add("--json", action="store_true", help="print one JSON object instead")


def run(args: Namespace) -> int:
    """Measure, and print what was measured."""
    from dartboard.cli.machine import prepare
    from dartboard.cli.measuring import choose_images, load_images, measure_network
    from dartboard.cli.models import find_network

    load_plugins(args.plugin)
    device = prepare(args.device, None)
    network = find_network(args.model, args.which, device)
    chosen = choose_images(load_images(args.data, network.about), args.part)
    measured = measure_network(network, chosen, batch=args.batch, device=device)
    _print(measured, args)
    return 0


def _print(measured: "Measured", args: Namespace) -> None:
    from dartboard.cli.measured import print_measured

    if args.json:
        print(json.dumps({"model": args.model} | measured.facts()))
    else:
        print_measured(measured, args.model)
