"""Train the network of a cell from scratch.

CELL is the directory of a search, a published cell, a file with a genotype, or a genotype itself. Settings
come from, later ones winning: defaults, a recipe, a YAML file, environment variables such as
DARTBOARD_TRAIN_WEIGHTS__LR=0.05, the flags below, and words such as net.channels=36. Everything is written
to a run directory, the best network and the last one among it. Ctrl-C saves and stops; --resume goes on.
"""

import json
import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dartboard.cli import processes
from dartboard.cli.arguments import UsageError, load_plugins
from dartboard.cli.render import Terminal, labelled, places
from dartboard.cli.run_loop import add_flags, check_flags, fit, in_words, machine, opened, reopen
from dartboard.utils.text import command, span

if TYPE_CHECKING:
    import torch

    from dartboard.cli.display import Display
    from dartboard.distributed.group import Group
    from dartboard.runs import Run
    from dartboard.space import SearchSpace
    from dartboard.tasks import Evaluation
    from dartboard.train import Trainer, TrainResult
    from dartboard.train.config import TrainConfig, TrainParts
    from dartboard.utils.progress import Progress

NAMED = ("space", "data", "epochs", "seed")
"""Flags that are settings of the training."""
SETTING = re.compile(r"[a-z_.]+=")


def configure(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add = parser.add_argument
    add("cell", nargs="?", metavar="CELL", help="a run, a published cell, a file, or a genotype")
    add("overrides", nargs="*", metavar="KEY=VALUE", help="any setting, such as net.channels=36")
    add("--space", metavar="S", help="the space whose stack the cells go into (default: the cell's own)")
    add_flags(parser, out="runs/train-CELL-DATA-sSEED")


def run(args: Namespace) -> int:
    """Train, and print how good it is."""
    _find_cell(args)
    check_flags(args, NAMED, "train")
    if (code := processes.launch(args)) is not None:
        return code
    from dartboard.cli.arguments import prepare_device
    from dartboard.cli.display import Curve, choose_display

    device = prepare_device(*processes.place(*machine(args)))
    with processes.joined(device) as group:
        display = choose_display(quiet=args.quiet or group.rank > 0, json=args.json, screen=Curve)
        start = _start if args.resume is None else _reopen
        trainer, run = start(args, device, display, group)
        with opened(run, args):
            if run is not None:
                display.say([_plan(trainer), f"writing to {run.path}"])
            result = fit(trainer, run, args, display, lambda: _forecast(trainer), group)
    if isinstance(result, int):
        return result
    if run is not None:
        _print(result, run.path, args)
    return 0


def _find_cell(args: Namespace) -> None:
    """Without a cell the first word may be a setting; runs that go on and configurations have their own."""
    if args.cell is not None and SETTING.match(args.cell):
        args.overrides.insert(0, args.cell)
        args.cell = None
    if args.resume is not None:
        if args.cell is not None:
            raise UsageError(f"--resume goes on with the cell of the run; leave out {args.cell}")
        return
    if args.cell is None and args.config is not None:
        from dartboard.config.loader import read_file

        args.cell = read_file(Path(args.config)).get("cell")  # of a training; a search has none yet
    if not isinstance(args.cell, str):
        raise UsageError(
            "train needs a CELL: a run, a published cell, a file, or a genotype; or --resume DIR"
        )


def _start(
    args: Namespace, device: "torch.device", display: "Display", group: "Group"
) -> tuple["Trainer", "Run | None"]:
    """A new training in a new run; nothing is written if it cannot be made."""
    from dartboard.cli.progress import progress
    from dartboard.cli.run_loop import claim, train_name
    from dartboard.runs import Run
    from dartboard.runs.lookup import space_name
    from dartboard.train.config import build, resolved

    plugins = load_plugins(args.plugin)
    config, stack = _configure(args, plugins)
    with progress(quiet=args.quiet) as tell:
        parts = build(config, stack, tell)
    trainer = _trainer(parts, device, display, group)
    if group.rank:
        return trainer, None
    path = claim(args.out, train_name(args.cell, config))
    home = space_name(args.cell, config.space.name, stack)
    values = resolved(config, home, trainer.space.stack.cells)
    trainer.run = Run.create(path, values, space=trainer.space, device=str(device))
    return trainer, trainer.run


def _configure(args: Namespace, plugins: list[str]) -> tuple["TrainConfig", "SearchSpace"]:
    """What is to be trained, and the space whose stack the cells go into."""
    from dartboard.runs.lookup import data_of_run, find_genotype, home_of, space_of_run
    from dartboard.space import GENOTYPE_FORMATS, load_space

    genotype = find_genotype(args.cell)
    flags: dict[str, Any] = {"cell": GENOTYPE_FORMATS["json"].encode(genotype)}
    flags |= {name: value for name in NAMED if (value := getattr(args, name)) is not None}
    flags |= {"plugins": plugins} if plugins else {}
    config = _load(args, flags, data_of_run(args.cell))
    if config.space.name is not None:
        return config, load_space(config.space.name)
    return config, space_of_run(args.cell) or home_of(genotype)


def _load(args: Namespace, flags: dict[str, Any], images: dict[str, object]) -> "TrainConfig":
    """The configuration; the images of a run, unless others are named, in the size that it had them."""
    from dartboard.train.config import TRAIN

    load = partial(
        TRAIN.load,
        recipe=args.recipe,
        file=args.config,
        environment=os.environ,
        flags=flags,
        words=args.overrides,
    )
    named = {key: value for key, value in images.items() if key == "name"}
    config = load(base={"data": named})
    return load(base={"data": images}) if config.data.name == images.get("name") else config


def _reopen(
    args: Namespace, device: "torch.device", display: "Display", group: "Group"
) -> tuple["Trainer", "Run | None"]:
    """The training of a run that is there already."""
    from dartboard.train.config import TRAIN, build

    def make(run: "Run", space: "SearchSpace", tell: "Progress") -> "Trainer":
        return _trainer(build(TRAIN.validate(run.config), space, tell), device, display, group)

    return reopen(args, device, make, group)


def _trainer(parts: "TrainParts", device: "torch.device", display: "Display", group: "Group") -> "Trainer":
    from dartboard.train import Trainer

    own = parts.space, parts.data, parts.options
    return Trainer(*own, device=device, hooks=[display], facts=parts.facts, group=group)


def _plan(trainer: "Trainer") -> str:
    plan, cells = trainer.plan, trainer.space.stack.cells
    what = f"{cells} cell{'s' if cells > 1 else ''} of {trainer.space.name} on {trainer.data.name}"
    return f"training {what}: {plan.epochs} epochs of {plan.steps} steps, on {trainer.device}"


def _forecast(trainer: "Trainer") -> str:
    from dartboard.train.forecast import forecast

    return in_words(lambda: forecast(trainer), trainer.group)


def _print(result: "TrainResult", path: Path, args: Namespace) -> None:

    if args.json:
        print(json.dumps({"run": str(path)} | result.facts()))
    else:
        print_training(result, path, args.plugin)


def print_training(result: "TrainResult", path: Path, plugins: Sequence[str] = ()) -> None:
    """Prints how good the network is, how large, and what to do next."""
    from dartboard.train.build import VALID

    terminal = Terminal()
    terminal.write([""])
    for part, found in result.last.items():
        terminal.write(labelled(part, _accuracy(found)))
    best = result.best[result.measured_on]
    words = f"{best.top1:.2%} of {result.measured_on} images, after epoch {result.best_epoch + 1}"
    chosen = "" if result.measured_on == VALID else "; chosen by the test images themselves, so too good"
    terminal.write(labelled("best", words + chosen))
    terminal.write(labelled("network", f"{result.parameters:,} parameters, {result.flops:,} FLOPs an image"))
    terminal.write(labelled("time", f"{span(result.seconds)}, {result.epochs} epochs"))
    terminal.write(places(path))
    terminal.write(labelled("next", command("export", path, "--format", "onnx", plugins=plugins)))


def _accuracy(found: "Evaluation") -> str:
    from dartboard.tasks import TOP

    five = f", {found.top5:.2%} among the first five" if len(found.confusion) > TOP else ""
    return f"{found.top1:.2%} of {found.examples:,} images{five}, loss {found.loss:.4f}"
