"""Say how curved a loss is: the largest eigenvalues of its Hessian, and the smallest.

WHAT is the run of a training, a model's file, or a cell (published, in a file, or typed), which is trained
first, on a small network unless words such as epochs=30 net.channels=16 say otherwise, as an ordinary run in
OUT/runs; then the Hessian is that in the weights. Or it is the run of a search, and the Hessian that in the
architecture parameters, on held-out images in batches as large as those that the search took its steps with.
Products with it are exact.
"""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.analyse.networks import add_network_flags, is_trained, open_network, plain, trained
from dartboard.cli.arguments import RUNS, UsageError, positive
from dartboard.cli.progress import progress
from dartboard.cli.render import Terminal
from dartboard.cli.signals import interrupt_on_signals, report_stop
from dartboard.utils.progress import Progress

if TYPE_CHECKING:
    import torch

    from dartboard.analysis.hessian import Spectrum
    from dartboard.arch.objective import Batch
    from dartboard.search import Searcher

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
    from dartboard.cli.arguments import prepare_device

    device, searched = prepare_device(args.device, args.threads), _is_search(args.what)
    with interrupt_on_signals() as caught:
        try:
            with progress(quiet=args.quiet) as tell:
                spectrum, words = (_of_architecture if searched else _of_weights)(args, device, tell)
        except KeyboardInterrupt as stop:
            return report_stop(stop, caught)
    return _report(args, spectrum, "architecture parameters" if searched else "weights", words)


def _is_search(text: str) -> bool:
    """Whether a text names the run of a search."""
    from dartboard.runs import is_run

    with suppress(OSError):  # a genotype can be too long for a file name
        return is_run(Path(text)) and not is_trained(text)
    return False


def _report(args: Namespace, spectrum: "Spectrum", where: str, words: str) -> int:
    if args.json:
        print(json.dumps({"what": args.what, "in": where, "images": words} | spectrum.facts()))
    else:
        Terminal().write(_lines(spectrum, where, words))
    return 0


def _of_weights(args: Namespace, device: "torch.device", tell: Progress) -> tuple["Spectrum", str]:
    from dartboard.analysis.hessian import weight_spectrum

    if args.fall_back:
        raise UsageError(f"--fall-back chooses among the checkpoints of a search; {args.what} is none")
    if args.out is not None and is_trained(args.what):
        raise UsageError(f"--out is where a cell is trained; {args.what} is trained already")
    where = trained(args, args.out or RUNS / f"hessian-{plain(args.what)}", device, tell)
    network = open_network(where, args, examples=args.examples, which=args.which)
    spectrum = weight_spectrum(
        network.model,
        network.images,
        count=args.count,
        examples=args.examples,
        batch=args.batch or 64,
        statistics=args.statistics or "kept",
        device=device,
        progress=tell,
    )
    return spectrum, network.words


def _of_architecture(args: Namespace, device: "torch.device", tell: Progress) -> tuple["Spectrum", str]:
    from dartboard.analysis.hessian import arch_spectrum
    from dartboard.runs import Run
    from dartboard.search.searcher import load_searcher

    for name in OF_WEIGHTS:
        if getattr(args, name) is not None:
            raise UsageError(f"--{name} is of trained networks; {args.what} is none")
    if args.overrides:
        raise UsageError(
            f"{args.what} is a search, whose settings are settled; leave out {args.overrides[0]}"
        )
    searcher = load_searcher(Run.read(args.what), device, fall_back=args.fall_back, progress=tell)
    spectrum = arch_spectrum(
        searcher.objective, _batches(searcher, args.examples), count=args.count, progress=tell
    )
    return spectrum, f"{spectrum.examples:,} held-out images of {searcher.data.name}"


def _batches(searcher: "Searcher", examples: int) -> "list[Batch]":
    """At most so many held-out images, spread evenly, in batches as large as one piece of a step."""
    from dartboard.search.build import make_evaluation_batches

    return list(
        make_evaluation_batches(
            searcher.loaders.valid,
            searcher.data,
            searcher.options.data,
            batch=max(searcher.options.batch // searcher.objective.micro_batches, 1),
            device=searcher.device,
            limit=examples,
        )
    )


def _lines(spectrum: "Spectrum", where: str, words: str) -> Iterator[Text | str]:
    yield Text.assemble((f"Hessian in {spectrum.size:,} {where}", "bold"), (f"  {words}", "dim"))
    for number, value in enumerate(spectrum.largest, 1):
        yield f"largest {number}  {value:.5g}"
    yield f"smallest   {spectrum.smallest:.5g}"
