"""Write a page to look at about runs: one HTML file that needs no network.

RUN is the directory of a search, a training, a protocol, a bench or a sweep; several runs are compared, with
bands over seeds. Cells are ranked where a benchmark knows the space: nano ships with the package, others are
named with --table. With --live the file is written again whenever a run has come further, until all have
ended; the page refreshes itself and keeps the reader's place. Ctrl-C ends that, not the runs.
"""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from dartboard.cli.arguments import UsageError
from dartboard.cli.render import print_json

NAME = "report.html"


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("runs", nargs="+", metavar="RUN", help="the directory of a run")
    add(
        "--out",
        type=Path,
        metavar="FILE",
        help=f"the file to write (default: {NAME} in RUN, or here of several)",
    )
    add("--table", type=Path, metavar="PATH", help="the file of the benchmark that knows the space")
    add("--live", action="store_true", help="write it again after every epoch, as long as a run is running")
    add("--json", action="store_true", help="print one JSON object at the end, and nothing else")


def run(args: Namespace) -> int:
    """Write the page, and say where it is."""
    from dartboard.report import watch, write_report

    out: Path = args.out or (Path(args.runs[0]) / NAME if len(args.runs) == 1 else Path(NAME))
    if out.is_dir():
        raise UsageError(f"{out} is a folder; name a file, such as {out / NAME}")
    if args.out is not None and not out.parent.is_dir():
        raise UsageError(f"{out}: there is no folder {out.parent}; make it first")
    if args.live:
        notice = f"writing to {out} as long as a run is running; Ctrl-C ends it"
        print(notice, file=sys.stderr if args.json else sys.stdout, flush=True)
        try:
            watch(args.runs, out, table=args.table)
        except KeyboardInterrupt:
            write_report(args.runs, out, table=args.table)
            raise
    else:
        write_report(args.runs, out, table=args.table)
    if args.json:
        print_json({"report": str(out), "runs": args.runs})
    else:
        print(f"written to {out}")
    return 0
