"""Say how curved a loss is: the largest eigenvalues of its Hessian, and the smallest.

RUN is the run of a training or a model's file, and the Hessian that in the weights; or the run of a search,
and the Hessian that in the architecture parameters, on held-out images. Products with it are exact.
"""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.analyse.networks import add_network_flags, is_trained, open_network
from dartboard.cli.arguments import UsageError, positive
from dartboard.cli.progress import progress
from dartboard.cli.terminal import Terminal

if TYPE_CHECKING:
    import torch

    from dartboard.analyse.hessian import Spectrum

OF_WEIGHTS = ("which", "data", "part", "statistics", "batch")
"""Flags that a search has no use for."""


def configure(parser: ArgumentParser) -> None:
    """Declare the tool's arguments."""
    add = parser.add_argument
    add("what", metavar="RUN", help="a run of dartboard train or search, or a model's file")
    add("--count", type=positive, default=5, metavar="N", help="how many eigenvalues (default: 5)")
    add("--examples", type=positive, default=256, metavar="N", help="images, at the most (default: 256)")
    add("--batch", type=positive, metavar="N", help="images at once (default: 64)")
    add("--statistics", choices=("kept", "batch"), help="of batch-norms of a trained network; default: kept")
    add_network_flags(parser)
    add("--fall-back", action="store_true", help="take an older checkpoint if the last is damaged")
    add("--device", metavar="D", help="where to compute (default: cuda if there is one, else cpu)")
    add("--threads", type=positive, metavar="N", help="threads on a CPU")
    add("--json", action="store_true", help="print one JSON object instead")


def run(args: Namespace) -> int:
    """Print the eigenvalues."""
    from dartboard.cli.machine import prepare

    device = prepare(args.device, args.threads)
    trained = is_trained(args.what)
    found, words = (_of_weights if trained else _of_architecture)(args, device)
    where = "weights" if trained else "architecture parameters"
    if args.json:
        print(json.dumps({"what": args.what, "in": where, "images": words} | found.facts()))
    else:
        Terminal().write(_lines(found, where, words))
    return 0


def _of_weights(args: Namespace, device: "torch.device") -> tuple["Spectrum", str]:
    from dartboard.analyse.hessian import weight_spectrum

    if args.fall_back:
        raise UsageError(f"--fall-back chooses among the checkpoints of a search; {args.what} is a training")
    own = open_network(args.what, args, examples=args.examples, which=args.which)
    with progress() as tell:
        found = weight_spectrum(
            own.model,
            own.images,
            count=args.count,
            examples=args.examples,
            batch=args.batch or 64,
            statistics=args.statistics or "kept",
            device=device,
            tell=tell,
        )
    return found, own.words


def _of_architecture(args: Namespace, device: "torch.device") -> tuple["Spectrum", str]:
    from dartboard.analyse.hessian import arch_spectrum
    from dartboard.runs import Run
    from dartboard.search.revive import searcher_of

    for name in OF_WEIGHTS:
        if getattr(args, name) is not None:
            raise UsageError(f"--{name} is of trained networks; {args.what} is none")
    with progress() as tell:
        searcher = searcher_of(Run.read(args.what), device, fall_back=args.fall_back, progress=tell)
        x, y = next(iter(searcher.valid_batches()))
        batch = x[: args.examples], y[: args.examples]
        found = arch_spectrum(searcher.task, batch, count=args.count)
    return found, f"{found.examples:,} held-out images of {searcher.data.name}"


def _lines(found: "Spectrum", where: str, words: str) -> Iterator[Text | str]:
    yield Text.assemble((f"Hessian in {found.size:,} {where}", "bold"), (f"  {words}", "dim"))
    for place, value in enumerate(found.largest, 1):
        yield f"largest {place}  {value:.5g}"
    yield f"smallest   {found.smallest:.5g}"
