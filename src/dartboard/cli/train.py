"""Train the network of a cell from scratch.

CELL is the directory of a search, a published cell, a file with a genotype, or a genotype itself. Settings
come from, later ones winning: defaults, a recipe, a YAML file, environment variables such as
DARTBOARD_TRAIN_WEIGHTS__LR=0.05, the flags below, and settings such as net.channels=36. Everything is
written to a run directory, the best network and the last one among it. Ctrl-C saves and stops; --resume
continues.
"""

import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dartboard.cli import processes
from dartboard.cli.arguments import UsageError, load_plugins
from dartboard.cli.render import Terminal, labeled, progress, run_lines
from dartboard.cli.run_loop import (
    add_flags,
    check_flags,
    claim_directory,
    epoch_changes,
    resumed,
    run_loop,
)
from dartboard.utils.text import command, plural, span

if TYPE_CHECKING:
    import torch

    from dartboard.distributed.group import Group
    from dartboard.engine.hooks import AnyHook
    from dartboard.train import Trainer, TrainResult
    from dartboard.train.config import CellArgument, TrainConfig, TrainParts

SETTINGS = ("space", "data", "epochs", "seed")
"""Flags that are settings of the training; --from is one too, and has another name."""
MAX_CELL_NAME = 60
"""Characters of a typed cell that can name a directory."""
OVERRIDE = re.compile(r"[a-z_.]+=")


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("cell", nargs="?", metavar="CELL", help="a run, a published cell, a file, or a genotype")
    add("overrides", nargs="*", metavar="KEY=VALUE", help="any setting, such as net.channels=36")
    add("--space", metavar="S", help="the space whose stack the cells go into (default: the cell's own)")
    add("--from", dest="init", metavar="W", help="weights to start from: a run of dartboard train, or a file")
    add_flags(parser, out="runs/train-CELL-DATA-sSEED")


def run(args: Namespace) -> int:
    """Train, and print the accuracy."""
    _find_cell(args)
    if args.resume is not None and args.init is not None:
        raise UsageError("--resume takes the weights of the run; leave out --from")
    check_flags(args, SETTINGS, "train")
    if (code := processes.launch(args)) is not None:
        return code
    from dartboard.cli.display import TrainScreen
    from dartboard.train.trainer import forecast

    make = _start if args.resume is None else _resume
    return run_loop(
        args, make, TrainScreen, describe=_describe, forecast=forecast, print_result=_print_result
    )


def _describe(trainer: "Trainer") -> str:
    plan, cells = trainer.plan, trainer.space.stack.cells
    what = f"{cells} cell{'s' if cells > 1 else ''} of {trainer.space.name} on {trainer.data.name}"
    return f"training {what}: {plan.epochs} epochs of {plan.steps} steps"


def _find_cell(args: Namespace) -> None:
    """Set `args.cell`; resumed runs and configuration files have one, then the first word is an override."""
    if args.cell is not None and OVERRIDE.match(args.cell):
        args.overrides.insert(0, args.cell)
        args.cell = None
    if args.resume is not None:
        if args.cell is not None:
            raise UsageError(f"--resume takes the cell of the run; leave out {args.cell}")
        return
    if args.cell is None and args.config is not None:
        from dartboard.config.loader import read_file

        args.cell = read_file(Path(args.config)).get("cell")  # of a training; a search has none yet
    if not isinstance(args.cell, str) and args.init is None:
        raise UsageError(
            "train needs a CELL: a run, a published cell, a file, or a genotype; or --resume DIR"
        )


def _cell_of_weights(source: str) -> "CellArgument":
    """The cell of the network whose weights are in a run or a file."""
    from dartboard.runs.directory import is_run
    from dartboard.train.initial_weights import read_weights

    if is_run(Path(source)):
        return source  # with its images
    model = read_weights(source).model
    if model is None:
        raise UsageError(f"{source} does not say which network its weights are of; name the CELL")
    return model.net.space


