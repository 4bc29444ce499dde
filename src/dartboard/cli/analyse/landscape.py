"""Look around trained networks: their loss, or their gradients, on a grid of points about their weights.

WHAT is the run of a training, a model's file, an exported network (.py, .pt, .pt2), timm:NAME or
timm:NAME@WEIGHTS.safetensors; or a cell (published, of a search, in a file, or typed), which is trained
first, on a small network unless settings such as epochs=30 net.channels=16 say otherwise, as an ordinary run
in OUT/runs. Several are measured on the same grid and drawn side by side on one scale. Values, pictures and
numbers are written to OUT. The same command resumes what was stopped. All is computed with one thread a
process, so that the numbers do not depend on --jobs. Opening an exported .py or .pt file runs the code in
it: open only files that you trust.
"""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.analyse.networks import (
    NETWORKS,
    SETTING,
    add_network_flags,
    is_trained,
    open_network,
    train_cell,
    unique_names,
)
from dartboard.cli.arguments import RUNS, UsageError, above_zero, positive, prepare_device
from dartboard.cli.processes import interrupt_on_signals, report_stop
from dartboard.cli.render import Terminal, print_json, progress, write_all

if TYPE_CHECKING:
    from dartboard.analysis.landscape import Landscape

MAX_NAME = 80
"""Characters of the networks' names in the name of a folder."""
MEASURES = ("loss", "variance", "gradient", "smoothness")
OPTIONS = (
    *("of", "grid", "radius", "directions", "vectors"),
    *("statistics", "examples", "batch", "fresh", "seed"),
)
"""Flags that are options of the grid."""
WORDS = {
    "centre": "at the trained weights",
    "sharpness": "sharpness, % (largest rise within the radius)",
    "basin": "share of the grid in the basin (loss at most 1 higher)",
    "steepness": "largest slope between neighbors",
    "convexity": "share of points that bend upwards",
    "mean": "mean over the grid",
    "median": "median over the grid",
    "maximum": "maximum over the grid",
}


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("what", nargs="+", metavar="WHAT", help=NETWORKS)
    parser.set_defaults(overrides=[])  # settings of the training of a cell, such as epochs=10, behind flags
    add("--of", choices=MEASURES, default="loss", help="what is measured (default: loss)")
    add("--grid", type=odd, metavar="N", help="points along each side; odd (default: 21)")
    add("--radius", type=above_zero, metavar="R", help="how far the grid reaches (default: 1)")
    add("--full", action="store_true", help="the grid of Li et al. (2018): 51x51 points, radius 1")
    add("--directions", choices=("filter", "gaussian"), default="filter", help="default: filter-normalized")
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
    """Measure what is missing, draw, and print the shapes in a few numbers."""
    from dartboard.analysis.grid import GridOptions
    from dartboard.analysis.landscape import landscape
    from dartboard.config.loader import ConfigLoader

    words = [*args.what, *args.overrides]
    args.overrides = [word for word in words if SETTING.match(word)]
    networks = [word for word in words if not SETTING.match(word)]
    if not networks:
        raise UsageError(f"landscape needs a WHAT: {NETWORKS}")
    if args.full and (args.grid is not None or args.radius is not None):
        raise UsageError("--full is 51x51 points with radius 1; leave out --grid and --radius")
    args.grid, args.radius = (51, 1.0) if args.full else (args.grid or 21, args.radius or 1.0)
    has_cells = not all(map(is_trained, networks))
    device, names = prepare_device(args.device, None), unique_names(networks)
    out: Path = args.out or RUNS / f"landscape-{'-'.join(names)[:MAX_NAME]}"
    values = {name: getattr(args, name) for name in OPTIONS}
    measured: dict[str, Landscape] = {}
    images: dict[str, str] = {}
    with interrupt_on_signals() as caught:
        try:
            with progress(quiet=args.quiet) as report_progress:
                options = ConfigLoader(GridOptions, {}, "").validate(values)
                for what, name in zip(networks, names, strict=True):
                    folder = out if len(names) == 1 else out / name
                    where = what
                    if not (has_cells and is_trained(what)):
                        where = train_cell(what, args, folder, device, report_progress)
                    network = open_network(
                        where, args, examples=options.examples, which=args.which, fresh=options.fresh
                    )
                    measured[name] = landscape(
                        network.network,
                        network.images,
                        options,
                        train=network.train,
                        folder=folder,
                        device=device,
                        jobs=args.jobs,
                        progress=report_progress,
                    )
                    images[name] = network.description
        except KeyboardInterrupt as stop:
            return report_stop(stop, caught)
    _report(args, dict(zip(names, networks, strict=True)), measured, images, out)
    return 0


def _report(
    args: Namespace,
    networks: dict[str, str],
    measured: dict[str, "Landscape"],
    images: dict[str, str],
    out: Path,
) -> None:
    """Write pictures and numbers, and print."""
    from dartboard.analysis.landscape import summary, surfaces
    from dartboard.viz.plots import plot_contours, plot_heat, plot_surfaces

    shapes, panels = {name: summary(one) for name, one in measured.items()}, surfaces(measured)
    flat = plot_contours if args.of == "loss" else plot_heat
    figures = {f"{args.of}-flat": flat(panels), f"{args.of}-surface": plot_surfaces(panels)}
    every = {
        name: {"what": networks[name], "images": images[name], "shape": shapes[name], **one.facts()}
        for name, one in measured.items()
    }
    facts = next(iter(every.values())) if len(every) == 1 else {"networks": every}
    write_all(out, figures, f"{args.of}-numbers.json", facts)
    if args.json:
        print_json({"out": str(out)} | facts)
        return
    lines: list[Text | str] = []
    grid = f"{args.grid}x{args.grid} points, radius {args.radius:g}"
    for name, shape in shapes.items():
        head = args.of if len(shapes) == 1 else f"{args.of} of {name}"
        lines.append(Text.assemble((head, "bold"), (f"  {grid}, {images[name]}", "dim")))
        longest = max(len(WORDS[key]) for key in shape)
        lines += [f"{WORDS[key].ljust(longest)}  {value:.4g}" for key, value in shape.items()]
    Terminal().write([*lines, f"written to {out}"])
