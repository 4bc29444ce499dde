"""Say how curved a loss is: the ends of the spectrum of its Hessian, its trace and its density.

WHAT is the run of a training, a model's file, an exported network (.py, .pt, .pt2), timm:NAME or
timm:NAME@WEIGHTS.safetensors; or a cell (published, in a file, or typed), which is trained first, on a small
network unless settings such as epochs=30 net.channels=16 say otherwise, as an ordinary run in OUT/runs; then
the Hessian is that in the weights. Or it is the run of a search, and the Hessian that in the architecture
parameters, on held-out images in batches as large as those that the search took its steps with. Products
with it are exact. Opening an exported .py or .pt file runs the code in it: open only files that you trust.
"""

from argparse import ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.analyse.networks import (
    NETWORKS,
    add_network_flags,
    directory_name,
    is_trained,
    open_network,
    train_cell,
)
from dartboard.cli.arguments import RUNS, UsageError, positive, prepare_device
from dartboard.cli.processes import interrupt_on_signals, report_stop
from dartboard.cli.render import Terminal, print_json, progress, write_all
from dartboard.runs.directory import is_run
from dartboard.utils.progress import Progress

if TYPE_CHECKING:
    import torch

    from dartboard.analysis.hessian import Spectrum

NUMBERS = "hessian.json"
OF_WEIGHTS = ("which", "data", "part", "statistics", "batch", "out")
"""Flags that a search has no use for."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("what", metavar="WHAT", help=f"a run of dartboard search, or {NETWORKS}")
    add("overrides", nargs="*", metavar="KEY=VALUE", help="settings of the training of a cell")
    add("--count", type=positive, default=5, metavar="N", help="how many eigenvalues (default: 5)")
    add("--trace", action="store_true", help="estimate the trace as well, by Hutchinson's method")
    add("--density", action="store_true", help="estimate trace and density, by stochastic Lanczos quadrature")
    add("--probes", type=positive, metavar="N", help="random vectors for trace and density (default: 10)")
    add("--degree", type=positive, metavar="N", help="Lanczos steps of each for the density (default: 40)")
    add("--examples", type=positive, default=256, metavar="N", help="images, at the most (default: 256)")
    add("--batch", type=positive, metavar="N", help="images at once (default: 64)")
    add("--statistics", choices=("kept", "batch"), help="of batch-norms of a trained network; default: kept")
    add_network_flags(parser)
    add("--fall-back", action="store_true", help="take an older checkpoint if the last is damaged")
    add("--device", metavar="D", help="device to compute on (default: cuda if there is one, else cpu)")
    add("--threads", type=positive, metavar="N", help="threads on a CPU; cells are trained with one")
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="for the density, and a cell's training (default: runs/hessian-WHAT)",
    )
    add("--json", action="store_true", help="print one JSON object instead")
    add("--quiet", action="store_true", help="show nothing while it runs")


def run(args: Namespace) -> int:
    """Print the eigenvalues."""
    for flag, applies in (("probes", args.trace or args.density), ("degree", args.density)):
        if getattr(args, flag) is not None and not applies:
            wanted = "--trace or --density" if flag == "probes" else "--density"
            raise UsageError(f"--{flag} is of {wanted}; give that as well")
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
    facts = {"what": args.what, "in": where, "images": images} | spectrum.facts()
    out = args.out or RUNS / f"hessian-{directory_name(args.what)}"
    if spectrum.density is not None:
        write_all(out, {"density": spectrum.plot()}, NUMBERS, facts)
    if args.json:
        print_json(facts)
        return 0
    head = Text.assemble((f"Hessian in {spectrum.size:,} {where}", "bold"), (f"  {images}", "dim"))
    values = (f"largest {number}  {value:.5g}" for number, value in enumerate(spectrum.largest, 1))
    lines: list[Text | str] = [head, *values, f"smallest   {spectrum.smallest:.5g}"]
    if spectrum.trace is not None:
        trace = spectrum.trace
        lines.append(
            f"trace      {trace.mean:.5g} +- {trace.error:.2g} (standard error, {trace.probes} probes)"
        )
    if spectrum.density is not None:
        lines.append(f"density    written to {out}")
    Terminal().write(lines)
    return 0


def _probing(args: Namespace) -> dict[str, int]:
    """How many probes and Lanczos steps the flags ask for."""
    if not (args.trace or args.density):
        return {}
    return {"probes": args.probes or 10, "degree": (args.degree or 40) if args.density else 0}


def _of_weights(args: Namespace, device: "torch.device", progress: Progress) -> tuple["Spectrum", str]:
    """The spectrum in the weights of a trained network, and what its images are."""
    from dartboard.analysis.hessian import weight_spectrum

    if args.fall_back:
        raise UsageError(f"--fall-back chooses among the checkpoints of a search; {args.what} is none")
    if args.out is not None and is_trained(args.what) and not args.density:
        raise UsageError(f"--out is for a cell's training and for --density; {args.what} is trained already")
    out = args.out or RUNS / f"hessian-{directory_name(args.what)}"
    where = train_cell(args.what, args, out, device, progress)
    network = open_network(where, args, examples=args.examples, which=args.which)
    spectrum = weight_spectrum(
        network.network,
        network.images,
        count=args.count,
        examples=args.examples,
        batch=args.batch or 64,
        statistics=args.statistics or "kept",
        **_probing(args),
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
        if getattr(args, name) is not None and (name != "out" or not args.density):
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
    spectrum = arch_spectrum(
        searcher.objective, list(batches), count=args.count, **_probing(args), progress=progress
    )
    return spectrum, f"{spectrum.examples:,} held-out images of {searcher.data.name}"
