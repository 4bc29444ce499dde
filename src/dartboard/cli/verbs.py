"""The verbs of the program, and what their words mean."""

import argparse
from collections.abc import Sequence

from dartboard import __version__
from dartboard.cli import (
    analyse,
    bench,
    data,
    demo,
    evaluate,
    export,
    info,
    oracle,
    protocol,
    reporting,
    runs,
    search,
    sweep,
    train,
)
from dartboard.cli import list as list_
from dartboard.cli.arguments import Parser, add_words
from dartboard.cli.packages import package_commands
from dartboard.errors import UnknownNameError

VERBS = {
    "search": search,
    "train": train,
    "protocol": protocol,
    "bench": bench,
    "sweep": sweep,
    "runs": runs,
    "report": reporting,
    "evaluate": evaluate,
    "export": export,
    "analyse": analyse,
    "info": info,
    "oracle": oracle,
    "list": list_,
    "data": data,
    "demo": demo,
}
"""Each verb is a module with a docstring, `configure(parser)` and `run(args)`."""


def make_parser() -> Parser:
    """The parser of the whole command line."""
    parser = Parser("dartboard", description="Differentiable neural architecture search.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"dartboard {__version__}")
    add_words(parser, VERBS, title="verbs", word="verb", to="run")
    return parser


def run(argv: Sequence[str]) -> int:
    """The exit code of the verb that the words name.

    Raises:
        DartboardError: If they name none, or it cannot do what it is asked.
    """
    verb = next((word for word in argv if not word.startswith("-")), None)
    if verb is not None and verb not in VERBS and verb not in (added := package_commands("", VERBS)):
        raise UnknownNameError("verb", verb, [*VERBS, *added])
    try:
        args = parse(argv)
        args.words = list(argv)
    except SystemExit as done:  # --help and --version
        return int(done.code or 0)
    code: int = args.run(args)
    return code


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """What the words mean; overrides may stand anywhere among the flags of a verb that takes them."""
    parser = make_parser()
    args: argparse.Namespace
    args, rest = parser.parse_known_args(_completed(argv))
    takes = "overrides" in args
    if wrong := [word for word in rest if word.startswith("-") or not takes]:
        hint = "; settings without a flag are written like weights.lr=0.05" if takes else ""
        parser.error(f"unrecognized arguments: {' '.join(wrong)}{hint}")
    if rest:
        args.overrides += rest
    return args


def _completed(argv: Sequence[str]) -> list[str]:
    """The words, with what a verb leaves out: some have an action that need not be named."""
    place = next((place for place, word in enumerate(argv, 1) if not word.startswith("-")), 0)
    complete = getattr(VERBS.get(argv[place - 1]), "complete", list) if place else list
    return [*argv[:place], *complete(argv[place:])]
