"""What the commands share that run a loop of epochs: flags, the run directory, stopping and resuming."""

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dartboard.cli import processes
from dartboard.cli.arguments import RUNS, UsageError, add_plugins, load_plugins, positive, prepare_device
from dartboard.cli.exit_codes import SIGNALLED
from dartboard.cli.processes import report_stop, stop_on_signals
from dartboard.cli.render import format_bytes, print_json, progress
from dartboard.errors import DistributedError, OptionError, Stopped
from dartboard.integrations import TRACKERS
from dartboard.utils.text import command, printable, span

if TYPE_CHECKING:
    import torch

    from dartboard.cli.display import Display, LiveDisplay
    from dartboard.distributed.group import Group
    from dartboard.engine.config import LoopOptions
    from dartboard.engine.hooks import AnyHook
    from dartboard.engine.loop import Loop, LoopResult
    from dartboard.runs import Run
    from dartboard.search.config import SearchConfig
    from dartboard.search.searcher import Forecast
    from dartboard.utils.progress import Progress

EPOCHS = "epochs="
"""How a word begins that sets the number of epochs."""
E = TypeVar("E", bound="LoopResult")
E_co = TypeVar("E_co", bound="LoopResult", covariant=True)


class RunsLoop(Protocol[E_co]):
    """A search, a training or a protocol: it runs to its end, and can be asked to save and stop."""

    hooks: "tuple[AnyHook, ...]"

    def stop(self) -> None:
        """Ask to save and stop."""

    def fit(self, *, fall_back: bool = False) -> E_co:
        """Run to the end."""


def add_flags(parser: ArgumentParser, *, out: str) -> None:
    """Declare the flags that searches and trainings share; `out` is the default name of the run directory."""
    add = parser.add_argument
    add("--recipe", metavar="R", help="the settings of a paper; see dartboard list recipes")
    add("--config", metavar="FILE", help="settings in YAML, such as the config.yaml of a run")
    add("--data", metavar="D", help="images: a folder, a file, or one of dartboard list datasets")
    add("--epochs", type=positive, metavar="N", help="passes over the images")
    add("--seed", type=int, metavar="N", help="random seed")
    about = "processes that share every batch, one for each GPU if there are any (default: 1)"
    add("--processes", type=positive, metavar="N", help=about)
    add_run_flags(parser, out=out)


def add_run_flags(parser: ArgumentParser, *, out: str) -> None:
    """Declare the flags of all commands that write a run, by default to the directory `out`."""
    add = parser.add_argument
    for name, tracker in TRACKERS.items():
        add(f"--{name}", metavar=tracker.metavar, help=tracker.about)
    add_plugins(parser)
    add("--out", metavar="DIR", help=f"run directory (default: {out})")
    add("--resume", metavar="DIR", help="resume a run that was stopped or killed")
    add("--fall-back", action="store_true", help="resume from an older checkpoint if the last is damaged")
    add("--device", metavar="D", help="device to compute on (default: cuda if there is one, else cpu)")
    add("--threads", type=positive, metavar="N", help="CPU threads (default: torch's choice)")
    add("--no-report", action="store_true", help="write no report.html at the end")
    add("--live", action="store_true", help="write report.html after every epoch; the page refreshes itself")
    add("--quiet", action="store_true", help="print only the result")
    add("--json", action="store_true", help="print one JSON object at the end, and nothing else")


def check_flags(args: Namespace, settings: Sequence[str], kind: str) -> None:
    """Refuse flags that contradict each other, and with --resume `settings` and runs of another kind.

    A search and a training that are resumed can be given other epochs: then `args.epochs` has them.

    Raises:
        UsageError: Says which flag to leave out or to add.
    """
    names = [name for name in (*settings, "recipe", "config", "out") if getattr(args, name, None) is not None]
    if args.resume is not None and (names or args.overrides):
        overrides = list(args.overrides)
        if kind in ("search", "train"):
            names = [name for name in names if name != "epochs"]
            overrides = [word for word in overrides if not word.startswith(EPOCHS)]
        if names or overrides:
            words = ", ".join([*(f"--{name.replace('_', '-')}" for name in names), *overrides])
            more = "" if kind == "protocol" else " (of all settings, only epochs can be changed)"
            raise UsageError(f"--resume takes the settings of the run; leave out {words}{more}")
        for word in args.overrides:
            try:
                args.epochs = positive(word.removeprefix(EPOCHS))
            except ArgumentTypeError as error:
                raise UsageError(f"{word}: {error}") from None
    if args.live and args.no_report:
        raise UsageError("--live writes a report and --no-report writes none; leave out one of them")
    if args.fall_back and args.resume is None:
        raise UsageError("--fall-back chooses among the checkpoints of a run; name the run with --resume")
    for name, place in tracker_flags(args).items():
        hook = TRACKERS[name].hook()
        hook.check_installed()
        try:
            hook.check_place(place)
        except OptionError as error:
            raise UsageError(f"--{name} {place} {error}") from None
    if args.resume is not None:
        from dartboard.runs import RunReader

        actual = RunReader.read(args.resume).config.get("kind", "search")
        if actual != kind:
            again = f"dartboard {actual} --resume {args.resume}"
            raise UsageError(f"{args.resume} is a run of dartboard {actual}; resume it with: {again}")


