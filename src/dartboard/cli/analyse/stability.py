"""Measure how stable what searches chose is: one mixed edge at a time becomes the op chosen for it.

The closer the accuracy of the supernet stays to what it is with all edges mixed, the more stable (ASM-NAS,
5.3.1). Searches that differ by their seed alone are shown together. The runs must be finished and have their
checkpoints and images; each edge takes a pass over the held-out images.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.analyse.networks import add_supernet_flags
from dartboard.cli.arguments import prepare_device
from dartboard.cli.render import print_results, progress

if TYPE_CHECKING:
    from dartboard.analysis.stability import Stabilities

NUMBERS = "stability.json"


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the directory of a finished search")
    add_supernet_flags(parser)


def run(args: Namespace) -> int:
    """Print the mean and the worst change of each run, and draw."""
    from dartboard.analysis.stability import stability

    device = prepare_device(args.device, None)
    with progress() as report_progress:
        stabilities = stability(*args.runs, device=device, fall_back=args.fall_back, progress=report_progress)
    facts, lines = stabilities.facts(), _lines(stabilities)
    print_results(args, facts, lines, lambda: {"stability": stabilities.plot()}, NUMBERS)
    return 0


def _lines(stabilities: "Stabilities") -> Iterator[Text | str]:
    for label, group in stabilities.groups.items():
        yield Text(label, "bold")
        for search in group:
            changes = f"mean change {search.mean_change:.2%}, worst {search.worst:+.2%}"
            accuracy = f"accuracy {search.accuracy:.2%}, {changes}, over {len(search.edges)} edges"
            yield f"  seed {search.seed}: {accuracy}"
