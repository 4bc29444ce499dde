"""Processes that share a search or a training, and the signals that stop them.

Of several processes rank 0 prints for all. What can be resumed stops and saves at the first Ctrl-C or
SIGTERM, and ends at once at the second.
"""

import os
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from signal import SIGINT, SIGTERM, Signals
from typing import TYPE_CHECKING

from dartboard.cli.arguments import UsageError
from dartboard.cli.exit_codes import SIGNALLED
from dartboard.distributed import world_size
from dartboard.errors import DistributedError
from dartboard.runs.directory import RunReader
from dartboard.utils.processes import cpu_count, handling

if TYPE_CHECKING:
    import torch

    from dartboard.distributed.group import Group

GRACE = 20.0
"""Seconds that other ranks leave rank 0 to print an error that all ranks have."""
LOST = ("Connection closed by peer", "Connection reset by peer", "Broken pipe", "remote process exited")
"""Parts of torch's error messages when another process is gone."""
GONE = "another process that shared the work has ended"
NOTICE = b"dartboard: stopping after this step; once more to stop at once\n"
SHARED = b"dartboard: stopping as soon as all processes have agreed on a step\n"
SIGNALS = (SIGINT, SIGTERM)


def is_launched() -> bool:
    """True in one of several processes that torchrun, or this program, has started."""
    return world_size() > 1


def process_count(args: Namespace) -> int:
    """The number of processes: as requested, or as many as a resumed run had.

    Raises:
        UsageError: If torchrun has started another number of them.
    """
    requested, started = getattr(args, "processes", None), world_size()  # not every command has the flag
    if started > 1:
        if requested not in (None, started):
            raise UsageError(f"torchrun has started {started} processes; leave out --processes")
        return started
    if requested is None and args.resume is not None:
        recorded = RunReader.read(args.resume).environment()[-1].get("processes", 1)
        return recorded if isinstance(recorded, int) and recorded > 0 else 1
    return requested or 1


def launch(args: Namespace) -> int | None:
    """Start the processes that share the work and return their exit code.

    Returns None in one of these processes, or if one process is enough: then this one does the work.

    Raises:
        UsageError: If the batch size of a resumed run cannot be divided by the number of processes.
    """
    from dartboard import distributed

    count = process_count(args)
    batch = None if args.resume is None else RunReader.read(args.resume).config.get("batch")
    # A batch size that is not a number is refused when all settings are read.
    if isinstance(batch, int) and batch >= 1 and batch % count:
        divisors = [number for number in range(1, batch + 1) if batch % number == 0]
        below = max(number for number in divisors if number < count)
        near = [below, *[number for number in divisors if number > count][:1]]
        raise UsageError(
            f"the run's batch of {batch} cannot be shared out evenly among {count} processes; resume with "
            f"--processes {' or '.join(map(str, near))}"
        )
    if is_launched():
        distributed.end_with_launcher()
        args.quiet = args.quiet or is_silent()
    if count == 1 or is_launched():
        return None
    return distributed.launch(count, args.words)


def is_silent() -> bool:
    """True in all processes that share the work but rank 0, which prints for all."""
    return is_launched() and os.environ["RANK"] != "0"


def local_device(device: str | None, threads: int | None) -> tuple[str | None, int | None]:
    """Device and threads of this process; of several on a machine each gets a GPU, or its part of cores."""
    if not is_launched():
        return device, threads
    import torch

    rank, count = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if torch.cuda.is_available() and (device is None or device.startswith("cuda")):
        if count > torch.cuda.device_count():
            raise UsageError(
                f"{count} processes need a GPU each, and there are {torch.cuda.device_count()}; set --device "
                "cpu or fewer processes"
            )
        device = f"cuda:{rank}"
        torch.cuda.set_device(rank)
    return device, threads or max(cpu_count() // count, 1)


@contextmanager
def joined(device: "torch.device") -> Iterator["Group"]:
    """Inside, this process is in a group with those that were started with it, if there are any.

    Raises:
        DistributedError: If another process has ended.
    """
    from dartboard.distributed import process_group

    try:
        with ExitStack() as stack:
            # Torch ignores interrupts while it waits for another process, which may have been interrupted
            # itself: until the group is there, Ctrl-C ends a process that others were started with.
            before = signal.signal(SIGINT, signal.SIG_DFL) if is_launched() else None
            try:
                group = stack.enter_context(process_group.join_group(device))
            finally:
                if is_launched():
                    signal.signal(SIGINT, before)
            yield group
    except RuntimeError as error:
        if not is_lost(error):
            raise
        raise DistributedError(GONE) from error


def is_lost(error: RuntimeError) -> bool:
    """True if this is the error that torch raises when another process is gone."""
    return is_launched() and any(words in str(error) for words in LOST)


@contextmanager
def stop_on_signals(stop: Callable[[], None]) -> Iterator[list[Signals]]:
    """Inside, a first signal calls `stop` and a second raises KeyboardInterrupt.

    Yields:
        The signals that came, in order.
    """
    stopping = False

    def handle(_: Signals) -> None:
        nonlocal stopping
        if stopping:
            raise KeyboardInterrupt
        stopping = True
        if not is_silent():
            os.write(2, SHARED if is_launched() else NOTICE)  # not print: it may be in the middle of one
        stop()

    with handling(SIGNALS, handle) as caught:
        yield caught


@contextmanager
def interrupt_on_signals() -> Iterator[list[Signals]]:
    """Inside, every signal raises KeyboardInterrupt, SIGTERM too: for work whose finished parts are saved.

    Yields:
        The signals that came, in order.
    """

    def handle(_: Signals) -> None:
        raise KeyboardInterrupt

    with handling(SIGNALS, handle) as caught:
        yield caught


def report_stop(
    stop: BaseException, signals: list[Signals], resume: str = "run the same command to resume"
) -> int:
    """Print that `stop` ended the work and how to resume it; returns the exit code for the first signal."""
    print(f"{str(stop) or 'interrupted'}; {resume}", file=sys.stderr)
    return SIGNALLED + signals[0] if signals else 0
