"""Print the last epochs of a run, a line each.

With --follow further epochs are printed as they end, until the run is finished or stops; Ctrl-C ends that,
not the run.
"""

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dartboard.cli.arguments import positive
from dartboard.cli.render import format_metrics, print_json
from dartboard.runs.directory import RunReader

LOOK = 1.0
"""Seconds between two looks at a run that is being written."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("path", type=Path, metavar="RUN", help="the directory of a run")
    add("-n", "--lines", type=positive, default=10, metavar="N", help="number of epochs (default: 10)")
    add("--follow", action="store_true", help="print further epochs until the run ends")
    add("--json", action="store_true", help="print one JSON object at the end, with all values of the epochs")


def run(args: Namespace) -> int:
    """Print the last epochs; then those that end, and again those that the run goes back to."""
    reading = RunReader.read(args.path)
    epochs, rows = reading.config.get("epochs"), reading.metrics()
    shown, stream = rows[-args.lines :], sys.stderr if args.json else sys.stdout
    for line in epoch_lines(() if args.json else shown, epochs):
        print(line, flush=True)
    if not rows and not args.follow and not args.json:
        print(f"{args.path} has no epoch yet; it is {reading.state}")
    going = args.follow
    while going:
        last = rows[-1]["epoch"] if rows else -1
        going = reading.state == "running"  # before the look, so that the last epochs are not missed
        rows = reading.metrics()
        new = [row for row in rows if row["epoch"] > last]
        for line in epoch_lines(new, epochs):
            print(line, file=stream, flush=True)
        shown += new
        if going:
            time.sleep(LOOK)
    if args.json:
        print_json({"run": str(args.path), "state": reading.state, "epochs": shown})
    elif args.follow:
        print(f"{reading.path} is {reading.state}")
    return 0


def epoch_lines(rows: Iterable[Mapping[str, Any]], epochs: object) -> list[str]:
    """A line for each epoch's metrics; the total number of epochs is ignored unless it is an integer."""
    known = isinstance(epochs, int)
    width, of = len(str(epochs)) if known else 1, f" of {epochs}" if known else ""
    return [f"epoch {row['epoch'] + 1:{width}}{of}  {format_metrics(row)}".rstrip() for row in rows]
