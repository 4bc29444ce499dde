"""Measure a trained network on images.

MODEL is the directory of a training, a model's file (.safetensors), or an exported network (.onnx, .pt, .pt2,
.py). A .py file is run: name only files that you trust. Images are brought to the network's size and
normalised as the network was trained.
"""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.arguments import add_plugins, load_plugins, positive
from dartboard.cli.render import Terminal, labelled

if TYPE_CHECKING:
    from dartboard.cli.models import Measured
    from dartboard.tasks import Evaluation


MOST = 20
"""Of more classes the confusion is not shown as a table."""
WORST = 5
NAME = 16  # columns for the name of a class


def print_measured(measured: "Measured", model: str) -> None:
    """Print how well a network does."""
    terminal, found = Terminal(), measured.found
    terminal.write(labelled("network", model))
    terminal.write(labelled("images", str(measured.chosen)))
    terminal.write(labelled("loss", f"{found.loss:.4f}"))
    terminal.write(labelled("accuracy", _accuracy(found)))
    terminal.write(labelled("speed", f"{measured.speed:,.0f} images a second on {measured.device}"))
    few = len(measured.classes) <= MOST
    lines = confusion_lines(found, measured.classes) if few else _worst(found, measured.classes)
    terminal.write(["", *lines])


def _accuracy(found: "Evaluation") -> str:
    from dartboard.tasks import TOP

    more = f", {found.top5:.2%} among the first {TOP}" if len(found.confusion) > TOP else ""
    return f"{found.top1:.2%}{more}"


def confusion_lines(found: "Evaluation", classes: tuple[str, ...]) -> Iterator[Text]:
    """A line for each class: how many of its images were taken for which, and the share that was right."""
    rows = found.confusion.tolist()
    name = min(max(map(len, classes)), NAME)
    column = max(len(str(count)) for row in rows for count in row) + 1
    column = max(column, len(str(len(classes) - 1)) + 1)
    numbers = "".join(str(number).rjust(column) for number in range(len(classes)))
    yield Text(f"{'':>2} {'':{name}}{numbers}   right", "dim")
    for number, (label, row, share) in enumerate(zip(classes, rows, found.per_class, strict=True)):
        line = Text.assemble((f"{number:>2} ", "dim"), label[:name].ljust(name))
        for place, count in enumerate(row):
            line.append(str(count).rjust(column), "bold" if place == number else "" if count else "dim")
        yield line.append(f"  {_share(share)}")


def _worst(found: "Evaluation", classes: tuple[str, ...]) -> Iterator[Text]:
    pairs = zip(found.per_class, classes, strict=True)
    known = sorted((share, label) for share, label in pairs if share is not None)
    yield Text("the classes that it knows least", "dim")
    yield from (Text(f"{_share(share)}  {label}") for share, label in known[:WORST])


def _share(share: float | None) -> str:
    return "     -" if share is None else f"{share:6.1%}"


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
    from dartboard.cli.arguments import prepare_device
    from dartboard.cli.models import choose_images, find_network, load_images, measure_network

    load_plugins(args.plugin)
    device = prepare_device(args.device, None)
    network = find_network(args.model, args.which, device)
    chosen = choose_images(load_images(args.data, network.metadata), args.part)
    measured = measure_network(network, chosen, batch=args.batch, device=device)
    _print(measured, args)
    return 0


def _print(measured: "Measured", args: Namespace) -> None:

    if args.json:
        print(json.dumps({"model": args.model} | measured.facts()))
    else:
        print_measured(measured, args.model)
