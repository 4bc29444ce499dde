"""Search a space for a cell.

Settings come from, later ones winning: defaults, a recipe, a YAML file, environment variables such as
DARTBOARD_SEARCH_WEIGHTS__LR=0.05, the flags below, and words such as weights.lr=0.05 or space.without=[none].
Everything is written to a run directory. Ctrl-C saves and stops; --resume goes on.
"""

import json
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dartboard.cli import processes
from dartboard.cli.arguments import load_plugins
from dartboard.cli.render import Terminal, draw_cells, labelled, places
from dartboard.cli.run_loop import add_flags, check_flags, fit, in_words, machine, opened, reopen
from dartboard.space import SPACES
from dartboard.utils.text import command, span

if TYPE_CHECKING:
    import torch

    from dartboard.cli.display import Display
    from dartboard.distributed.group import Group
    from dartboard.runs import Run
    from dartboard.search import Searcher, SearchResult
    from dartboard.search.config import SearchParts
    from dartboard.space import SearchSpace
    from dartboard.utils.progress import Progress

NAMED = ("space", "method", "data", "epochs", "seed")
"""Flags that are settings of the search."""


def configure(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add = parser.add_argument
    add("overrides", nargs="*", metavar="KEY=VALUE", help="any setting, such as weights.lr=0.05")
    add("--space", metavar="S", help=f"what to search: {', '.join(SPACES)}, or a file")
    add("--method", metavar="M", help="how to search; see dartboard list methods")
    add_flags(parser, out="runs/METHOD-SPACE-DATA-sSEED")
    parser.set_defaults(command="search")


def run(args: Namespace) -> int:
    """Search, and print what was found."""
    check_flags(args, NAMED, "search")
    if (code := processes.launch(args)) is not None:
        return code
    from dartboard.cli.arguments import prepare_device
    from dartboard.cli.display import choose_display

    device = prepare_device(*processes.place(*machine(args)))
    with processes.joined(device) as group:
        display = choose_display(quiet=args.quiet or group.rank > 0, json=args.json)
        start = _start if args.resume is None else _reopen
        searcher, run = start(args, device, display, group)
        with opened(run, args):
            if run is not None:
                display.say([_plan(searcher, run), f"writing to {run.path}"])
            result = fit(searcher, run, args, display, lambda: _forecast(searcher), group)
    if isinstance(result, int):
        return result
    if run is not None:
        _print(result, run.path, args)
    return 0


def _start(
    args: Namespace, device: "torch.device", display: "Display", group: "Group"
) -> tuple["Searcher", "Run | None"]:
    """A new search in a new run; nothing is written if the search cannot be made."""
    from dartboard.cli.progress import progress
    from dartboard.cli.run_loop import claim, search_name
    from dartboard.runs import Run
    from dartboard.search.config import build, load_config, resolved

    flags = {name: value for name in NAMED if (value := getattr(args, name)) is not None}
    if args.plugin:
        flags["plugins"] = load_plugins(args.plugin)
    config = load_config(
        recipe=args.recipe, file=args.config, environment=os.environ, flags=flags, words=args.overrides
    )
    with progress(quiet=args.quiet) as tell:
        parts = build(config, progress=tell)
    searcher = _searcher(parts, device, display, group)
    if group.rank:
        return searcher, None
    searcher.run = Run.create(
        claim(args.out, search_name(config)), resolved(config), space=searcher.space, device=str(device)
    )
    return searcher, searcher.run


def _reopen(
    args: Namespace, device: "torch.device", display: "Display", group: "Group"
) -> tuple["Searcher", "Run | None"]:
    """The search of a run that is there already."""
    from dartboard.search.config import build, validate

    def make(run: "Run", space: "SearchSpace", tell: "Progress") -> "Searcher":
        return _searcher(build(validate(run.config), space, tell), device, display, group)

    return reopen(args, device, make, group)


def _searcher(parts: "SearchParts", device: "torch.device", display: "Display", group: "Group") -> "Searcher":
    from dartboard.search import Searcher

    return Searcher(*parts, device=device, hooks=[display], group=group)


def _plan(searcher: "Searcher", run: "Run") -> str:
    from dartboard.search.config import validate

    plan, config = searcher.plan, validate(run.config)
    what = f"{config.space.name} with {config.method.name} on {config.data.name}"
    length = f"{plan.epochs} epochs of {plan.steps} steps" if plan.epochs else "nothing is trained"
    return f"searching {what}: {length}, on {searcher.device}"


def _forecast(searcher: "Searcher") -> str:
    from dartboard.search import forecast

    return in_words(lambda: forecast.forecast(searcher), searcher.group)


def _print(result: "SearchResult", path: Path, args: Namespace) -> None:

    if args.json:
        facts: dict[str, Any] = {"run": str(path)} | result.facts()
        print(json.dumps(facts))
    else:
        print_outcome(result, path, args.plugin)


def print_outcome(result: "SearchResult", path: Path, plugins: Sequence[str] = ()) -> None:
    """Prints the cells that were found, how well the supernet does, and what to do next."""
    terminal = Terminal()
    terminal.write(["", *draw_cells(result.genotype.archs, terminal), ""])
    if result.valid_accuracy is not None:
        alone = (
            ""
            if result.discrete_accuracy is None
            else f"; {result.discrete_accuracy:.1%} with the cell alone"
        )
        words = f"{result.valid_accuracy:.1%} of held-out images, by the supernet{alone}"
        terminal.write(labelled("accuracy", words))
    terminal.write(labelled("entropy", f"{result.entropy:.3f}"))
    terminal.write(labelled("time", f"{span(result.seconds)}, {result.epochs} epochs"))
    for warning in result.warnings:
        terminal.write(labelled("warning", warning, terminal.width))
    terminal.write(places(path))
    terminal.write(labelled("next", command("train", path, "--recipe", "quick", plugins=plugins)))
