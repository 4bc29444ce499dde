"""Look around a trained network: its loss, or its gradients, on a grid of points about its weights.

WHAT is the run of a training or a model's file; or a cell (published, of a search, in a file, or typed),
which is trained first, on a small network unless words such as epochs=30 net.channels=16 say otherwise, as an
ordinary run in OUT/runs. Values, pictures and numbers are written to OUT. What is stopped goes on with the
same command.
"""

import json
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from dartboard.cli.analyse.networks import add_network_flags, is_trained, open_network
from dartboard.cli.arguments import UsageError, positive
from dartboard.cli.lookup import find_genotype, home_of, space_name, space_of_run
from dartboard.cli.looping import SIGNALLED
from dartboard.cli.places import RUNS
from dartboard.cli.progress import progress
from dartboard.cli.terminal import Terminal

if TYPE_CHECKING:
    import torch

    from dartboard.analyse.landscape import Landscape, Tell
    from dartboard.analyse.site import GridOptions

SETTING = re.compile(r"[a-z_.]+=")
CELL = "cell"
"""The label of a cell that is trained here."""
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
SMALL: dict[str, Any] = {
    "epochs": 15,
    "net": {"channels": 8, "cells": 5},
    "data": {"name": "cluttered-digits", "pad": 1, "flip": False},
}
"""What a cell is trained with unless words say otherwise: minutes on a laptop."""
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
    """Declare the tool's arguments."""
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
    add(
        "--seed", type=int, default=0, metavar="N", help="where the drawing of directions starts (default: 0)"
    )
    add_network_flags(parser)
    add("--out", type=Path, metavar="DIR", help="default: runs/landscape-WHAT")
    add("--jobs", type=positive, default=1, metavar="N", help="processes, of one thread each (default: 1)")
    add("--threads", type=positive, metavar="N", help="threads of this process on a CPU")
    add("--device", metavar="D", help="where to compute (default: cuda if there is one, else cpu)")
    add("--json", action="store_true", help="print one JSON object instead")
    add("--quiet", action="store_true", help="show nothing while it runs")


def odd(text: str) -> int:
    """An odd number of points, 3 or more."""
    number = positive(text)
    if number < 3 or number % 2 == 0:
        raise ArgumentTypeError(f"expected an odd number from 3, so that there is a middle, got {text!r}")
    return number


def above_zero(text: str) -> float:
    """A number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ArgumentTypeError(f"expected a number above 0, got {text!r}")
    return number


def run(args: Namespace) -> int:
    """Measure what is missing, draw, and print the shape in a few numbers."""
    from dartboard.cli.machine import prepare
    from dartboard.cli.signals import interrupt_on_signals

    device = prepare(args.device, args.threads)
    out = args.out or RUNS / f"landscape-{_plain(args.what)}"
    with interrupt_on_signals() as caught:
        try:
            with progress(quiet=args.quiet) as tell:
                found, words = _look(args, out, device, tell)
        except KeyboardInterrupt:
            print("interrupted; the same command goes on", file=sys.stderr)
            return SIGNALLED + caught[0]
    return _report(args, found, out, words)


def _look(args: Namespace, out: Path, device: "torch.device", tell: "Tell") -> tuple["Landscape", str]:
    """The landscape, and what it was measured on in words."""
    from dartboard.analyse.landscape import landscape

    options = _options(args)
    where, which = _trained(args, out, device, tell)
    own = open_network(where, args, examples=options.examples, which=which, fresh=options.fresh)
    found = landscape(
        own.model,
        own.images,
        options,
        train=own.train,
        folder=out,
        device=device,
        jobs=args.jobs,
        tell=tell,
    )
    return found, own.words


def _options(args: Namespace) -> "GridOptions":
    from dartboard.analyse.site import GridOptions
    from dartboard.search.form import Form

    return Form(GridOptions, {}, "").validate({name: getattr(args, name) for name in OPTIONS})


def _trained(args: Namespace, out: Path, device: "torch.device", tell: "Tell") -> tuple[str, str | None]:
    """The run or file of the network, and which of a run; a cell is trained before."""
    if is_trained(args.what):
        if args.overrides:
            raise UsageError(f"{args.what} is trained already; leave out {args.overrides[0]}")
        return args.what, args.which
    from dartboard.analyse.convergence import RUNS as INNER
    from dartboard.analyse.convergence import compare, make_settings

    genotype = find_genotype(args.what)
    space = space_of_run(args.what) or home_of(genotype)
    flags: dict[str, Any] = {"space": space_name(args.what, None, space)}
    flags |= {} if args.data is None else {"data": {"name": args.data}}
    settings = make_settings(SMALL, flags, words=_settings(args.overrides))
    found = compare({CELL: genotype}, settings, out, device=device, tell=tell)
    return str(out / INNER / found.trainings[0].entry.name), args.which


def _settings(words: Sequence[str]) -> Sequence[str]:
    """Words that are settings; others are mistakes."""
    for word in words:
        if not SETTING.match(word):
            raise UsageError(f"{word!r} is no setting such as epochs=30; landscape takes one network or cell")
    return words


def _plain(text: str) -> str:
    """What was typed as part of a directory's name."""
    name = Path(text).name.removesuffix(".json").removesuffix(".safetensors")
    return name if re.fullmatch(r"[A-Za-z0-9][\w.+-]{0,40}", name) else CELL


def _report(args: Namespace, found: "Landscape", out: Path, words: str) -> int:
    """Write pictures and numbers, and print."""
    from dartboard.analyse.plot_landscape import draw_contours, draw_heat, draw_surfaces
    from dartboard.analyse.sharpness import summary
    from dartboard.cli.analyse.writing import write_all

    shape, titled = summary(found), {_plain(args.what): found}
    flat = draw_contours if args.of == "loss" else draw_heat
    figures = {f"{args.of}-flat": flat(titled), f"{args.of}-surface": draw_surfaces(titled)}
    facts = {"what": args.what, "images": words, "shape": _finite(shape), **found.facts()}
    write_all(out, figures, f"{args.of}-numbers.json", facts)
    if args.json:
        print(json.dumps({"out": str(out)} | facts))
    else:
        Terminal().write([*_lines(found, shape, words), f"written to {out}"])
    return 0


def _finite(shape: dict[str, float]) -> dict[str, float | None]:
    """The numbers, ready for JSON: None for what is infinite."""
    return {name: value if abs(value) < float("inf") else None for name, value in shape.items()}


def _lines(found: "Landscape", shape: dict[str, float], words: str) -> Iterator[Text | str]:
    options = found.options
    grid = f"{options.grid}x{options.grid} points, radius {options.radius:g}, {words}"
    yield Text.assemble((options.of, "bold"), (f"  {grid}", "dim"))
    longest = max(len(WORDS[name]) for name in shape)
    yield from (f"{WORDS[name].ljust(longest)}  {value:.4g}" for name, value in shape.items())
