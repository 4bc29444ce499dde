"""Search the space `nano` on the embedded digits.

The same as `dartboard search --recipe quick --threads 1`, written to a temporary directory.
"""

from argparse import ArgumentParser, Namespace
from tempfile import mkdtemp

from dartboard.cli import search


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--out", metavar="DIR", help="directory of the run (default: a temporary one)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")
    parser.add_argument("--quiet", action="store_true", help="print only the result")
    about = "print one JSON object at the end, and nothing else"
    parser.add_argument("--json", action="store_true", help=about)


def run(args: Namespace) -> int:
    """Search with the recipe for beginners; images this small keep no second core busy."""
    parser = ArgumentParser()
    search.configure(parser)
    out = args.out or mkdtemp(prefix="dartboard-demo-")
    words = ["--recipe", "quick", "--threads", "1", "--seed", str(args.seed), "--out", out]
    words += [f"--{flag}" for flag in ("quiet", "json") if getattr(args, flag)]
    return search.run(parser.parse_args(words))
