"""What the commands share that run a loop of epochs: flags, the run directory, stopping and resuming."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dartboard.cli import processes
from dartboard.cli.arguments import RUNS, UsageError, add_plugins, load_plugins, positive
from dartboard.cli.render import size
from dartboard.cli.signals import SIGNALLED
from dartboard.errors import DistributedError, Stopped
from dartboard.utils.text import command, printable, span

if TYPE_CHECKING:
    import torch

    from dartboard.cli.display import Display
    from dartboard.distributed.group import Group
    from dartboard.engine.loop import Loop, LoopResult
    from dartboard.runs import Run
    from dartboard.search.config import SearchConfig
    from dartboard.search.forecast import Forecast
    from dartboard.search.hooks import AnyHook
    from dartboard.space import SearchSpace
    from dartboard.train.config import TrainConfig
    from dartboard.utils.progress import Progress


LONGEST = 60  # characters of a cell that names a directory


def claim(out: str | None, name: str) -> Path:
    """The directory for a new run: `out`, or the first free one of this name among the runs.

    The latter is made at once, so that two programs that start together get two.
    """
    if out is not None:
        return Path(out)
    for path in _candidates(name):
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path
    raise AssertionError("numbers never end")


def search_name(config: "SearchConfig") -> str:
    """What the directory of a search is called."""
    parts = (config.method.name, Path(config.space.name).stem, Path(config.data.name).stem, f"s{config.seed}")
    return "-".join(parts)


def train_name(cell: str, config: "TrainConfig") -> str:
    """What the directory of a training is called.

    Args:
        cell: What was typed for the cell: a run, a file, a published cell or a genotype.
        config: The training.
    """
    what = Path(cell).name.removesuffix(".json") if len(cell) < LONGEST else "cell"
    plain = what if what.replace("-", "").replace("_", "").replace(".", "").isalnum() else "cell"
    return "-".join(("train", plain, Path(config.data.name).stem, f"s{config.seed}"))


def _candidates(name: str) -> Iterator[Path]:
    yield RUNS / name
    yield from (RUNS / f"{name}-{number}" for number in count(2))


class Hooked(Protocol):
    """What has hooks."""

    hooks: "tuple[AnyHook, ...]"


def add_tensorboard_flag(parser: ArgumentParser) -> None:
    """Declare the flag."""
    about = "write curves, strengths and cells for TensorBoard to a folder in DIR, called like the run"
    parser.add_argument("--tensorboard", type=Path, metavar="DIR", help=about)


def check_tensorboard_flag(args: Namespace) -> None:
    """Refuse the flag where nothing can be written, before anything else is."""
    folder = _tensorboard_folder(args)
    if folder is None:
        return
    from dartboard.integrations.tensorboard import check_installed

    check_installed()
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--tensorboard {folder} is a file; name a folder")


def tensorboard_hook(loop: Hooked, run: Path, args: Namespace) -> AbstractContextManager[object]:
    """Have every epoch of a loop written, if that was asked for; the end of the `with` closes the files.

    Args:
        loop: What is run.
        run: The directory of its run.
        args: What was typed.
    """
    folder = _tensorboard_folder(args)
    if folder is None:
        return nullcontext()
    from dartboard.integrations.tensorboard import TensorBoardHook

    hook = TensorBoardHook(folder / run.resolve().name, run)
    loop.hooks = (*loop.hooks, hook)
    return hook


def tensorboard_words(args: Namespace) -> list[str]:
    """The flag as it was typed, for the command that goes on."""
    folder = _tensorboard_folder(args)
    return [] if folder is None else ["--tensorboard", str(folder)]


def _tensorboard_folder(args: Namespace) -> Path | None:
    """Where to write; None if that was not asked for, or the verb has no such flag."""
    folder: Path | None = getattr(args, "tensorboard", None)
    return folder


E = TypeVar("E", bound="LoopResult")
L = TypeVar("L", bound="Loop[Any, Any]")
Make = Callable[["Run", "SearchSpace", "Progress"], L]
"""Makes the loop of a run in its space; the last is told how far the loading of images is."""
E_co = TypeVar("E_co", bound="LoopResult", covariant=True)


class Fitting(Protocol[E_co]):
    """What runs to its end, and can be asked to save and stop: a search, a training, a protocol."""

    hooks: "tuple[AnyHook, ...]"

    def stop(self) -> None:
        """Ask to save and stop."""

    def fit(self, *, fall_back: bool = False) -> E_co:
        """Run to the end."""


def add_flags(parser: ArgumentParser, *, out: str) -> None:
    """Declare the flags that loops share.

    Args:
        parser: The verb's.
        out: What the directory of a run is called by default.
    """
    add = parser.add_argument
    add("--recipe", metavar="R", help="the settings of a paper; see dartboard list recipes")
    add("--config", metavar="FILE", help="settings in YAML, such as the config.yaml of a run")
    add("--data", metavar="D", help="images: a folder, a file, or one of dartboard list datasets")
    add("--epochs", type=positive, metavar="N", help="passes over the images")
    add("--seed", type=int, metavar="N", help="where chance starts")
    add_tensorboard_flag(parser)
    processes.add_flag(parser)
    add_run_flags(parser, out=out)


def add_run_flags(parser: ArgumentParser, *, out: str) -> None:
    """Declare the flags of everything that writes a run: where, on what machine, and what is seen of it.

    Args:
        parser: The verb's.
        out: What the directory of a run is called by default.
    """
    add = parser.add_argument
    add_plugins(parser)
    add("--out", metavar="DIR", help=f"directory of the run (default: {out})")
    add("--resume", metavar="DIR", help="go on with a run that was stopped or killed")
    add("--fall-back", action="store_true", help="resume from an older checkpoint if the last is damaged")
    add("--device", metavar="D", help="where to compute (default: cuda if there is one, else cpu)")
    add("--threads", type=positive, metavar="N", help="threads on a CPU (default: torch's own choice)")
    add("--no-report", action="store_true", help="write no report.html at the end")
    add(
        "--live",
        action="store_true",
        help="write report.html after every epoch, a page that refreshes itself",
    )
    add("--quiet", action="store_true", help="print the result alone")
    add("--json", action="store_true", help="print one JSON object at the end, and nothing else")


def check_flags(args: Namespace, named: Sequence[str], verb: str) -> None:
    """Refuse flags that contradict each other, and a run of another verb.

    Args:
        args: What was typed.
        named: The flags that are settings.
        verb: The verb, whose runs can be resumed.
    """
    settings = [name for name in (*named, "recipe", "config", "out") if getattr(args, name, None) is not None]
    flags = [f"--{name.replace('_', '-')}" for name in settings]
    if args.resume is not None and (flags or args.overrides):
        given = ", ".join([*flags, *args.overrides])
        raise UsageError(f"--resume goes on with the settings of the run; leave out {given}")
    if args.live and args.no_report:
        raise UsageError("--live writes a report and --no-report writes none; leave out one of them")
    if args.fall_back and args.resume is None:
        raise UsageError("--fall-back chooses among the checkpoints of a run; name the run with --resume")
    check_tensorboard_flag(args)
    if args.resume is not None:
        _check_kind(args.resume, verb)


def _check_kind(path: str, verb: str) -> None:
    from dartboard.runs import Run

    kind = Run.read(path).config.get("kind", "search")
    if kind != verb:
        raise UsageError(f"{path} is a run of dartboard {kind}; go on with: dartboard {kind} --resume {path}")


def reopen(
    args: Namespace, device: "torch.device", make: "Make[L]", group: "Group"
) -> tuple[L, "Run | None"]:
    """A run that is there already, and its loop, in the space that the run has recorded.

    Args:
        args: What was typed; `args.resume` is the run.
        device: Where to compute.
        make: Makes the loop.
        group: The processes that share it; only rank 0 writes to the run.
    """
    from dartboard.cli.display import Changes
    from dartboard.cli.progress import progress
    from dartboard.runs import SPACE, Run
    from dartboard.space import load_space

    load_plugins(args.plugin)
    run = Run.read(args.resume) if group.rank else Run.resume(args.resume, device=str(device))
    try:
        with progress(quiet=args.quiet) as tell:
            loop = make(run, load_space(str(run.path / SPACE)), tell)
    except BaseException:
        run.close()
        raise
    loop.run = None if group.rank else run
    if not group.rank:
        loop.hooks = (Changes(), *loop.hooks)  # first: before a display draws
    return loop, loop.run


@contextmanager
def opened(run: "Run | None", args: Namespace) -> Iterator[None]:
    """Inside, who is interrupted is told how to go on with the run, which is closed at the end.

    Args:
        run: The run; None on all ranks but the first.
        args: What was typed; `args.command` is the verb.
    """
    with run or nullcontext():
        try:
            yield
        except KeyboardInterrupt:
            if run is None:
                raise
            raise KeyboardInterrupt(f"go on with: {_resume_command(run.path, args)}") from None


def machine(args: Namespace) -> tuple[str | None, int | None]:
    """Device and threads: those asked for, or those of the run that goes on, whose bits depend on them."""
    if args.resume is None:
        return args.device, args.threads
    from dartboard.runs import Run

    last = Run.read(args.resume).environment()[-1]
    shared_anew = last.get("processes", 1) != processes.wanted(args)
    threads = None if shared_anew else last.get("threads")
    wanted = {"device": args.device or last.get("device"), "threads": args.threads or threads}
    if not isinstance(wanted["threads"], int | None) or not isinstance(wanted["device"], str | None):
        raise UsageError(f"{args.resume}: environment.json is damaged; name --threads and --device")
    for name, value in wanted.items():
        if value not in (None, last.get(name)) and not processes.is_silent():
            words = (
                f"the run used {name} {last.get(name)}, now {value}: the result can differ in the last bits"
            )
            print(f"dartboard: {words}", file=sys.stderr)
    return wanted["device"], wanted["threads"]


def fit(
    loop: Fitting[E],
    run: "Run | None",
    args: Namespace,
    display: "Display",
    forecast: Callable[[], str],
    group: "Group | None" = None,
) -> "E | int":
    """What the loop comes to, or the exit code where a signal stopped it.

    Args:
        loop: What is run.
        run: Where it writes; None on all ranks but the first.
        args: What was typed; `args.command` is the verb.
        display: What is seen of it.
        forecast: How long it will take, in words.
        group: The processes that share it; None where it is never shared.
    """
    from dartboard.cli.signals import stop_on_signals

    watch = nullcontext() if run is None else _watched(loop, run, args)
    with watch, stop_on_signals(loop.stop) as caught:
        try:
            if _is_told(display, args, group):
                display.say([forecast()])
            with display:
                result = loop.fit(fall_back=args.fall_back)
            _report(run, args)
            return result
        except (Stopped, KeyboardInterrupt) as stopped:
            _say_stopped(str(stopped) or "interrupted", run, args)
            return SIGNALLED + caught[0] if caught else 0
        except RuntimeError as error:
            if run is None and caught and processes.is_lost(error):
                return SIGNALLED + caught[0]  # the first was interrupted too, and has said how to go on
            if run is None or not processes.is_lost(error):
                raise
            raise DistributedError(
                f"{processes.GONE}; go on with: {_resume_command(run.path, args)}"
            ) from error


def _is_told(display: "Display", args: Namespace, group: "Group | None") -> bool:
    """Whether to say beforehand how long it takes, for which all ranks must take steps together."""
    shows = display.shows and args.resume is None
    return shows if group is None else group.broadcast(lambda: shows)


def _watched(loop: Fitting[E], run: "Run", args: Namespace) -> AbstractContextManager[object]:
    _report_epochs(loop, run, args)
    return tensorboard_hook(loop, run.path, args)


def _say_stopped(words: str, run: "Run | None", args: Namespace) -> None:
    """Say that it has stopped, and how to go on."""
    if run is None:
        return
    if args.live:
        _report(run, args)
    print(f"{words}; go on with: {_resume_command(run.path, args)}", file=sys.stderr)


def _report_epochs(loop: Fitting[E], run: "Run", args: Namespace) -> None:
    """Have a page about the run written after every epoch, if that was asked for."""
    if args.live:
        from dartboard.report import ReportHook

        loop.hooks = (*loop.hooks, ReportHook(run.path, live=True))


def _report(run: "Run | None", args: Namespace) -> None:
    """Write the page about a run, unless none is wanted; what goes wrong there is no more than a warning."""
    if args.no_report or run is None:
        return
    from dartboard.report import try_report

    if (mistake := try_report(run.path)) is not None:
        print(f"dartboard: warning: {printable(mistake)}", file=sys.stderr)


def in_words(forecast: "Callable[[], Forecast]", group: "Group | None" = None) -> str:
    """What a loop will need, or that memory is short.

    Args:
        forecast: Tells it.
        group: The processes that share the loop.

    Raises:
        DistributedError: If memory is short where others wait for this rank.
    """
    from dartboard.engine.memory import is_out_of_memory

    try:
        ahead = forecast()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        if group is not None and group.size > 1:
            raise DistributedError(f"out of memory on rank {group.rank}; set a larger pieces") from error
        return "memory is short: batches will pass in pieces"
    return f"forecast: {span(ahead.seconds)}, {size(ahead.memory_bytes)} of memory"


def _resume_command(path: Path, args: Namespace) -> str:
    return command(args.command, "--resume", path, *tensorboard_words(args), plugins=args.plugin)
