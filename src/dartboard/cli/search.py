"""Search a space for a cell.

Settings come from, later ones winning: defaults, a recipe, a YAML file, environment variables such as
DARTBOARD_SEARCH_WEIGHTS__LR=0.05, the flags below, and settings such as weights.lr=0.05 or
space.without=[none]. Everything is written to a run directory. Ctrl-C saves and stops; --resume continues.
"""

import json
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dartboard.cli import processes
from dartboard.cli.arguments import load_plugins, prepare_device
from dartboard.cli.render import Terminal, draw_cells, labelled, progress, run_lines
from dartboard.cli.run_loop import (
    add_flags,
    check_flags,
    claim_directory,
    device_and_threads,
    fit,
    opened,
    resumed,
    search_name,
)
from dartboard.space import SPACES, load_space
from dartboard.utils.text import command, span

if TYPE_CHECKING:
    import torch

    from dartboard.cli.display import Display
    from dartboard.distributed.group import Group
    from dartboard.runs import Run
    from dartboard.search import Searcher, SearchResult

SETTINGS = ("space", "method", "data", "epochs", "seed")
"""Flags that are settings of the search."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("overrides", nargs="*", metavar="KEY=VALUE", help="any setting, such as weights.lr=0.05")
    add("--space", metavar="S", help=f"search space: {', '.join(SPACES)}, or a file")
    add("--method", metavar="M", help="search method; see dartboard list methods")
    add_flags(parser, out="runs/METHOD-SPACE-DATA-sSEED")
    parser.set_defaults(command="search")


def run(args: Namespace) -> int:
    """Search, and print the result."""
    check_flags(args, SETTINGS, "search")
    if (code := processes.launch(args)) is not None:
        return code
    from dartboard.cli.display import choose_display
    from dartboard.search.config import validate
    from dartboard.search.forecast import forecast

    device = prepare_device(*processes.local_device(*device_and_threads(args)))
    with processes.joined(device) as group:
        display = choose_display(quiet=args.quiet or group.rank > 0, json=args.json)
        start = _start if args.resume is None else _resume
        searcher, run = start(args, device, display, group)
        with opened(run, args):
            if run is not None:
                plan, config = searcher.plan, validate(run.config)
                what = f"{config.space.name} with {config.method.name} on {config.data.name}"
                length = (
                    f"{plan.epochs} epochs of {plan.steps} steps" if plan.epochs else "nothing is trained"
                )
                display.say([f"searching {what}: {length}, on {device}", f"writing to {run.path}"])
            result = fit(searcher, run, args, display, lambda: forecast(searcher), group)
    if isinstance(result, int):
        return result
    if run is not None and args.json:
        print(json.dumps({"run": str(run.path)} | result.facts()))
    elif run is not None:
        _print_result(result, run.path, args.plugin)
    return 0


def _start(
    args: Namespace, device: "torch.device", display: "Display", group: "Group"
) -> tuple["Searcher", "Run | None"]:
    """A new search in a new run; nothing is written if the search cannot be made."""
    from dartboard.runs import Run
    from dartboard.search import Searcher
    from dartboard.search.config import build, load_config, resolved

    flags = {name: value for name in SETTINGS if (value := getattr(args, name)) is not None}
    if args.plugin:
        flags["plugins"] = load_plugins(args.plugin)
    config = load_config(
        recipe=args.recipe, file=args.config, environment=os.environ, flags=flags, words=args.overrides
    )
    with progress(quiet=args.quiet) as report_progress:
        parts = build(config, progress=report_progress)
    searcher = Searcher(*parts, device=device, hooks=[display], group=group)
    if group.rank == 0:
        path = claim_directory(args.out, search_name(config))
        searcher.run = Run.create(path, resolved(config), space=searcher.space, device=str(device))
    return searcher, searcher.run


def _resume(
    args: Namespace, device: "torch.device", display: "Display", group: "Group"
) -> tuple["Searcher", "Run | None"]:
    """The search of the run `args.resume`."""
    from dartboard.cli.display import Changes
    from dartboard.runs import SPACE
    from dartboard.search import Searcher
    from dartboard.search.config import build, validate

    with resumed(args, device, group) as (run, report_progress):
        parts = build(validate(run.config), load_space(str(run.path / SPACE)), report_progress)
        hooks = [Changes(), display] if group.rank == 0 else [display]
        searcher = Searcher(*parts, device=device, hooks=hooks, group=group)
    searcher.run = run if group.rank == 0 else None
    return searcher, searcher.run


def _print_result(result: "SearchResult", path: Path, plugins: Sequence[str]) -> None:
    """Print the cells that were found, the accuracy of the supernet, and what to do next."""
    terminal = Terminal()
    terminal.write(["", *draw_cells(result.genotype.groups, terminal), ""])
    if result.valid_accuracy is not None:
        accuracy = f"{result.valid_accuracy:.1%} of held-out images, by the supernet"
        if result.discrete_accuracy is not None:
            accuracy += f"; {result.discrete_accuracy:.1%} with the cell alone"
        terminal.write(labelled("accuracy", accuracy))
    terminal.write(labelled("entropy", f"{result.entropy:.3f}"))
    terminal.write(labelled("time", f"{span(result.seconds)}, {result.epochs} epochs"))
    for warning in result.warnings:
        terminal.write(labelled("warning", warning, terminal.width))
    terminal.write(run_lines(path))
    terminal.write(labelled("next", command("train", path, "--recipe", "quick", plugins=plugins)))
