"""Look around a trained network: its loss, or its gradients, on a grid of points about its weights.

WHAT is the run of a training or a model's file; or a cell (published, of a search, in a file, or typed),
which is trained first, on a small network unless settings such as epochs=30 net.channels=16 say otherwise, as
an ordinary run in OUT/runs. Values, pictures and numbers are written to OUT. The same command resumes
what was stopped. All is computed with one thread a process, so that the numbers do not depend on --jobs.
"""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.analyse.networks import add_network_flags, directory_name, open_network, train_cell
from dartboard.cli.arguments import RUNS, above_zero, positive, prepare_device
from dartboard.cli.processes import interrupt_on_signals, report_stop
from dartboard.cli.render import Terminal, as_json, progress, write_all

if TYPE_CHECKING:
    from dartboard.analysis.landscape import Landscape

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
    add("what", metavar="WHAT", help="a run of dartboard train, a model's file, or a cell")
    add("overrides", nargs="*", metavar="KEY=VALUE", help="settings of the training of a cell")
    add("--of", choices=MEASURES, default="loss", help="what is measured (default: loss)")
    add("--grid", type=odd, default=21, metavar="N", help="points along each side; odd (default: 21)")
    add("--radius", type=above_zero, default=1.0, metavar="R", help="how far the grid reaches (default: 1)")
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
    """Measure what is missing, draw, and print the shape in a few numbers."""
    from dartboard.analysis.grid import GridOptions
    from dartboard.analysis.landscape import landscape
    from dartboard.config.loader import ConfigLoader

    device = prepare_device(args.device, None)
    out: Path = args.out or RUNS / f"landscape-{directory_name(args.what)}"
    values = {name: getattr(args, name) for name in OPTIONS}
    with interrupt_on_signals() as caught:
        try:
            with progress(quiet=args.quiet) as report_progress:
                options = ConfigLoader(GridOptions, {}, "").validate(values)
                where = train_cell(args, out, device, report_progress)
                network = open_network(
                    where, args, examples=options.examples, which=args.which, fresh=options.fresh
                )
                measured = landscape(
                    network.model,
                    network.images,
                    options,
                    train=network.train,
                    folder=out,
                    device=device,
                    jobs=args.jobs,
                    progress=report_progress,
                )
        except KeyboardInterrupt as stop:
            return report_stop(stop, caught)
    _report(args, measured, out, network.description)
    return 0


def _report(args: Namespace, measured: "Landscape", out: Path, images: str) -> None:
    """Write pictures and numbers, and print."""
    from dartboard.analysis.landscape import summary, surfaces
    from dartboard.viz.plots import plot_contours, plot_heat, plot_surfaces

    shape, panels = summary(measured), surfaces({directory_name(args.what): measured})
    flat = plot_contours if args.of == "loss" else plot_heat
    figures = {f"{args.of}-flat": flat(panels), f"{args.of}-surface": plot_surfaces(panels)}
    facts = {"what": args.what, "images": images, "shape": shape, **measured.facts()}
    write_all(out, figures, f"{args.of}-numbers.json", facts)
    if args.json:
        print(as_json({"out": str(out)} | facts))
        return
    grid = f"{args.grid}x{args.grid} points, radius {args.radius:g}, {images}"
    longest = max(len(WORDS[name]) for name in shape)
    lines = (f"{WORDS[name].ljust(longest)}  {value:.4g}" for name, value in shape.items())
    head = Text.assemble((args.of, "bold"), (f"  {grid}", "dim"))
    Terminal().write([head, *lines, f"written to {out}"])
