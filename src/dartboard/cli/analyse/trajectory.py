"""Show how searches went: how decided they were after each epoch, and what they would have chosen.

Entropy, normalized entropy (XNAS, equations 54 and 55, which speak of the normal cell) and the lead of the
strongest op are means over all cells, those of each cell are in the JSON. Besides there are counts of ops and
of skip connections, and the accuracy that is lost when the cell is made discrete. Searches that differ by
their seed alone are shown together, as a mean with a band of one standard deviation. Of searches only the
files of the runs are read.

Of a training, or of networks of one architecture (model's files, exported ones, timm:NAME@WEIGHTS), the path
of the weights is shown instead, as `analyse line` does: loss and accuracy from each checkpoint or network to
the next, and the path in the plane of its principal directions. Opening an exported .py or .pt file runs the
code in it: open only files that you trust.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.analyse import line
from dartboard.cli.analyse.line import add_line_flags
from dartboard.cli.analyse.networks import is_trained
from dartboard.cli.arguments import UsageError
from dartboard.cli.render import print_results

if TYPE_CHECKING:
    from dartboard.analysis.trajectory import Trajectories

NUMBERS = "trajectory.json"


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="searches; or a training, or networks")
    add_line_flags(parser)


def run(args: Namespace) -> int:
    """Print the first and the last epoch of each group, and draw."""
    if any(is_trained(text) for text in args.runs):
        args.what, args.points, args.beyond, args.statistics, args.fresh = args.runs, 5, 0.0, "kept", 1
        return line.run(args)
    for flag in ("which", "data", "part"):
        if getattr(args, flag) is not None:
            raise UsageError(f"--{flag} is of trained networks; {args.runs[0]} is none")
    from dartboard.analysis.trajectory import read_trajectories

    trajectories = read_trajectories(*args.runs)
    print_results(args, trajectories.facts(), _lines(trajectories), trajectories.plot, NUMBERS)
    return 0


def _lines(trajectories: "Trajectories") -> Iterator[Text | str]:
    from dartboard.analysis.trajectory import QUANTITIES

    wide = max(map(len, QUANTITIES))
    for label, group in trajectories.groups.items():
        seeds = ", ".join(str(search.seed) for search in group)
        yield Text.assemble((label, "bold"), f"  seed{'s' if len(group) > 1 else ''} {seeds}")
        for name in QUANTITIES:
            band = trajectories.band(label, name)
            if band is not None:
                first = f"after epoch {band.x[0]:.0f}: {band.mean[0]:.4f}"
                spread = f" +- {band.std[-1]:.4f} (std)" if len(group) > 1 else ""
                last = f"after {band.x[-1]:.0f}: {band.mean[-1]:.4f}{spread}"
                yield Text.assemble((f"  {name.ljust(wide)}", "cyan"), f"  {first}, {last}")
        yield ""
