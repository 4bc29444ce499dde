"""Show how searches went: how decided they were after each epoch, and what they would have chosen.

Entropy, normalised entropy (XNAS, equations 54 and 55, which speak of the normal cell) and the lead of the
strongest op are means over all cells, those of each cell are in the JSON. Besides there are counts of ops and
of skip connections, and the accuracy that is lost when the cell is made discrete. Searches that differ by
their seed alone are shown together, as a mean and a band. Only the files of the runs are read.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.analyse.output import as_json, write_all
from dartboard.cli.render import Terminal

if TYPE_CHECKING:
    from dartboard.analysis.trajectories import Trajectories

NUMBERS = "trajectory.json"


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the directory of a search")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write pictures and numbers there")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def run(args: Namespace) -> int:
    """Print the first and the last epoch of each group, and draw."""
    from dartboard.analysis.trajectories import trajectory

    found = trajectory(*args.runs)
    if args.out is not None:
        _write(found, args.out)
    if args.json:
        print(as_json(found.facts()))
    else:
        Terminal().write(_lines(found))
        if args.out is not None:
            print(f"written to {args.out}")
    return 0


def _write(found: "Trajectories", folder: Path) -> None:

    write_all(folder, found.plot(), NUMBERS, found.facts())


def _lines(found: "Trajectories") -> Iterator[Text | str]:
    from dartboard.analysis.trajectory import QUANTITIES

    wide = max(map(len, QUANTITIES))
    for label, group in found.groups.items():
        seeds = ", ".join(str(own.seed) for own in group)
        yield Text.assemble((label, "bold"), f"  seed{'s' if len(group) > 1 else ''} {seeds}")
        for name in QUANTITIES:
            own = found.band(label, name)
            if own is not None:
                first, last = own.mean[0], own.mean[-1]
                spread = f" +- {own.std[-1]:.4f}" if len(group) > 1 else ""
                after = f"after epoch {own.x[0]:.0f}: {first:.4f}, after {own.x[-1]:.0f}: {last:.4f}{spread}"
                yield Text.assemble((f"  {name.ljust(wide)}", "cyan"), f"  {after}")
        yield ""
