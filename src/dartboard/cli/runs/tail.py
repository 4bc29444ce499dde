"""Print the last epochs of a run, a line each.

With --follow further epochs are printed as they end, until the run is finished or stops; Ctrl-C ends that,
not the run.
"""

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dartboard.cli.arguments import positive
from dartboard.cli.render import format_metrics
from dartboard.runs.directory import RunReader

LOOK = 1.0
"""Seconds between two looks at a run that is being written."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("path", type=Path, metavar="RUN", help="the directory of a run")
    add("-n", "--lines", type=positive, default=10, metavar="N", help="number of epochs (default: 10)")
    add("--follow", action="store_true", help="print further epochs until the run ends")


def run(args: Namespace) -> int:
    """Print the epochs."""
    reading = RunReader.read(args.path)
    rows = reading.metrics()
    _print(reading, rows[-args.lines :])
    if not rows and not args.follow:
        print(f"{args.path} has no epoch yet; it is {reading.state}")
    if args.follow:
        _follow(reading, _newest(rows))
    return 0


def _follow(reading: RunReader, last: int) -> None:
    """Print what comes after epoch `last`; epochs that the run goes back to are printed again."""
    going = True
    while going:
        going = reading.state == "running"  # before the look, so that the last epochs are not missed
        rows = reading.metrics()
        _print(reading, [row for row in rows if row["epoch"] > last])
        last = _newest(rows)
        if going:
            time.sleep(LOOK)
    print(f"{reading.path} is {reading.state}")


def _newest(rows: Sequence[Mapping[str, Any]]) -> int:
    return int(rows[-1]["epoch"]) if rows else -1


def _print(reading: RunReader, rows: Sequence[Mapping[str, Any]]) -> None:
    for line in epoch_lines(rows, reading.config.get("epochs")):
        print(line, flush=True)


def epoch_lines(rows: Iterable[Mapping[str, Any]], epochs: object) -> list[str]:
    """A line for each epoch.

    Args:
        rows: Metrics of the epochs.
        epochs: The total number of epochs; ignored unless it is an integer.
    """
    known = isinstance(epochs, int)
    width, of = len(str(epochs)) if known else 1, f" of {epochs}" if known else ""
    return [f"epoch {row['epoch'] + 1:{width}}{of}  {format_metrics(row)}".rstrip() for row in rows]
