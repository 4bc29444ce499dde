"""The program `dartboard`: finds the verb, runs it, and turns every mistake into one clear line."""

import argparse
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import NoReturn

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
    reproduce,
    runs,
    search,
    sweep,
    train,
)
from dartboard.cli import list as list_
from dartboard.cli.arguments import UsageError, add_words
from dartboard.cli.processes import is_silent, let_the_first_speak
from dartboard.errors import DartboardError, UnknownNameError, one_line
from dartboard.printable import printable

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
    "reproduce": reproduce,
    "info": info,
    "oracle": oracle,
    "list": list_,
    "data": data,
    "demo": demo,
}
"""Each verb is a module with a docstring, `configure(parser)` and `run(args)`."""

MISTAKE = 2
OUT_OF_MEMORY = "out of memory; use a smaller net.channels or batch, or fewer cells"
INTERRUPTED = 130  # 128 + SIGINT
PIPE_CLOSED = 141  # 128 + SIGPIPE


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of leaving the program."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print."""
        raise UsageError(f"{message}; see {self.prog} --help")


def make_parser() -> Parser:
    """The parser of the whole command line."""
    parser = Parser("dartboard", description="Differentiable neural architecture search.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"dartboard {__version__}")
    add_words(parser, VERBS, title="verbs", word="verb", to="run")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code: 0, 2 for a mistake, 130 and 141 when cut short."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for names that the encoding does not have
    try:
        code = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()  # so that a closed pipe is noticed here
    except (DartboardError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            return _leave_pipe()
        let_the_first_speak()
        print(f"dartboard: error: {printable(one_line(error))}", file=sys.stderr)
        return MISTAKE
    except (RuntimeError, MemoryError) as error:
        if not _is_out_of_memory(error):
            raise
        print(f"dartboard: error: {OUT_OF_MEMORY}", file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt as cut:
        if not is_silent():
            print("; ".join(["dartboard: interrupted", *map(str, cut.args)]), file=sys.stderr)
        return INTERRUPTED
    return code


def _run(argv: Sequence[str]) -> int:
    verb = next((word for word in argv if not word.startswith("-")), None)
    if verb is not None and verb not in VERBS:
        raise UnknownNameError("verb", verb, VERBS)
    try:
        args = _parse(argv)
        args.words = list(argv)
    except SystemExit as done:  # --help and --version
        return int(done.code or 0)
    code: int = args.run(args)
    return code


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    """What the words mean; overrides may stand anywhere among the flags of a verb that takes them."""
    parser = make_parser()
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
    complete = getattr(VERBS[argv[place - 1]], "complete", list) if place else list
    return [*argv[:place], *complete(argv[place:])]


def _is_out_of_memory(error: Exception) -> bool:
    from dartboard.search.memory import is_out_of_memory

    return is_out_of_memory(error)


def _leave_pipe() -> int:
    """Point standard output at nothing, so that Python's last flush does not fail as well."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED
