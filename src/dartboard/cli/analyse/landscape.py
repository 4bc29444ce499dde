"""Look around a trained network: its loss, or its gradients, on a grid of points about its weights.

WHAT is the run of a training or a model's file; or a cell (published, of a search, in a file, or typed),
which is trained first, on a small network unless words such as epochs=30 net.channels=16 say otherwise, as an
ordinary run in OUT/runs. Values, pictures and numbers are written to OUT. What is stopped goes on with the
same command. All is computed with one thread a process, so that the numbers do not depend on --jobs.
"""

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.analyse.networks import add_network_flags, open_network, plain, trained
from dartboard.cli.arguments import RUNS, above_zero, positive
from dartboard.cli.progress import progress
from dartboard.cli.render import Terminal
from dartboard.cli.signals import interrupt_on_signals, report_stop
from dartboard.utils.progress import Progress

if TYPE_CHECKING:
    import torch

    from dartboard.analysis.grid import GridOptions
    from dartboard.analysis.landscape import Landscape

MEASURES = ("loss", "variance", "gradient", "smoothness")
OPTIONS = (
    "of",
    "grid",
    "radius",
    "directions",
    "vectors",
    "statistics",
    "examples",
    "batch",
    "fresh",
    "seed",
)
WORDS = {
    "centre": "at the trained weights",
    "sharpness": "sharpness, % (largest rise within the radius)",
    "basin": "share of the grid in the basin (loss at most 1 higher)",
    "steepness": "largest slope between neighbours",
    "convexity": "share of points that bend upwards",
    "mean": "mean over the grid",
    "median": "median over the grid",
    "maximum": "maximum over the grid",
}


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("what", metavar="WHAT", help="a run of dartboard train, a model's file, or a cell")
    add("overrides", nargs="*", metavar="KEY=VALUE", help="settings of the training of a cell")
    add("--of", choices=MEASURES, default="loss", help="what is measured (default: loss)")
    add("--grid", type=odd, default=21, metavar="N", help="points along each side; odd (default: 21)")
    add("--radius", type=above_zero, default=1.0, metavar="R", help="how far the grid reaches (default: 1)")
    add("--directions", choices=("filter", "gaussian"), default="filter", help="default: filter-normalised")
    add(
        "--vectors", choices=("zero", "drawn"), default="zero", help="move biases and batch-norms too, or not"
    )
    add(
        "--statistics",
        choices=("kept", "fresh", "batch"),
        default="kept",
        help="of batch-norms; default: kept",
    )
    add("--fresh", type=positive, default=256, metavar="N", help="images for fresh statistics (default: 256)")
    add("--examples", type=positive, default=512, metavar="N", help="images, at the most (default: 512)")
    add("--batch", type=positive, default=128, metavar="N", help="images at once (default: 128)")
    add("--seed", type=int, default=0, metavar="N", help="random seed of the directions (default: 0)")
    add_network_flags(parser)
    add("--out", type=Path, metavar="DIR", help="default: runs/landscape-WHAT")
    add("--jobs", type=positive, default=1, metavar="N", help="processes, of one thread each (default: 1)")
    add("--device", metavar="D", help="device to compute on (default: cuda if there is one, else cpu)")
    add("--json", action="store_true", help="print one JSON object instead")
    add("--quiet", action="store_true", help="show nothing while it runs")


def odd(text: str) -> int:
    """An odd number of points, 3 or more."""
    number = positive(text)
    if number < 3 or number % 2 == 0:
        raise ArgumentTypeError(f"expected an odd number from 3, so that there is a middle, got {text!r}")
    return number


def run(args: Namespace) -> int:
    """Measure what is missing, draw, and print the shape in a few numbers."""
    from dartboard.cli.arguments import prepare_device

    device = prepare_device(args.device, None)
    out = args.out or RUNS / f"landscape-{plain(args.what)}"
    with interrupt_on_signals() as caught:
        try:
            with progress(quiet=args.quiet) as tell:
                measured, images = _measure(args, out, device, tell)
        except KeyboardInterrupt as stop:
            return report_stop(stop, caught)
    return _report(args, measured, out, images)


def _measure(args: Namespace, out: Path, device: "torch.device", tell: Progress) -> tuple["Landscape", str]:
    """The landscape, and what it was measured on in words."""
    from dartboard.analysis.landscape import landscape

    options = _options(args)
    where = trained(args, out, device, tell)
    network = open_network(where, args, examples=options.examples, which=args.which, fresh=options.fresh)
    measured = landscape(
        network.model,
        network.images,
        options,
        train=network.train,
        folder=out,
        device=device,
        jobs=args.jobs,
        progress=tell,
    )
    return measured, network.words


def _options(args: Namespace) -> "GridOptions":
    from dartboard.analysis.grid import GridOptions
    from dartboard.config.loader import ConfigLoader

    return ConfigLoader(GridOptions, {}, "").validate({name: getattr(args, name) for name in OPTIONS})


def _report(args: Namespace, measured: "Landscape", out: Path, images: str) -> int:
    """Write pictures and numbers, and print."""
    from dartboard.analysis.landscape import summary, surfaces
    from dartboard.cli.analyse.output import write_all
    from dartboard.viz.plots import plot_contours, plot_heat, plot_surfaces

    shape, drawn = summary(measured), surfaces({plain(args.what): measured})
    flat = plot_contours if args.of == "loss" else plot_heat
    figures = {f"{args.of}-flat": flat(drawn), f"{args.of}-surface": plot_surfaces(drawn)}
    facts = {"what": args.what, "images": images, "shape": _finite(shape), **measured.facts()}
    write_all(out, figures, f"{args.of}-numbers.json", facts)
    if args.json:
        print(json.dumps({"out": str(out)} | facts))
    else:
        Terminal().write([*_lines(measured, shape, images), f"written to {out}"])
    return 0


def _finite(shape: dict[str, float]) -> dict[str, float | None]:
    """The numbers, ready for JSON: None for what is infinite."""
    return {name: value if abs(value) < float("inf") else None for name, value in shape.items()}


def _lines(measured: "Landscape", shape: dict[str, float], images: str) -> Iterator[Text | str]:
    options = measured.options
    grid = f"{options.grid}x{options.grid} points, radius {options.radius:g}, {images}"
    yield Text.assemble((options.of, "bold"), (f"  {grid}", "dim"))
    longest = max(len(WORDS[name]) for name in shape)
    yield from (f"{WORDS[name].ljust(longest)}  {value:.4g}" for name, value in shape.items())
