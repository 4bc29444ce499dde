"""Measure a trained network on images.

MODEL is the directory of a training, a model's file (.safetensors), or an exported network (.onnx, .pt, .pt2,
.py). A .py file is run, and a .pt file is a TorchScript program: name only files that you trust. Images are
brought to the network's size and normalized as the network was trained.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.arguments import (
    add_plugins,
    announce_program,
    load_images,
    load_plugins,
    positive,
    prepare_device,
)
from dartboard.cli.render import Terminal, labeled, print_json, progress

if TYPE_CHECKING:
    from dartboard.tasks import Evaluation
    from dartboard.train.evaluation import NetworkResults

PARTS = ("test", "valid", "train")
MAX_CLASSES = 20
"""The confusion matrix of more classes is not shown."""
WORST = 5
"""Classes with the lowest accuracy that are shown instead."""
NAME_WIDTH = 16
"""Columns for the name of a class."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
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
    add("--device", metavar="D", help="device to compute on (default: cuda if there is one, else cpu)")
    add_plugins(parser)
    add("--json", action="store_true", help="print one JSON object instead")


def run(args: Namespace) -> int:
    """Evaluate the network, and print loss, accuracy and speed."""
    from dartboard.export.models import find_network
    from dartboard.train.evaluation import choose_images, evaluate_network

    load_plugins(args.plugin)
    device = prepare_device(args.device, None)
    announce_program(args.model)
    network = find_network(args.model, args.which, device)
    images = choose_images(load_images(args.data, network.metadata), args.part)
    with progress() as report_progress:
        results = evaluate_network(network, images, batch=args.batch, device=device, progress=report_progress)
    if args.json:
        print_json({"model": args.model} | results.facts())
    else:
        _print_results(results, args.model)
    return 0


def _print_results(results: "NetworkResults", model: str) -> None:
    from dartboard.tasks import TOP

    evaluation, classes = results.evaluation, results.classes
    top5 = f", {evaluation.top5:.2%} among the first {TOP}" if len(evaluation.confusion) > TOP else ""
    terminal = Terminal()
    terminal.write(labeled("network", model))
    terminal.write(labeled("images", str(results.chosen)))
    terminal.write(labeled("loss", f"{evaluation.loss:.4f}"))
    terminal.write(labeled("accuracy", f"{evaluation.top1:.2%}{top5}"))
    terminal.write(labeled("speed", f"{results.speed:,.0f} images a second on {results.device}"))
    if len(classes) <= MAX_CLASSES:
        terminal.write(["", *confusion_lines(evaluation, classes)])
        return
    pairs = zip(evaluation.per_class, classes, strict=True)
    worst = sorted((accuracy, name) for accuracy, name in pairs if accuracy is not None)[:WORST]
    terminal.write(["", Text("the classes that it knows least", "dim")])
    terminal.write(Text(f"{accuracy:6.1%}  {name}") for accuracy, name in worst)


def confusion_lines(evaluation: "Evaluation", classes: tuple[str, ...]) -> Iterator[Text]:
    """A line for each class: how many of its images were classified as which, and its accuracy."""
    rows = evaluation.confusion.tolist()
    name_width = min(max(map(len, classes)), NAME_WIDTH)
    width = max(len(str(count)) for row in rows for count in row) + 1
    width = max(width, len(str(len(classes) - 1)) + 1)
    numbers = "".join(str(number).rjust(width) for number in range(len(classes)))
    yield Text(f"{'':>2} {'':{name_width}}{numbers}   right", "dim")
    for number, (name, row, accuracy) in enumerate(zip(classes, rows, evaluation.per_class, strict=True)):
        line = Text.assemble((f"{number:>2} ", "dim"), name[:name_width].ljust(name_width))
        for column, count in enumerate(row):
            line.append(str(count).rjust(width), "bold" if column == number else "" if count else "dim")
        yield line.append("       -" if accuracy is None else f"  {accuracy:6.1%}")
