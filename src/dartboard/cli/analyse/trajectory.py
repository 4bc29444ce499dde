"""Show how searches went: how decided they were after each epoch, and what they would have chosen.

Entropy, normalized entropy (XNAS, equations 54 and 55, which speak of the normal cell) and the lead of the
strongest op are means over all cells, those of each cell are in the JSON. Besides there are counts of ops and
of skip connections, and the accuracy that is lost when the cell is made discrete. Searches that differ by
their seed alone are shown together, as a mean and a band. Only the files of the runs are read.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.render import print_results

if TYPE_CHECKING:
    from dartboard.analysis.trajectory import Trajectories

NUMBERS = "trajectory.json"


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the directory of a search")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write pictures and numbers there")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def run(args: Namespace) -> int:
    """Print the first and the last epoch of each group, and draw."""
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
                spread = f" +- {band.std[-1]:.4f}" if len(group) > 1 else ""
                last = f"after {band.x[-1]:.0f}: {band.mean[-1]:.4f}{spread}"
                yield Text.assemble((f"  {name.ljust(wide)}", "cyan"), f"  {first}, {last}")
        yield ""
