"""Print a script that completes commands, options and names in a shell.

It completes commands, options, names of methods, spaces, recipes, data sets, benchmarks, formats and
executors, and paths of runs and files; names of installed packages are those of now. Shells look for such
scripts in ~/.local/share/bash-completion/completions/dartboard (bash), in a file _dartboard of a folder in
fpath (zsh), and in ~/.config/fish/completions/dartboard.fish (fish).
"""

import re
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dartboard.cli.commands import CommandParser, make_parser
from dartboard.plugins import entry_points

SHELLS = ("bash", "zsh", "fish")
PACKAGE = Path(__file__).parents[1]
PATHS = (
    "CELL",
    "DIR",
    "FILE",
    "FILE.py",
    "GENOTYPE",
    "MODEL",
    "NAME_OR_PATH",
    "PATH",
    "RUN",
    "SOURCE",
    "SWEEP",
)
"""Metavariables of arguments that are paths, or can be."""


def registered(pattern: str, call: str, group: str | None = None) -> list[str]:
    """Names that are registered in source files by a call such as `METHODS.register`, and by packages.

    Importing the files would import torch, which takes seconds.
    """
    first_argument = re.compile(rf'\b(?:{call})\(\s*"([^"]+)"')
    files = sorted(PACKAGE.glob(pattern))
    names = [name for file in files for name in first_argument.findall(file.read_text(encoding="utf-8"))]
    return sorted({*names, *(entry_points(group) if group is not None else ())})


def recipes(package: str, group: str) -> list[str]:
    """Names of the recipes of `search` or `train`, and of packages."""
    names = (file.stem for file in (PACKAGE / package / "recipes").glob("*.yaml"))
    return sorted({*names, *entry_points(group)})


def list_kinds() -> list[str]:
    """What `dartboard list` lists."""
    from dartboard.cli.list import KINDS

    return list(KINDS)


def published_cells() -> list[str]:
    """Names of the published cells."""
    from dartboard.space import PUBLISHED

    return list(PUBLISHED)


methods = partial(registered, "search/methods/*.py", r"METHODS\.register", "dartboard.methods")
spaces = partial(registered, "space/catalog.py", r"SPACES\.register", "dartboard.spaces")
datasets = partial(
    registered,
    "data/datasets/*.py",
    r"DATASETS\.register|PublishedDataset|_register|Cifar",
    "dartboard.datasets",
)
tables = partial(registered, "tables/*.py", r"TABLES\.register", "dartboard.tables")
formats = partial(registered, "export/*.py", r"FORMATS\.register", "dartboard.export_formats")
search_recipes = partial(recipes, "search", "dartboard.recipes")
train_recipes = partial(recipes, "train", "dartboard.training_recipes")
executors = partial(registered, "jobs/executors/*.py", r"EXECUTORS\.register", "dartboard.executors")

NAMES: dict[str, Callable[[], list[str]]] = {
    "method": methods,
    "methods": methods,
    "search.recipe": search_recipes,
    "train.recipe": train_recipes,
    "search_recipe": search_recipes,
    "train_recipe": train_recipes,
    "oracle": tables,
    "get.name": datasets,
    "format": formats,
    "executor": executors,
    "list.kind": list_kinds,
}
"""By the name of an argument, if need be with its command before it, the names that it takes."""
NAMES_OR_PATHS: dict[str, Callable[[], list[str]]] = {
    "space": spaces,
    "data": datasets,
    "cell": published_cells,
    "cells": published_cells,
}
"""By the name of an argument, the names that it takes besides paths."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(args: Namespace) -> int:
    """Print the script."""
    import shtab

    parser = make_parser()
    _complete_all(parser)
    print(shtab.complete(parser, args.shell))
    return 0


def _complete_all(parser: ArgumentParser) -> None:
    """Say of all arguments of a command, and of the commands below it, what completes them."""
    import shtab

    if isinstance(parser, CommandParser):
        parser.load()
    parser.description = (parser.description or "").split(".")[0]  # some shells show it in a line
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for command in action.choices.values():
                _complete_all(command)
        elif action.choices is not None or action.nargs == 0:
            continue
        elif names := NAMES.get(f"{parser.prog.split()[-1]}.{action.dest}", NAMES.get(action.dest)):
            action.choices = names()
        elif action.dest in NAMES_OR_PATHS:
            _set_completion(action, names_or_paths(action.dest, NAMES_OR_PATHS[action.dest]()))
        elif action.metavar in PATHS:
            _set_completion(action, shtab.FILE)


def _set_completion(action: Action, completion: Any) -> None:
    action.complete = completion  # type: ignore[attr-defined]  # where shtab looks for it


def names_or_paths(kind: str, names: list[str]) -> dict[str, Any]:
    """For shtab: what completes one of these names, or a path."""
    words, function = " ".join(names), f"_dartboard_{kind}"
    preamble = {
        "bash": f'compgen -W "{words}" -- "$1"\n  compgen -f -- "$1"',
        "zsh": f"_alternative 'names:name:({words})' 'files:file:_files'",
    }
    return {
        "bash": function,
        "zsh": function,
        "fish": f"(printf '%s\\n' {words}; __fish_complete_path (commandline -ct))",
        "preamble": {shell: f"{function}() {{\n  {body}\n}}\n" for shell, body in preamble.items()},
    }