def tracker_flags(args: Namespace) -> dict[str, str]:
    """The trackers that flags ask for, with the values of the flags."""
    return {name: value for name in TRACKERS if (value := getattr(args, name)) is not None}


def search_name(config: "SearchConfig") -> str:
    """The name of a search's run directory."""
    parts = (config.method.name, Path(config.space.name).stem, Path(config.data.name).stem, f"s{config.seed}")
    return "-".join(parts)


def claim_directory(out: str | None, name: str) -> Path:
    """The directory for a new run: `out`, or the first free one of this name in `RUNS`.

    The latter is made at once, so that two programs that start together get different ones.
    """
    if out is not None:
        return Path(out)
    for number in count(1):
        path = RUNS / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path
    raise AssertionError("numbers never end")


@contextmanager
def resumed(
    args: Namespace, device: "torch.device", group: "Group | None" = None
) -> Iterator[tuple["Run", "Progress"]]:
    """Inside, a loop is made from the run `args.resume`, which rank 0 alone writes; an error closes it.

    Yields:
        The run, and a callback that shows how far the loading of images is.
    """
    from dartboard.runs import Run

    load_plugins(args.plugin)
    reads = group is not None and group.rank > 0
    run = Run.read(args.resume) if reads else Run.resume(args.resume, device=str(device))
    try:
        with progress(quiet=args.quiet) as report_progress:
            yield run, report_progress
    except BaseException:
        run.close()
        raise


def epoch_changes(args: Namespace, run: "Run", options: "LoopOptions") -> dict[str, Any]:
    """The settings of a resumed run that change because other epochs were requested."""
    epochs = getattr(args, "epochs", None)
    if epochs is None:
        return {}
    from dartboard.engine.extension import other_epochs

    return other_epochs(run, options, epochs, fall_back=args.fall_back) or {}


def describe_seam(loop: "Loop[Any, Any]") -> str:
    """What changes where the newest schedules of a run begin; empty if it has had one length alone."""
    if not loop.plan.history or loop.plan.epochs == loop.plan.history[-1][0]:
        return ""
    until, before = loop.plan.history[-1]
    rates = f"{loop.learning_rate(until - 1):.3g} to {loop.learning_rate(until):.3g}"
    return (
        f"schedules are for {loop.plan.epochs} epochs instead of {before} from epoch {until + 1} on; there "
        f"the learning rate goes from {rates}"
    )


def device_and_threads(args: Namespace) -> tuple[str | None, int | None]:
    """The requested device and threads, by default those of a resumed run, whose bits depend on them.

    Raises:
        UsageError: If the run does not say them.
    """
    if args.resume is None:
        return args.device, args.threads
    from dartboard.runs import RunReader

    last = RunReader.read(args.resume).environment()[-1]
    resized = last.get("processes", 1) != processes.process_count(args)
    threads = None if resized else last.get("threads")
    chosen = {"device": args.device or last.get("device"), "threads": args.threads or threads}
    if not isinstance(chosen["threads"], int | None) or not isinstance(chosen["device"], str | None):
        raise UsageError(f"{args.resume}: environment.json is damaged; name --threads and --device")
    for name, value in chosen.items():
        if value not in (None, last.get(name)) and not processes.is_silent():
            change = f"the run used {name} {last.get(name)}, now {value}"
            print(f"dartboard: {change}: the result can differ in the last bits", file=sys.stderr)
    return chosen["device"], chosen["threads"]


