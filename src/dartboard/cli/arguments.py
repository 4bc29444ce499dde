"""What the arguments of several commands share: types of values, plugins, device, images, executor."""

import math
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dartboard.errors import DartboardError
from dartboard.utils.text import printable

if TYPE_CHECKING:
    import torch

    from dartboard.data import Dataset
    from dartboard.export import Metadata
    from dartboard.jobs.executors import Executor


class UsageError(DartboardError):
    """Arguments that do not make a command."""


RUNS = Path("runs")
"""The folder of new runs, below the working directory."""
EXECUTOR_PREFIX = "executor."
PROGRAMS = {".py": "a Python program", ".pt": "a TorchScript program"}
"""Suffixes of files that can do anything when they are opened, and what they are."""
MAX_NUMBER = 100_000
"""The largest number an option takes: counts of a network with larger sizes overflow."""


def positive(text: str) -> int:
    """A whole number from 1 to `MAX_NUMBER`."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    if not 1 <= number <= MAX_NUMBER:
        raise ArgumentTypeError(f"expected a whole number from 1 to {MAX_NUMBER:,}, got {text!r}")
    return number


def number(text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentTypeError(f"expected a number, got {text!r}")
    return value


def above_zero(text: str) -> float:
    """A finite number above 0."""
    try:
        value = number(text)
    except ArgumentTypeError:
        value = 0.0
    if value <= 0:
        raise ArgumentTypeError(f"expected a number above 0, got {text!r}")
    return value


def image_shape(text: str) -> tuple[int, int, int]:
    """Channels, height and width of an image, written like 3x32x32."""
    sizes = text.lower().split("x")
    if len(sizes) != 3:
        raise ArgumentTypeError(f"expected channels x height x width like 3x32x32, got {text!r}")
    channels, height, width = map(positive, sizes)
    return channels, height, width


def add_plugins(parser: ArgumentParser) -> None:
    """Declare `--plugin`."""
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py",
        help="run a Python file that registers methods, spaces, ops or recipes, as yourself: "
        "name only files that you trust; may be given several times",
    )


def announce_program(file: str | Path) -> None:
    """Say on standard error that a file is a program, which runs when it is opened, if it is one."""
    from dartboard.cli.processes import is_silent

    path = Path(file)
    if path.suffix in PROGRAMS and path.is_file() and not is_silent():
        notice = f"running {path}, {PROGRAMS[path.suffix]}: use only those you trust"
        print(f"dartboard: {printable(notice)}", file=sys.stderr)


def load_plugins(files: Sequence[str]) -> list[str]:
    """Run plugin files, and say so; returns their full paths."""
    if not files:
        return []
    from dartboard.plugins import load_plugin
    from dartboard.utils.safe_files import open_file

    for file in files:
        announce_program(file)
        if Path(file).is_file():  # else `load_plugin` says what is wrong
            open_file(file).close()  # raises if it is too large
    with redirect_stdout(sys.stderr):  # standard output is for the result
        return [load_plugin(file) for file in files]


def prepare_device(device: str | None, threads: int | None) -> "torch.device":
    """The device to compute on, after setting torch's number of threads if `threads` is not None.

    Raises:
        OptionError: If there is no such device, or it cannot be used.
    """
    import torch

    from dartboard.engine.process import find_device

    if threads is not None:
        torch.set_num_threads(threads)
    return find_device(device, "--device")


def load_images(name: str, metadata: "Metadata") -> "Dataset":
    """A data set with images of the size that a network takes; prints how many files cannot be read.

    Raises:
        DataError: If there is no such data set, or its images do not have the shape that the network takes.
    """
    from dartboard.cli.render import progress
    from dartboard.train.evaluation import load_for_network

    broken: dict[str, str] = {}
    with progress() as report_progress:
        data = load_for_network(name, metadata, progress=report_progress, on_broken=broken.__setitem__)
    if broken:
        notice = f"{len(broken):,} files that cannot be read are left out; see dartboard data show {name}"
        print(f"dartboard: {notice}", file=sys.stderr)
    return data


def add_executor_flags(parser: ArgumentParser, what: str) -> None:
    """Declare the flags that say where jobs run; `what` is what these are, such as `searches`."""
    add = parser.add_argument
    add("--jobs", type=positive, metavar="N", help=f"{what} at a time, each in a process (default: 1)")
    add(
        "--executor",
        metavar="E",
        help=f"where {what} run: here, pool, ray or slurm (default: here, pool with --jobs); its options are "
        "settings such as executor.partition=gpu",
    )


def split_executor_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words that are options of an executor, and the others."""
    options = [word for word in words if word.startswith(EXECUTOR_PREFIX)]
    return options, [word for word in words if not word.startswith(EXECUTOR_PREFIX)]


def choose_executor(
    args: Namespace, words: Sequence[str], **defaults: Any
) -> tuple[str, dict[str, Any]] | None:
    """Name and options of the executor that flags and words name; None for this process.

    Words are options such as `executor.partition=gpu`; `defaults` count where neither these nor flags say
    otherwise.

    Raises:
        DartboardError: If a word cannot be read, or belongs to no executor.
    """
    name = args.executor or ("pool" if (args.jobs or 1) > 1 else "here")
    if name == "here":
        if words or (args.jobs is not None and args.jobs > 1):
            option = words[0] if words else f"--jobs {args.jobs}"
            raise UsageError(f"{option} is for jobs in other processes; name them with --executor pool")
        return None
    from dartboard.config.loader import from_words

    options = {name: value for name, value in defaults.items() if value is not None}
    if args.jobs is not None:
        options["jobs"] = args.jobs
    return name, options | from_words(words).get("executor", {})


def make_executor(args: Namespace, words: Sequence[str], **defaults: Any) -> "Executor | None":
    """The executor that flags and words name; None for this process. See `choose_executor`.

    Raises:
        DartboardError: If there is no such executor, or an option does not fit it.
    """
    choice = choose_executor(args, words, **defaults)
    if choice is None:
        return None
    from dartboard.jobs import executors

    return executors.make_executor(*choice)
