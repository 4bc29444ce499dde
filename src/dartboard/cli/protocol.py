"""Search several times, choose, train the best with many seeds, and random architectures beside it.

The three-stage protocol: N searches; each network they found is trained for a few epochs, the clearly bad
are dropped, the others trained to the end; the best by held-out images is trained anew with many seeds.
Random architectures are given the same. Settings of the searches are words such as search.epochs=50, those
of the trainings train.net.channels=36, the protocol's own searches=5 short=20 keep=3 seeds=10 random=time.
All runs are in one directory. Ctrl-C saves and stops; --resume goes on.
"""

import json
import os
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from dartboard.cli import watching
from dartboard.cli.arguments import UsageError, load_plugins
from dartboard.cli.looping import add_run_flags, check_flags, fit, in_words, machine

if TYPE_CHECKING:
    import torch

    from dartboard.cli.display import Display
    from dartboard.runs import Run
    from dartboard.sweep.protocol.config import ProtocolConfig
    from dartboard.sweep.protocol.protocol import Protocol

NAMED = ("space", "method", "data", "seed", "search_recipe", "train_recipe", "search_config", "train_config")
"""Flags that are settings of the protocol."""


def configure(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add = parser.add_argument
    add("overrides", nargs="*", metavar="KEY=VALUE", help="any setting, such as seeds=3 or train.epochs=100")
    add("--search-recipe", metavar="R", help="settings of the searches; see dartboard list recipes")
    add("--train-recipe", metavar="R", help="settings of the trainings; see dartboard list recipes")
    add("--search-config", metavar="FILE", help="settings of the searches in YAML")
    add("--train-config", metavar="FILE", help="settings of the trainings in YAML, without a cell")
    add("--config", metavar="FILE", help="settings of all in YAML, such as the config.yaml of a protocol")
    add("--space", metavar="S", help="what to search; see dartboard list spaces")
    add("--method", metavar="M", help="how to search; see dartboard list methods")
    add("--data", metavar="D", help="images to search, train and test with; see dartboard list datasets")
    add("--seed", type=int, metavar="N", help="the first seed of the searches and of the trainings")
    watching.add_flag(parser)
    add_run_flags(parser, out="runs/protocol-METHOD-SPACE-DATA-sSEED")


def run(args: Namespace) -> int:
    """Go through the protocol, and print what it came to."""
    check_flags(args, NAMED, "protocol")
    if args.config is not None and (args.search_config or args.train_config):
        raise UsageError("--config has the searches and the trainings; leave out the other configurations")
    from dartboard.cli.machine import prepare
    from dartboard.cli.standings import choose_lines, print_protocol

    device = prepare(*machine(args))
    display = choose_lines(quiet=args.quiet, json=args.json)
    protocol, run = (_start if args.resume is None else _reopen)(args, device, display)
    with run:
        display.say([_plan(protocol), f"writing to {run.path}"])
        result = fit(protocol, run, args, display, lambda: _forecast(protocol))
    if isinstance(result, int):
        return result
    if args.json:
        print(json.dumps({"run": str(run.path)} | result.facts()))
    else:
        print_protocol(result, run.path, args.plugin)
    return 0


def _start(args: Namespace, device: "torch.device", display: "Display") -> tuple["Protocol", "Run"]:
    """A new protocol in a new run; nothing is written if one of its jobs cannot be made."""
    from dartboard.cli.places import claim, search_name
    from dartboard.cli.progress import progress
    from dartboard.runs import Run
    from dartboard.sweep.protocol.config import resolved
    from dartboard.sweep.protocol.protocol import Protocol

    config = _configure(args, load_plugins(args.plugin))
    with progress(quiet=args.quiet) as tell:
        protocol = Protocol(
            config, device=device, hooks=[display], tell=lambda words: display.say([words]), progress=tell
        )
    path = claim(args.out, f"protocol-{search_name(config.search)}")
    space = protocol.jobs.material.space
    protocol.run = Run.create(path, resolved(config), space=space, device=str(device))
    return protocol, protocol.run


def _configure(args: Namespace, plugins: list[str]) -> "ProtocolConfig":
    from dartboard.sweep.protocol.config import load_protocol

    def given(**names: str) -> dict[str, Any]:
        return {key: getattr(args, name) for key, name in names.items() if getattr(args, name) is not None}

    loaded: dict[str, Any] = {"plugins": plugins} if plugins else {}
    return load_protocol(
        recipes=given(search="search_recipe", train="train_recipe"),
        files=given(search="search_config", train="train_config"),
        file=args.config,
        environment=os.environ,
        flags={
            **given(seed="seed"),
            "search": given(space="space", method="method", data="data") | loaded,
            "train": given(data="data") | loaded,
        },
        words=args.overrides,
    )


def _reopen(args: Namespace, device: "torch.device", display: "Display") -> tuple["Protocol", "Run"]:
    """The protocol of a run that is there already."""
    from dartboard.cli.progress import progress
    from dartboard.runs import Run
    from dartboard.sweep.protocol.protocol import reopen

    load_plugins(args.plugin)
    run = Run.resume(args.resume, device=str(device))
    try:
        with progress(quiet=args.quiet) as tell:
            protocol = reopen(
                run, device=device, hooks=[display], tell=lambda words: display.say([words]), progress=tell
            )
    except BaseException:
        run.close()
        raise
    return protocol, run


def _plan(protocol: "Protocol") -> str:
    config = protocol.config
    search, train = config.search, config.train
    what = f"{search.space.name} with {search.method.name} on {search.data.name}"
    beside = {"none": "", "count": ", as many random networks", "time": ", random networks for the same time"}
    return (
        f"{config.searches} searches of {what}, trainings of {train.epochs} epochs on {train.data.name}, "
        f"{config.seeds} seeds{beside[config.random]}, on {protocol.device}"
    )


def _forecast(protocol: "Protocol") -> str:
    from dartboard.sweep.protocol.forecast import forecast

    return in_words(lambda: forecast(protocol.jobs))
