"""Say how curved a loss is: the largest eigenvalues of its Hessian, and the smallest.

WHAT is the run of a training, a model's file, or a cell (published, in a file, or typed), which is trained
first, on a small network unless settings such as epochs=30 net.channels=16 say otherwise, as an ordinary run
in OUT/runs; then the Hessian is that in the weights. Or it is the run of a search, and the Hessian that in
the architecture parameters, on held-out images in batches as large as those that the search took its steps
with. Products with it are exact.
"""

import json
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.analyse.networks import (
    add_network_flags,
    directory_name,
    is_trained,
    open_network,
    train_cell,
)
from dartboard.cli.arguments import RUNS, UsageError, positive, prepare_device
from dartboard.cli.processes import interrupt_on_signals, report_stop
from dartboard.cli.render import Terminal, progress
from dartboard.runs.directory import is_run
from dartboard.utils.progress import Progress

if TYPE_CHECKING:
    import torch

    from dartboard.analysis.hessian import Spectrum

OF_WEIGHTS = ("which", "data", "part", "statistics", "batch", "out")
"""Flags that a search has no use for."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("what", metavar="WHAT", help="a run of dartboard train or search, a model's file, or a cell")
    add("overrides", nargs="*", metavar="KEY=VALUE", help="settings of the training of a cell")
    add("--count", type=positive, default=5, metavar="N", help="how many eigenvalues (default: 5)")
    add("--examples", type=positive, default=256, metavar="N", help="images, at the most (default: 256)")
    add("--batch", type=positive, metavar="N", help="images at once (default: 64)")
    add("--statistics", choices=("kept", "batch"), help="of batch-norms of a trained network; default: kept")
    add_network_flags(parser)
    add("--fall-back", action="store_true", help="take an older checkpoint if the last is damaged")
    add("--device", metavar="D", help="device to compute on (default: cuda if there is one, else cpu)")
    add("--threads", type=positive, metavar="N", help="threads on a CPU; cells are trained with one")
    add("--out", type=Path, metavar="DIR", help="where a cell is trained (default: runs/hessian-WHAT)")
    add("--json", action="store_true", help="print one JSON object instead")
    add("--quiet", action="store_true", help="show nothing while it runs")


def run(args: Namespace) -> int:
    """Print the eigenvalues."""
    device, searched = prepare_device(args.device, args.threads), False
    with suppress(OSError):  # a genotype can be too long for a file name
        searched = is_run(Path(args.what)) and not is_trained(args.what)
    with interrupt_on_signals() as caught:
        try:
            with progress(quiet=args.quiet) as report_progress:
                measure = _of_architecture if searched else _of_weights
                spectrum, images = measure(args, device, report_progress)
        except KeyboardInterrupt as stop:
            return report_stop(stop, caught)
    where = "architecture parameters" if searched else "weights"
    if args.json:
        print(json.dumps({"what": args.what, "in": where, "images": images} | spectrum.facts()))
        return 0
    head = Text.assemble((f"Hessian in {spectrum.size:,} {where}", "bold"), (f"  {images}", "dim"))
    values = (f"largest {number}  {value:.5g}" for number, value in enumerate(spectrum.largest, 1))
    Terminal().write([head, *values, f"smallest   {spectrum.smallest:.5g}"])
    return 0


def _of_weights(args: Namespace, device: "torch.device", progress: Progress) -> tuple["Spectrum", str]:
    """The spectrum in the weights of a trained network, and what its images are."""
    from dartboard.analysis.hessian import weight_spectrum

    if args.fall_back:
        raise UsageError(f"--fall-back chooses among the checkpoints of a search; {args.what} is none")
    if args.out is not None and is_trained(args.what):
        raise UsageError(f"--out is where a cell is trained; {args.what} is trained already")
    out = args.out or RUNS / f"hessian-{directory_name(args.what)}"
    where = train_cell(args, out, device, progress)
    network = open_network(where, args, examples=args.examples, which=args.which)
    spectrum = weight_spectrum(
        network.model,
        network.images,
        count=args.count,
        examples=args.examples,
        batch=args.batch or 64,
        statistics=args.statistics or "kept",
        device=device,
        progress=progress,
    )
    return spectrum, network.description


def _of_architecture(args: Namespace, device: "torch.device", progress: Progress) -> tuple["Spectrum", str]:
    """The spectrum in the architecture parameters of a search, and what its images are."""
    from dartboard.analysis.hessian import arch_spectrum
    from dartboard.runs import Run
    from dartboard.search.build import make_evaluation_batches
    from dartboard.search.searcher import load_searcher

    for name in OF_WEIGHTS:
        if getattr(args, name) is not None:
            raise UsageError(f"--{name} is of trained networks; {args.what} is none")
    if args.overrides:
        raise UsageError(
            f"{args.what} is a search, whose settings are settled; leave out {args.overrides[0]}"
        )
    searcher = load_searcher(Run.read(args.what), device, fall_back=args.fall_back, progress=progress)
    batches = make_evaluation_batches(  # of held-out images, spread evenly
        searcher.loaders.valid,
        searcher.data,
        searcher.options.data,
        batch=max(searcher.options.batch // searcher.objective.micro_batches, 1),  # one piece of a step
        device=searcher.device,
        limit=args.examples,
    )
    spectrum = arch_spectrum(searcher.objective, list(batches), count=args.count, progress=progress)
    return spectrum, f"{spectrum.examples:,} held-out images of {searcher.data.name}"
