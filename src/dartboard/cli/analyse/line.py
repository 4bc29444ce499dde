"""Measure loss and accuracy along the line through trained networks, or along the last steps of a training.

Each WHAT is the run of a training, a model's file, an exported network or timm:NAME@WEIGHTS; two or more of
one architecture are joined by straight lines, which go on beyond both ends. A single run is followed through
its last checkpoints, of which a training keeps as many as its setting checkpoint.keep says. Opening an
exported .py or .pt file runs the code in it: open only files that you trust.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.analyse.networks import (
    TIMM,
    TrainedNetwork,
    add_network_flags,
    is_trained,
    open_network,
    unique_names,
)
from dartboard.cli.arguments import UsageError, number, positive, prepare_device
from dartboard.cli.processes import interrupt_on_signals, report_stop
from dartboard.cli.render import print_results, progress, table_lines
from dartboard.runs.directory import CHECKPOINTS, is_run

if TYPE_CHECKING:
    import torch

NUMBERS = "line.json"
HEAD = ("", "loss", "accuracy", "distance to the next")


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("what", nargs="+", metavar="WHAT", help="networks of one architecture, or one run of dartboard train")
    add("--points", type=positive, default=21, metavar="N", help="from each to the next (default: 21)")
    add(
        "--beyond", type=number, default=0.5, metavar="F", help="how far to go on at both ends (default: 0.5)"
    )
    add(
        "--statistics",
        choices=("kept", "fresh", "batch"),
        default="kept",
        help="of batch-norms; default: kept",
    )
    add("--fresh", type=positive, default=256, metavar="N", help="images for fresh statistics (default: 256)")
    add_line_flags(parser)


def add_line_flags(parser: ArgumentParser) -> None:
    """Declare what the path of a training has in common with a line."""
    add = parser.add_argument
    add("--examples", type=positive, default=512, metavar="N", help="images, at the most (default: 512)")
    add("--batch", type=positive, default=128, metavar="N", help="images at once (default: 128)")
    add_network_flags(parser)
    add("--out", type=Path, metavar="DIR", help="write pictures and numbers there")
    add("--device", metavar="D", help="device to compute on (default: cuda if there is one, else cpu)")
    add("--json", action="store_true", help="print one JSON object instead")
    add("--quiet", action="store_true", help="show nothing while it runs")


def run(args: Namespace) -> int:
    """Print loss and accuracy at the states, the barrier between them, and draw."""
    from dartboard.analysis.examples import module_of
    from dartboard.analysis.lines import loss_line

    device = prepare_device(args.device, None)
    for what in args.what:
        if not is_trained(what):
            raise UsageError(
                f"{what} is not a trained network; give runs of dartboard train or files of networks"
            )
    with interrupt_on_signals() as caught:
        try:
            with progress(quiet=args.quiet) as report_progress:
                opened = [_open(what, args) for what in args.what]
                if len(args.what) > 1:
                    states = [module_of(one.network).state_dict() for one in opened]
                    labels = unique_names(args.what)
                else:
                    states, labels = _checkpoints(args.what[0])
                line = loss_line(
                    opened[0].network,
                    states,
                    opened[0].images,
                    points=max(args.points, 2),
                    beyond=args.beyond,
                    statistics=args.statistics,
                    train=opened[0].train,
                    examples=args.examples,
                    batch=args.batch,
                    fresh=args.fresh,
                    device=device,
                    progress=report_progress,
                )
        except KeyboardInterrupt as stop:
            return report_stop(stop, caught)
    facts = {"what": args.what, "states": labels, "images": opened[0].description} | line.facts()
    at = [int(abs(line.positions - place).argmin()) for place in range(len(labels))]
    distances = [*(f"{distance:.4g}" for distance in line.distances), ""]
    rows = [HEAD] + [
        (label, f"{line.losses[i]:.4f}", f"{line.accuracies[i]:.4f}", distance)
        for label, i, distance in zip(labels, at, distances, strict=True)
    ]
    head = Text.assemble(
        ("line", "bold"), (f"  {len(line.positions)} points, {opened[0].description}", "dim")
    )
    lines: list[Text | str] = [
        head,
        *table_lines(rows),
        f"barrier (rise above the straight line between losses): {line.barrier:.4g}",
    ]
    print_results(args, facts, lines, lambda: {"line": line.plot(labels)}, NUMBERS)
    return 0


def _open(what: str, args: Namespace) -> TrainedNetwork:
    which = args.which if what.startswith(TIMM) or Path(what).is_dir() else None
    return open_network(what, args, examples=args.examples, which=which, fresh=args.fresh)


def _checkpoints(what: str) -> tuple[list[dict[str, "torch.Tensor"]], list[str]]:
    """The networks in the last checkpoints of a training, with their steps."""
    from dartboard.runs.checkpoint import load_checkpoint
    from dartboard.runs.checkpoint_files import list_checkpoints

    paths = list_checkpoints(Path(what) / CHECKPOINTS) if is_run(Path(what)) else []
    if len(paths) < 2:
        raise UsageError(
            f"{what} has {len(paths)} checkpoints, and a line needs two states: name two networks, or a "
            "training with checkpoint.keep=2 or more"
        )
    return [load_checkpoint(path)["net"] for path in paths], [
        f"step {int(path.name.removeprefix('step-'))}" for path in paths
    ]
