"""Search a space for a cell.

Settings come from, later ones winning: defaults, a recipe, a YAML file, environment variables such as
DARTBOARD_SEARCH_WEIGHTS__LR=0.05, the flags below, and settings such as weights.lr=0.05 or
space.without=[none]. Everything is written to a run directory. Ctrl-C saves and stops; --resume continues.
"""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dartboard.cli import processes
from dartboard.cli.arguments import load_plugins
from dartboard.cli.render import Terminal, draw_cells, labeled, progress, run_lines
from dartboard.cli.run_loop import (
    add_flags,
    check_flags,
    claim_directory,
    epoch_changes,
    resumed,
    run_loop,
    search_name,
)
from dartboard.space import SPACES
from dartboard.utils.text import command, plural, span

if TYPE_CHECKING:
    import torch

    from dartboard.distributed.group import Group
    from dartboard.engine.hooks import AnyHook
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
    from dartboard.cli.display import SearchScreen
    from dartboard.search.searcher import forecast

    make = _start if args.resume is None else _resume
    return run_loop(
        args, make, SearchScreen, describe=_describe, forecast=forecast, print_result=_print_result
    )


def _describe(searcher: "Searcher") -> str:
    from dartboard.arch.optim.exponentiated_gradient import ExponentiatedGradient, measured_steps
    from dartboard.search.config import recorded_config

    assert searcher.run is not None  # noqa: S101  # on rank 0
    plan, config = searcher.plan, recorded_config(searcher.run.config)
    what = f"{config.space.name} with {config.method.name} on {config.data.name}"
    length = f"{plan.epochs} epochs of {plan.steps} steps" if plan.epochs else "nothing is trained"
    text = f"searching {what}: {length}"
    update = searcher.update
    if isinstance(update, ExponentiatedGradient) and (measured := measured_steps(update.param_groups[0])):
        steps = "all steps" if measured >= plan.arch_steps else f"the first {measured} steps"
        text += f"; {steps} of the architecture set its rate"
    return text


def _start(args: Namespace, device: "torch.device", hooks: "list[AnyHook]", group: "Group") -> "Searcher":
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
    searcher = Searcher(*parts, device=device, hooks=hooks, group=group)
    if group.rank == 0:
        path = claim_directory(args.out, search_name(config))
        searcher.run = Run.create(path, resolved(config), space=searcher.space, device=str(device))
    return searcher


def _resume(args: Namespace, device: "torch.device", hooks: "list[AnyHook]", group: "Group") -> "Searcher":
    """The search of the run `args.resume`."""
    from dartboard.search import Searcher
    from dartboard.search.config import build, recorded_config

    with resumed(args, device, group) as (run, report_progress):
        changes = epoch_changes(args, run, recorded_config(run.config))
        parts = build(recorded_config(run.config | changes), run.space(), report_progress)
        searcher = Searcher(*parts, device=device, hooks=hooks, group=group)
        if changes and group.rank == 0:
            run.reconfigure(changes)
    searcher.run = run if group.rank == 0 else None
    return searcher


def _print_result(result: "SearchResult", path: Path, plugins: Sequence[str]) -> None:
    """Print the cells that were found, the accuracy of the supernet, and what to do next."""
    terminal = Terminal()
    terminal.write(["", *draw_cells(result.genotype.groups, terminal), ""])
    if result.valid_accuracy is not None:
        accuracy = f"{result.valid_accuracy:.1%} of held-out images, by the supernet"
        if result.discrete_accuracy is not None:
            accuracy += f"; {result.discrete_accuracy:.1%} with the cell alone"
        terminal.write(labeled("accuracy", accuracy))
    terminal.write(labeled("entropy", f"{result.entropy:.3f}"))
    if result.arch_lr is not None:
        terminal.write(labeled("rate", f"{result.arch_lr:.3g} for the architecture"))
    terminal.write(labeled("time", f"{span(result.seconds)}, {plural(result.epochs, 'epoch')}"))
    for warning in result.warnings:
        terminal.write(labeled("warning", warning, terminal.width))
    terminal.write(run_lines(path))
    terminal.write(labeled("next", command("train", path, "--recipe", "quick", plugins=plugins)))
