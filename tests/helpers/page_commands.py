"""Commands of the documentation, given for real where they can be made small, and looked at where not."""

import re
import runpy
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from dartboard.cli import commands
from dartboard.cli import main as program
from dartboard.scoreboard import load_bench, plan_jobs
from dartboard.search import METHODS
from dartboard.search.config import load_config
from dartboard.space import get_published, load_space
from dartboard.sweep.config import load_sweep
from dartboard.train.config import TRAIN
from dartboard_papers import REPRODUCTIONS
from dartboard_papers.runner import choose_scale
from helpers.doc_pages import ROOT
from helpers.page_settings import CHECKED, SMALLER

Words = list[str]


def run_command(words: Words) -> None:
    """Give a command to the program that it names; variables before it are left out."""
    while re.match(r"[A-Z_]+=", words[0]):
        words = words[1:]
    name = Path(words[0]).name
    if name not in COMMANDS:
        raise AssertionError(f"{shlex.join(words)}: tests/helpers/page_commands.py does not know {name}")
    COMMANDS[name](words[1:])


def dartboard(words: Words) -> None:
    """Run the program, made small; or only look at what is too much to run."""
    line = " ".join(words) + " "
    if any(re.search(pattern, line) for pattern in CHECKED):
        check(words)
        return
    more = " ".join(extra for pattern, extra in SMALLER if re.search(pattern, line))
    code = program.main([*words, *more.split()])
    if code != 0:
        raise AssertionError(f"dartboard {line} {more}: exit code {code}")


def check(words: Words) -> None:
    """Read a command as the program does, and look up what it names.

    Raises:
        DartboardError: If a flag, a recipe, a method or a setting is not there.
    """
    args = commands.parse(words)
    if getattr(args, "resume", None) is None and words[0] in CHECKS:
        CHECKS[words[0]](args)


def _check_search(args: Any) -> None:
    flags = _given(args, "space", "method", "data")
    config = load_config(recipe=args.recipe, flags=flags, words=args.overrides)
    assert METHODS[config.method.name]
    load_space(config.space.name)


def _check_train(args: Any) -> None:
    TRAIN.load(recipe=args.recipe, flags={"cell": "{}", **_given(args, "data")}, words=args.overrides)
    if not args.cell.startswith("runs/"):
        get_published(args.cell)


def _check_bench(args: Any) -> None:
    labels = args.methods.split(",") if args.methods else None
    plan_jobs(load_bench(file=args.config and ROOT / args.config, words=args.overrides, labels=labels))


def _check_paper(args: Any) -> None:
    choose_scale(REPRODUCTIONS[args.name], args.overrides, full=args.full)


def _check_sweep(args: Any) -> None:
    load_sweep(args.sweep, args.overrides, _given(args, "executor"))


def _given(args: Any, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(args, name)) is not None}


def torchrun(words: Words) -> None:
    """Read the words of torchrun as it does, and look at the command that it starts."""
    from torch.distributed.run import get_args_parser

    args = get_args_parser().parse_args(words)
    assert args.no_python, "torchrun starts dartboard with --no-python"
    assert args.training_script == "dartboard", f"torchrun starts {args.training_script}"
    check(args.training_script_args)


def make(words: Words) -> None:
    """Look the targets up."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    for word in words:
        assert re.search(rf"^{word}:", text, re.MULTILINE), f"the Makefile has no target {word}"


def pip(words: Words) -> None:
    """Look the extras up."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for extra in ",".join(re.findall(r"\[(.*?)\]", " ".join(words))).split(","):
        assert not extra or re.search(rf"^{extra} = \[", text, re.MULTILINE), f"there is no extra {extra}"


def python(words: Words) -> None:
    """Look a script of the repository and its flags up; run a file of the page itself."""
    if (ROOT / words[0]).is_file():
        text = (ROOT / words[0]).read_text(encoding="utf-8")
        missing = [word for word in words[1:] if word.startswith("--") and f'"{word}"' not in text]
        assert not missing, f"{words[0]} has no {missing}"
    elif words[0] != "-m":
        runpy.run_path(words[0], run_name="__main__")


def leave(words: Words) -> None:
    """Leave alone what is not dartboard's."""


def read_yaml(path: Path) -> None:
    """Read a file by what it is: a space, a bench, a sweep, or the settings of a search or a training."""
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    if "stack" in found:
        load_space(path)
    elif found.get("kind") == "bench":
        load_bench(file=path)
    elif found.get("kind") == "sweep":
        load_sweep(path)
    elif found.get("kind") == "train":
        TRAIN.load(file=path, flags={"cell": "{}"})
    else:
        load_config(file=path)


CHECKS: dict[str, Callable[[Any], None]] = {
    "search": _check_search,
    "train": _check_train,
    "bench": _check_bench,
    "reproduce": _check_paper,
    "sweep": _check_sweep,
}
"""By verb, what looks up what a command names."""
COMMANDS: dict[str, Callable[[Words], None]] = {
    "dartboard": dartboard,
    "make": make,
    "pip": pip,
    "python": python,
    "torchrun": torchrun,
    **dict.fromkeys(("cd", "git", "tensorboard"), leave),
}
"""What is done for each program."""
