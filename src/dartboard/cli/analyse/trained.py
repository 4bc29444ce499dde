"""From what stands on the command line to a trained network: a cell is trained before it is looked at."""

import re
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dartboard.cli.analyse.cells import SETTING, SMALL
from dartboard.cli.analyse.networks import is_trained
from dartboard.cli.arguments import UsageError
from dartboard.cli.lookup import find_genotype, home_of, space_name, space_of_run
from dartboard.errors import DivergedError
from dartboard.utils.progress import Progress

if TYPE_CHECKING:
    import torch


CELL = "cell"
"""The label of a cell that is trained."""


def plain(text: str) -> str:
    """What was typed as part of a directory's name."""
    name = Path(text).name.removesuffix(".json").removesuffix(".safetensors")
    return name if re.fullmatch(r"[A-Za-z0-9][\w.+-]{0,40}", name) else CELL


def trained(args: Namespace, out: Path, device: "torch.device", tell: Progress) -> str:
    """The run or the file of the network that is meant; a cell is trained before, with one thread.

    Args:
        args: What was typed: `what`, `overrides` and `data`.
        out: A cell's training is an ordinary run in its folder `runs`; what is finished is not done again.
        device: Where to train.
        tell: Is told how many epochs are complete.

    Raises:
        DartboardError: If there is no such network or cell, if words are no settings, or if the training
            broke off.
    """
    if is_trained(args.what):
        if args.overrides:
            raise UsageError(f"{args.what} is trained already; leave out {args.overrides[0]}")
        return str(args.what)
    from dartboard.analysis.convergence import RUNS, compare, make_settings

    genotype = find_genotype(args.what)
    space = space_of_run(args.what) or home_of(genotype)
    flags: dict[str, Any] = {"space": space_name(args.what, None, space)}
    flags |= {} if args.data is None else {"data": {"name": args.data}}
    settings = make_settings(SMALL, flags, words=_settings(args.overrides))
    (found,) = compare({CELL: genotype}, settings, out, device=device, tell=tell).trainings
    if found.fault is not None:
        raise DivergedError(f"the training of the cell broke off: {found.fault}, and another --out")
    return str(out / RUNS / found.entry.name)


def _settings(words: Sequence[str]) -> Sequence[str]:
    """Words that are settings; others are mistakes."""
    for word in words:
        if not SETTING.match(word):
            raise UsageError(f"{word!r} is no setting such as epochs=30; give one network or cell alone")
    return words
