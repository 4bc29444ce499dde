"""Searches and trainings that several processes share: the flag, who starts them, and what each may say."""

import os
import signal
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from dartboard.cli.arguments import UsageError, positive
from dartboard.distributed import world_size
from dartboard.errors import DistributedError
from dartboard.utils.processes import cpu_count

if TYPE_CHECKING:
    import torch

    from dartboard.distributed.group import Group

GRACE = 20.0
"""Seconds that another rank has to say what all have met with, before this one does."""
LOST = ("Connection closed by peer", "Connection reset by peer", "Broken pipe", "remote process exited")
"""What is in the words of torch when another process is gone."""
GONE = "another process that shared the work has ended"


def add_flag(parser: ArgumentParser) -> None:
    """Declare the flag."""
    words = "share every batch among so many processes, one a GPU if there are any (default: 1)"
    parser.add_argument("--processes", type=positive, metavar="N", help=words)


def is_launched() -> bool:
    """Whether this is one of several processes that torchrun, or this program, has started."""
    return world_size() > 1


def wanted(args: Namespace) -> int:
    """How many processes there shall be: as many as asked for, or as the run had that goes on.

    Raises:
        UsageError: If torchrun has started another number of them.
    """
    asked, started = getattr(args, "processes", None), world_size()  # not every verb has the flag
    if started > 1:
        if asked not in (None, started):
            raise UsageError(f"torchrun has started {started} processes; leave out --processes")
        return started
    if asked is None and args.resume is not None:
        from dartboard.runs import Run

        found = Run.read(args.resume).environment()[-1].get("processes", 1)
        return found if isinstance(found, int) and found > 0 else 1
    return asked or 1


def launch(args: Namespace) -> int | None:
    """The exit code of the processes that share the work, if there are several and this is none of them."""
    from dartboard import distributed

    count = wanted(args)
    if args.resume is not None:
        _check_share(args.resume, count)
    if is_launched():
        distributed.end_with_launcher()
        args.quiet = args.quiet or is_silent()
    if count == 1 or is_launched():
        return None
    return distributed.launch(count, args.words)


def _check_share(path: str, count: int) -> None:
    """Raises if the batch of a run, which is settled, cannot be shared out; says who could share it."""
    from dartboard.runs import Run

    batch = Run.read(path).config.get("batch")
    if not isinstance(batch, int) or batch < 1 or batch % count == 0:
        return  # what is no number is complained of by who reads all settings
    even = [own for own in range(1, batch + 1) if batch % own == 0]
    near = [max(own for own in even if own < count), *[own for own in even if own > count][:1]]
    raise UsageError(
        f"the run's batch of {batch} cannot be shared out evenly among {count} processes; go on with "
        f"--processes {' or '.join(map(str, near))}"
    )


def is_silent() -> bool:
    """Whether another process says what there is to say."""
    return is_launched() and os.environ["RANK"] != "0"


def place(device: str | None, threads: int | None) -> tuple[str | None, int | None]:
    """Device and threads of this process, where several share a machine: a GPU each, cores shared out.

    Args:
        device: What was asked for.
        threads: What was asked for.
    """
    if not is_launched():
        return device, threads
    import torch

    own, count = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if torch.cuda.is_available() and (device is None or device.startswith("cuda")):
        if count > torch.cuda.device_count():
            raise UsageError(
                f"{count} processes need a GPU each, and there are {torch.cuda.device_count()}; set --device "
                "cpu or fewer processes"
            )
        device = f"cuda:{own}"
        torch.cuda.set_device(own)
    return device, threads or max(cpu_count() // count, 1)


@contextmanager
def joined(device: "torch.device") -> Iterator["Group"]:
    """Inside, this process shares its work with the others that were started with it, if there are any.

    Raises:
        DistributedError: If another process has ended.
    """
    from dartboard.distributed import process_group

    try:
        with ExitStack() as stack:
            with _ended_by_interrupts():
                group = stack.enter_context(process_group.join_group(device))
            yield group
    except RuntimeError as error:
        if not is_lost(error):
            raise
        raise DistributedError(GONE) from error


@contextmanager
def _ended_by_interrupts() -> Iterator[None]:
    """Inside, Ctrl-C ends a process at once if others were started with it.

    While torch waits for another that has been interrupted on its way here, it hears of nothing else.
    """
    if not is_launched():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def is_lost(error: RuntimeError) -> bool:
    """Whether this is what torch says when another process is gone."""
    return is_launched() and any(words in str(error) for words in LOST)


def let_the_first_speak() -> None:
    """Gives rank 0 time to say what all have met with, upon which the others are ended."""
    if is_silent():
        time.sleep(GRACE)
