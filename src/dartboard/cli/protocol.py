"""Search several times, choose, train the best with many seeds, and random architectures beside it.

The three-stage protocol: N searches; each network they found is trained for a few epochs, the clearly bad
are pruned, the others trained to the end; the best by held-out images is trained anew with many seeds.
Random architectures are given the same. Settings of the searches are written like search.epochs=50, those
of the trainings like train.net.channels=36, the protocol's own like searches=5 short=20 keep=3 seeds=10
random=time. All runs are in one directory. Ctrl-C saves and stops; --resume continues.
"""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dartboard.cli.arguments import (
    UsageError,
    add_executor_flags,
    load_plugins,
    make_executor,
    prepare_device,
    split_executor_words,
)
from dartboard.cli.render import (
    LABEL_WIDTH,
    Terminal,
    labeled,
    print_json,
    progress,
    run_lines,
    table_lines,
)
from dartboard.cli.run_loop import (
    add_run_flags,
    check_flags,
    claim_directory,
    device_and_threads,
    fit,
    resumed,
    search_name,
    tracker_flags,
)
from dartboard.jobs.job import JobResult, Monitor
from dartboard.utils.text import command, span

if TYPE_CHECKING:
    import torch

    from dartboard.cli.display import Display
    from dartboard.jobs.executors import Executor
    from dartboard.runs import Run
    from dartboard.sweep.protocol.config import ProtocolConfig
    from dartboard.sweep.protocol.protocol import Arm, Protocol, ProtocolResult

SETTINGS = (
    "space",
    "method",
    "data",
    "seed",
    "search_recipe",
    "train_recipe",
    "search_config",
    "train_config",
)
"""Flags that are settings of the protocol."""


class JobLines(Monitor):
    """A line for each job that ends in another process, and for one that is submitted again."""

    def __init__(self, display: "Display") -> None:
        self._display = display

    def on_end(self, result: JobResult, again: bool) -> None:
        if again:
            reason = result.error or "no reason given"
            self._display.say([f"{result.job.name}  {result.state}, retried: {reason}"])
        elif result.state == "finished":
            self._display.say([f"{result.job.name}  finished"])


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("overrides", nargs="*", metavar="KEY=VALUE", help="any setting, such as seeds=3 or train.epochs=100")
    add("--search-recipe", metavar="R", help="settings of the searches; see dartboard list recipes")
    add("--train-recipe", metavar="R", help="settings of the trainings; see dartboard list recipes")
    add("--search-config", metavar="FILE", help="settings of the searches in YAML")
    add("--train-config", metavar="FILE", help="settings of the trainings in YAML, without a cell")
    add("--config", metavar="FILE", help="settings of all in YAML, such as the config.yaml of a protocol")
    add("--space", metavar="S", help="search space; see dartboard list spaces")
    add("--method", metavar="M", help="search method; see dartboard list methods")
    add("--data", metavar="D", help="images to search, train and test with; see dartboard list datasets")
    add("--seed", type=int, metavar="N", help="the first seed of the searches and of the trainings")
    add_executor_flags(parser, "searches and trainings")
    add_run_flags(parser, out="runs/protocol-METHOD-SPACE-DATA-sSEED")


def run(args: Namespace) -> int:
    """Run the protocol, and print its results."""
    words, args.overrides = split_executor_words(args.overrides)
    check_flags(args, SETTINGS, "protocol")
    if args.config is not None and (args.search_config or args.train_config):
        raise UsageError("--config has the searches and the trainings; leave out the other configurations")
    from dartboard.cli.display import RunLines, choose_display
    from dartboard.sweep.protocol.forecast import forecast

    device = prepare_device(*device_and_threads(args))
    display = choose_display(quiet=args.quiet, json=args.json, live=None, lines=RunLines)
    executor = make_executor(args, words, threads=args.threads)
    followers = [*tracker_flags(args), *(["live"] if args.live else [])]
    if executor is not None and followers:
        raise UsageError(
            f"--{followers[0]} follows jobs of this process; leave it out, or --executor and --jobs"
        )
    protocol, run = _open(args, device, display, executor)
    with run:
        display.say([_description(protocol), f"writing to {run.path}"])
        result = fit(protocol, run, args, display, lambda: forecast(protocol))
    if isinstance(result, int):
        return result
    if args.json:
        print_json({"run": str(run.path)} | result.facts())
    else:
        _print_result(result, run.path, args.plugin)
    return 0


