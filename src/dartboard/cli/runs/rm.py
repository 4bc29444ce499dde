"""Remove runs for good, after asking.

A run that somebody is writing is not removed, nor is anything that dartboard did not make.
"""

import os
import sys
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path

from dartboard.cli.arguments import UsageError
from dartboard.cli.render import format_bytes, print_json
from dartboard.errors import RunError
from dartboard.runs.directory import CONFIG, ENVIRONMENT, check_run
from dartboard.runs.listing import find_runs, summarize_run
from dartboard.runs.lock import LOCK, Lock, is_locked
from dartboard.utils import atomic
from dartboard.utils.text import printable

MADE = (CONFIG, ENVIRONMENT, LOCK)
"""Files that every run has from the moment it is one."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="RUN", help="the directory of a run")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead; needs --yes")


def run(args: Namespace) -> int:
    """Say what would be removed, ask, and remove it."""
    paths: list[Path] = list(dict.fromkeys(args.paths))
    for path in paths:
        _check(path)
    if args.json and not args.yes:
        raise UsageError("runs rm asks before it removes, and --json leaves no room for that; add --yes")
    for path in paths:
        print(_describe(path), file=sys.stderr if args.json else sys.stdout)
    if not args.yes:
        if not sys.stdin.isatty():
            raise UsageError("runs rm asks before it removes, and there is no terminal to ask at; add --yes")
        what, answer = "it" if len(paths) == 1 else f"these {len(paths)} runs", ""
        with suppress(EOFError):
            answer = input(f"remove {what} for good? [y/N] ")
        if answer.strip().lower() not in ("y", "yes"):
            print("nothing was removed")
            return 0
    for path in paths:
        with Lock(path):  # nothing can begin to write to it meanwhile
            atomic.discard(path)
        print(f"removed {printable(str(path))}", file=sys.stderr if args.json else sys.stdout)
    if args.json:
        print_json({"removed": [str(path) for path in paths]})
    return 0


def _check(path: Path) -> None:
    """Refuse what is not a run, and a run that is in use or holds one that is."""
    if path.is_symlink():
        raise RunError(f"{path} is a link; name the run itself, {path.resolve()}")
    check_run(path)
    if missing := [name for name in MADE if not (path / name).is_file()]:
        raise RunError(f"{path} was not made by dartboard: it has no {missing[0]}; remove it by hand")
    if Path.cwd().is_relative_to(path.resolve()):
        raise RunError(f"{path} is where you are; go elsewhere first")
    for inner in find_runs(path, inside=True):
        if is_locked(inner):
            raise RunError(f"{inner} is in use; wait for it or stop it")


def _describe(path: Path) -> str:
    entry = summarize_run(path)
    inside = len(list(find_runs(path, inside=True))) - 1
    more = f" with {inside} runs inside" if inside else ""
    what = f"{entry.state} {entry.kind or 'run'}{more}"
    files = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
    return f"{printable(str(path))}: {what}, {format_bytes(sum(file.lstat().st_size for file in files))}"