def run_loop(
    args: Namespace,
    make: "Callable[[Namespace, torch.device, list[AnyHook], Group], Loop[Any, E]]",
    screen: "type[LiveDisplay]",
    *,
    describe: Callable[[Any], str],
    forecast: "Callable[[Any], Forecast]",
    print_result: "Callable[[E, Path, Sequence[str]], None]",
) -> int:
    """Run a search or a training in this process and those that share it, and print the result.

    Args:
        args: The parsed arguments.
        make: Makes the loop, with a run on rank 0 alone: a new one, or the one to resume.
        screen: What is shown of it on a terminal.
        describe: Says in one line what it does.
        forecast: Measures a few steps, and returns what it will need.
        print_result: Prints the result, given the directory of the run and the plugins.
    """
    from dartboard.cli.display import Changes, choose_display

    device = prepare_device(*processes.local_device(*device_and_threads(args)))
    with processes.joined(device) as group:
        display = choose_display(quiet=args.quiet or group.rank > 0, json=args.json, live=screen)
        hooks: list[AnyHook] = [display] if args.resume is None or group.rank > 0 else [Changes(), display]
        loop = make(args, device, hooks, group)
        run = loop.run
        with run or nullcontext():
            try:
                if run is not None:
                    notes = [loop.taken if args.resume is None else "", describe_seam(loop)]
                    lines = [f"{describe(loop)}, on {device}", *filter(None, notes)]
                    display.say([*lines, f"writing to {run.path}"])
                result = fit(loop, run, args, display, lambda: forecast(loop), group)
            except KeyboardInterrupt:
                if run is None:
                    raise
                raise KeyboardInterrupt(_how_to_resume(run.path, args)) from None
    if isinstance(result, int):
        return result
    if run is not None and args.json:
        print_json({"run": str(run.path)} | result.facts())
    elif run is not None:
        print_result(result, run.path, args.plugin)
    return 0


def fit(
    loop: RunsLoop[E],
    run: "Run | None",
    args: Namespace,
    display: "Display",
    forecast: "Callable[[], Forecast]",
    group: "Group | None" = None,
) -> "E | int":
    """Run a loop; returns its result, or the exit code if a signal stopped it.

    The run is None on all ranks but the first, the group if the loop is never shared.
    """
    with _hooks(loop, run, args), stop_on_signals(loop.stop) as caught:
        try:
            shows = display.shows and args.resume is None
            if shows if group is None else group.any(shows):  # all ranks take the steps
                display.say([forecast_text(forecast, group)])
            with display:
                result = loop.fit(fall_back=args.fall_back)
            _write_report(run, args)
            return result
        except (Stopped, KeyboardInterrupt) as stop:
            if run is None:
                return SIGNALLED + caught[0] if caught else 0
            if args.live:
                _write_report(run, args)
            return report_stop(stop, caught, _how_to_resume(run.path, args))
        except RuntimeError as error:
            if run is None and caught and processes.is_lost(error):
                return SIGNALLED + caught[0]  # rank 0 was interrupted too, and has said how to resume
            if run is None or not processes.is_lost(error):
                raise
            raise DistributedError(f"{processes.GONE}; {_how_to_resume(run.path, args)}") from error


@contextmanager
def _hooks(loop: RunsLoop[E], run: "Run | None", args: Namespace) -> Iterator[None]:
    """Inside, the loop has the hooks of `--live` and of the flags of trackers."""
    if run is not None and args.live:
        from dartboard.report import ReportHook

        loop.hooks = (*loop.hooks, ReportHook(run.path, live=True))
    with ExitStack() as stack:
        if run is not None:
            for name, place in tracker_flags(args).items():
                hook = stack.enter_context(TRACKERS[name].hook().of_command(place, run.path))
                loop.hooks = (*loop.hooks, hook)
        yield


def _write_report(run: "Run | None", args: Namespace) -> None:
    """Write the page about a run unless `--no-report` is given; a failure is only a warning."""
    if args.no_report or run is None:
        return
    from dartboard.report import try_report

    if (reason := try_report(run.path)) is not None:
        print(f"dartboard: warning: {printable(reason)}", file=sys.stderr)


def _how_to_resume(path: Path, args: Namespace) -> str:
    trackers = [word for name, place in tracker_flags(args).items() for word in (f"--{name}", place)]
    return f"resume with: {command(args.command, '--resume', path, *trackers, plugins=args.plugin)}"


def forecast_text(forecast: "Callable[[], Forecast]", group: "Group | None") -> str:
    """What a loop will need, or that memory is short.

    Raises:
        DistributedError: If memory is short where other ranks wait for this one.
    """
    from dartboard.engine.process import is_out_of_memory

    try:
        needs = forecast()
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        if group is not None and group.size > 1:
            raise DistributedError(f"out of memory on rank {group.rank}; set a larger pieces") from error
        return "memory is short: batches will pass in pieces"
    return f"forecast: {span(needs.seconds)}, {format_bytes(needs.memory_bytes)} of memory"