def _open(
    args: Namespace, device: "torch.device", display: "Display", executor: "Executor | None"
) -> tuple["Protocol", "Run"]:
    """The protocol of the run `args.resume`, or a new one; nothing is written if a job cannot be made."""
    from dartboard.runs import Run
    from dartboard.sweep.protocol.config import resolved
    from dartboard.sweep.protocol.protocol import Protocol, reopen

    options: dict[str, Any] = {
        "device": device,
        "hooks": [display],
        "message": lambda text: display.say([text]),
        "executor": executor,
        "monitor": JobLines(display),
    }
    if args.resume is not None:
        with resumed(args, device) as (run, report_progress):
            return reopen(run, progress=report_progress, **options), run
    config = _load_config(args, load_plugins(args.plugin))
    with progress(quiet=args.quiet) as report_progress:
        protocol = Protocol(config, progress=report_progress, **options)
    path = claim_directory(args.out, f"protocol-{search_name(config.search)}")
    protocol.run = Run.create(path, resolved(config), space=protocol.space, device=str(device))
    return protocol, protocol.run


def _load_config(args: Namespace, plugins: list[str]) -> "ProtocolConfig":
    from dartboard.sweep.protocol.config import load_protocol

    def typed(**names: str) -> dict[str, Any]:
        return {key: getattr(args, name) for key, name in names.items() if getattr(args, name) is not None}

    extra: dict[str, Any] = {"plugins": plugins} if plugins else {}
    return load_protocol(
        recipes=typed(search="search_recipe", train="train_recipe"),
        files=typed(search="search_config", train="train_config"),
        file=args.config,
        environment=os.environ,
        flags={
            **typed(seed="seed"),
            "search": typed(space="space", method="method", data="data") | extra,
            "train": typed(data="data") | extra,
        },
        words=args.overrides,
    )


def _description(protocol: "Protocol") -> str:
    config = protocol.config
    search, train = config.search, config.train
    what = f"{search.space.name} with {search.method.name} on {search.data.name}"
    random = {"none": "", "count": ", as many random networks", "time": ", random networks for the same time"}
    return (
        f"{config.searches} searches of {what}, trainings of {train.epochs} epochs on {train.data.name}, "
        f"{config.seeds} seeds{random[config.random]}, on {protocol.device}"
    )


def _print_result(result: "ProtocolResult", path: Path, plugins: Sequence[str]) -> None:
    """Print every search, every network and every seed, and whether searching was worth it."""
    terminal = Terminal()
    rows = [("seed", "supernet", "cell alone", "time", "network")]
    for search in result.searches:
        accuracies = _percent(search.valid_accuracy), _percent(search.discrete_accuracy)
        rows.append((str(search.seed), *accuracies, span(search.seconds), search.network))
    terminal.write(["", *_labeled_table("searches", rows)])
    for name, arm in result.arms.items():
        terminal.write(["", *_labeled_table(name, _network_rows(arm, result.examples))])
    terminal.write([""])
    for name, arm in result.arms.items():
        for label, value in _arm_values(name, arm, result.measured_on):
            terminal.write(labeled(label, value, terminal.width))
    terminal.write(labeled("verdict", result.verdict, terminal.width))
    terminal.write(run_lines(path))
    best = path / result.arms["found"].finals[0].run
    terminal.write(labeled("next", command("export", best, "--format", "onnx", plugins=plugins)))


def _labeled_table(label: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows in columns, with a label before the first."""
    return [
        (label if number == 0 else "").ljust(LABEL_WIDTH) + line
        for number, line in enumerate(table_lines(rows))
    ]


def _network_rows(arm: "Arm", examples: int) -> list[tuple[str, ...]]:
    images = f"accuracies of {examples:,} held-out images"
    rows: list[tuple[str, ...]] = [("network", "short", "end", "time", images)]
    for network in arm.networks:
        name = network.run.rpartition("/")[2]
        remark = "the best" if name == arm.best else ""
        if network.dropped is not None:
            remark = f"pruned: {network.dropped}"
        accuracies = _percent(network.short_accuracy), _percent(network.accuracy)
        rows.append((name, *accuracies, span(network.seconds), remark))
    return rows


def _arm_values(name: str, arm: "Arm", part: str) -> list[tuple[str, str]]:
    """The results of an arm: labels and values."""
    from dartboard.train.build import TEST

    mean, std = arm.summary.mean, arm.summary.deviation
    spread = "" if std is None else f" +- {100 * std:.2f}"
    seeds = f"{arm.summary.count} seed{'s' if arm.summary.count > 1 else ''}"
    images = "test images" if part == TEST else "validation images, for there are no test images"
    accuracies = ", ".join(f"{100 * final.accuracy:.2f}" for final in arm.finals)
    times = {key: span(seconds) for key, seconds in arm.seconds.items()}
    search = f"{times['search']} to search, " if arm.seconds["search"] else ""
    return [
        (name, f"{100 * mean:.2f}{spread} % of {images}, {arm.best} with {seeds}: {accuracies}"),
        ("", f"{arm.parameters:,} parameters, {arm.flops:,} FLOPs per image"),
        ("", f"{times['total']}: {search}{times['choose']} to choose, {times['final']} for the seeds"),
    ]


def _percent(fraction: float | None) -> str:
    return "-" if fraction is None else f"{fraction:.2%}"
