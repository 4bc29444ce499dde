"""Search a space for a cell.

Settings come from, later ones winning: defaults, a recipe, a YAML file, environment variables such as
DARTBOARD_SEARCH_WEIGHTS__LR=0.05, the flags below, and words such as weights.lr=0.05 or space.without=[none].
Everything is written to a run directory. Ctrl-C saves and stops; --resume goes on.
"""

import json
import os
import shlex
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dartboard.cli.arguments import UsageError, add_plugins, load_plugins, positive
from dartboard.cli.words import size, span
from dartboard.errors import Stopped
from dartboard.space import SPACES, load_space

if TYPE_CHECKING:
    import torch

    from dartboard.cli.display import Display
    from dartboard.runs import Run
    from dartboard.search import Result, Searcher
    from dartboard.search.config import Parts

NAMED = ("space", "method", "data", "epochs", "seed")
"""Flags that are settings of the search."""
SIGNALLED = 128  # a shell adds the number of the signal


def configure(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add = parser.add_argument
    add("overrides", nargs="*", metavar="KEY=VALUE", help="any setting, such as weights.lr=0.05")
    add("--recipe", metavar="R", help="the settings of a paper; see dartboard list recipes")
    add("--config", metavar="FILE", help="settings in YAML, such as the config.yaml of a run")
    add("--space", metavar="S", help=f"what to search: {', '.join(SPACES)}, or a file")
    add("--method", metavar="M", help="how to search; see dartboard list methods")
    add("--data", metavar="D", help="images to search on: a file, or one of dartboard list datasets")
    add("--epochs", type=positive, metavar="N", help="passes over the images")
    add("--seed", type=int, metavar="N", help="where chance starts")
    add_plugins(parser)
    add("--out", metavar="DIR", help="directory of the run (default: runs/METHOD-SPACE-DATA-sSEED)")
    add("--resume", metavar="DIR", help="go on with a run that was stopped or killed")
    add("--fall-back", action="store_true", help="resume from an older checkpoint if the last is damaged")
    add("--device", metavar="D", help="where to compute (default: cuda if there is one, else cpu)")
    add("--threads", type=positive, metavar="N", help="threads on a CPU (default: torch's own choice)")
    add("--quiet", action="store_true", help="print the result alone")
    add("--json", action="store_true", help="print one JSON object at the end, and nothing else")


def run(args: Namespace) -> int:
    """Search, and print what was found."""
    _check(args)
    from dartboard.cli.display import choose_display
    from dartboard.cli.machine import prepare

    device = prepare(*_machine(args))
    display = choose_display(quiet=args.quiet, json=args.json)
    searcher, run = (_start if args.resume is None else _reopen)(args, device, display)
    with run:
        display.say([_plan(searcher, run), f"writing to {run.path}"])
        return _fit(searcher, run, args, display)


def _check(args: Namespace) -> None:
    """Refuse flags that contradict each other."""
    flags = [f"--{name}" for name in (*NAMED, "recipe", "config", "out") if getattr(args, name) is not None]
    if args.resume is not None and (flags or args.overrides):
        given = ", ".join([*flags, *args.overrides])
        raise UsageError(f"--resume goes on with the settings of the run; leave out {given}")
    if args.fall_back and args.resume is None:
        raise UsageError("--fall-back chooses among the checkpoints of a run; name the run with --resume")


def _machine(args: Namespace) -> tuple[str | None, int | None]:
    """Device and threads: those asked for, or those of the run that goes on, whose bits depend on them."""
    if args.resume is None:
        return args.device, args.threads
    from dartboard.runs import Run

    last = Run.read(args.resume).environment()[-1]
    wanted = {"device": args.device or last.get("device"), "threads": args.threads or last.get("threads")}
    if not isinstance(wanted["threads"], int | None) or not isinstance(wanted["device"], str | None):
        raise UsageError(f"{args.resume}: environment.json is damaged; name --threads and --device")
    for name, value in wanted.items():
        if value != last.get(name):
            words = (
                f"the run used {name} {last.get(name)}, now {value}: the result can differ in the last bits"
            )
            print(f"dartboard: {words}", file=sys.stderr)
    return wanted["device"], wanted["threads"]


def _start(args: Namespace, device: "torch.device", display: "Display") -> tuple["Searcher", "Run"]:
    """A new search in a new run; nothing is written if the search cannot be made."""
    from dartboard.cli.places import claim
    from dartboard.runs import Run
    from dartboard.search.config import build, resolved
    from dartboard.search.settings import load_config

    flags = {name: value for name in NAMED if (value := getattr(args, name)) is not None}
    if args.plugin:
        flags["plugins"] = load_plugins(args.plugin)
    config = load_config(
        recipe=args.recipe, file=args.config, environment=os.environ, flags=flags, words=args.overrides
    )
    searcher = _searcher(build(config), device, display)
    searcher.run = Run.create(
        claim(args.out, config), resolved(config), space=searcher.space, device=str(device)
    )
    return searcher, searcher.run


def _reopen(args: Namespace, device: "torch.device", display: "Display") -> tuple["Searcher", "Run"]:
    """The search of a run that is there already, in the space that the run has recorded."""
    from dartboard.runs import SPACE, Run
    from dartboard.search.config import build
    from dartboard.search.settings import validate

    load_plugins(args.plugin)
    run = Run.resume(args.resume, device=str(device))
    try:
        space = load_space(str(run.path / SPACE))
        searcher = _searcher(build(validate(run.config), space), device, display)
    except BaseException:
        run.close()
        raise
    searcher.run = run
    return searcher, run


def _searcher(parts: "Parts", device: "torch.device", display: "Display") -> "Searcher":
    from dartboard.search import Searcher

    return Searcher(parts.space, parts.method, parts.data, parts.options, device=device, hooks=[display])


def _plan(searcher: "Searcher", run: "Run") -> str:
    from dartboard.search.settings import validate

    plan, config = searcher.plan, validate(run.config)
    what = f"{config.space.name} with {config.method.name} on {config.data.name}"
    length = f"{plan.epochs} epochs of {plan.steps} steps" if plan.epochs else "nothing is trained"
    return f"searching {what}: {length}, on {searcher.device}"


def _forecast(searcher: "Searcher") -> str:
    from dartboard.search.forecast import forecast
    from dartboard.search.memory import is_out_of_memory

    try:
        ahead = forecast(searcher)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return "memory is short: batches will pass in pieces"
    return f"forecast: {span(ahead.seconds)}, {size(ahead.memory_bytes)} of memory"


def _fit(searcher: "Searcher", run: "Run", args: Namespace, display: "Display") -> int:
    """Run the search to its end, or to a signal."""
    from dartboard.cli.signals import stop_on_signals

    with stop_on_signals(searcher.stop) as caught:
        try:
            if display.shows and args.resume is None:
                display.say([_forecast(searcher)])
            with display:
                result = searcher.fit(fall_back=args.fall_back)
        except (Stopped, KeyboardInterrupt) as stopped:
            words = str(stopped) or "interrupted"
            print(f"{words}; go on with: {_resume_command(run.path, args)}", file=sys.stderr)
            return SIGNALLED + caught[0] if caught else 0
    _print(result, run.path, args)
    return 0


def _resume_command(path: Path, args: Namespace) -> str:
    plugins = [word for file in args.plugin for word in ("--plugin", file)]
    return shlex.join(["dartboard", "search", "--resume", str(path), *plugins])


def _print(result: "Result", path: Path, args: Namespace) -> None:
    from dartboard.cli.outcome import print_outcome

    if args.json:
        facts: dict[str, Any] = {"run": str(path)} | result.facts()
        print(json.dumps(facts))
    else:
        print_outcome(result, path)