def train_name(cell: str, config: "TrainConfig") -> str:
    """The name of a training's run directory; `cell` is a run, file, published cell or genotype as typed."""
    name = (
        Path(cell).name.removesuffix(".json").removesuffix(".safetensors")
        if len(cell) < MAX_CELL_NAME
        else "cell"
    )
    plain = name if name.replace("-", "").replace("_", "").replace(".", "").isalnum() else "cell"
    return "-".join(("train", plain, Path(config.data.name).stem, f"s{config.seed}"))


def _start(args: Namespace, device: "torch.device", hooks: "list[AnyHook]", group: "Group") -> "Trainer":
    """A new training in a new run; nothing is written if it cannot be made."""
    from dartboard.runs import Run
    from dartboard.runs.lookup import space_name
    from dartboard.search.config import recorded_name
    from dartboard.train.config import build, load_config, resolved

    flags: dict[str, Any] = {name: value for name in SETTINGS if (value := getattr(args, name)) is not None}
    if args.plugin:
        flags["plugins"] = load_plugins(args.plugin)
    if args.init is not None:
        flags["init"] = {"weights": args.init}
    cell = _cell_of_weights(args.init) if args.cell is None else args.cell
    config, space = load_config(
        cell,
        recipe=args.recipe,
        file=args.config,
        environment=os.environ,
        flags=flags,
        words=args.overrides,
    )
    with progress(quiet=args.quiet) as report_progress:
        parts = build(config, space, report_progress)
    trainer = _make_trainer(parts, device, hooks, group)
    if group.rank == 0:
        path = claim_directory(args.out, train_name(args.cell or args.init, config))
        if isinstance(cell, str):
            name = space_name(cell, config.space.name, space)
        else:
            name = config.space.name or recorded_name(space, path)
        values = resolved(config, name, trainer.space.stack.cells)
        trainer.run = Run.create(
            path, values, space=trainer.space, device=str(device), initial=trainer.initial
        )
    return trainer


def _resume(args: Namespace, device: "torch.device", hooks: "list[AnyHook]", group: "Group") -> "Trainer":
    """The training of the run `args.resume`."""
    from dartboard.train.config import TRAIN, build

    with resumed(args, device, group) as (run, report_progress):
        changes = epoch_changes(args, run, TRAIN.validate(run.config))
        config = TRAIN.validate(run.config | changes)
        parts = build(config, run.space(), report_progress, run=run.path)
        trainer = _make_trainer(parts, device, hooks, group)
        if changes and group.rank == 0:
            run.reconfigure(changes)
    trainer.run = run if group.rank == 0 else None
    return trainer


def _make_trainer(
    parts: "TrainParts", device: "torch.device", hooks: "list[AnyHook]", group: "Group"
) -> "Trainer":
    from dartboard.train import Trainer

    return Trainer(
        parts.space,
        parts.data,
        parts.options,
        init=parts.init,
        device=device,
        hooks=hooks,
        facts=parts.facts,
        group=group,
    )


def _print_result(result: "TrainResult", path: Path, plugins: Sequence[str]) -> None:
    """Print the accuracy and the size of the network, and what to do next."""
    from dartboard.tasks import TOP
    from dartboard.train.build import VALID

    terminal = Terminal()
    terminal.write([""])
    for part, last in result.last.items():
        top5 = f", {last.top5:.2%} among the first five" if len(last.confusion) > TOP else ""
        accuracy = f"{last.top1:.2%} of {last.examples:,} images{top5}, loss {last.loss:.4f}"
        terminal.write(labeled(part, accuracy))
    best = result.best[result.measured_on]
    accuracy = f"{best.top1:.2%} of {result.measured_on} images, after epoch {result.best_epoch + 1}"
    biased = "" if result.measured_on == VALID else "; chosen by the test images themselves, so too good"
    terminal.write(labeled("best", accuracy + biased))
    terminal.write(labeled("network", f"{result.parameters:,} parameters, {result.flops:,} FLOPs per image"))
    terminal.write(labeled("time", f"{span(result.seconds)}, {plural(result.epochs, 'epoch')}"))
    terminal.write(run_lines(path))
    terminal.write(labeled("next", command("export", path, "--format", "onnx", plugins=plugins)))
