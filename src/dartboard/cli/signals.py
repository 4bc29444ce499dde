"""Ctrl-C and SIGTERM while something runs that can be resumed.

A search stops and saves at the first signal, and ends at once at the second.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from signal import SIGINT, SIGTERM, Signals

from dartboard.cli.processes import is_launched, is_silent
from dartboard.utils.processes import handling

NOTICE = b"dartboard: stopping after this step; once more to stop at once\n"
SHARED = b"dartboard: stopping as soon as all processes have agreed on a step\n"
SIGNALS = (SIGINT, SIGTERM)
SIGNALLED = 128  # a shell adds the number of the signal


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


def report_stop(stop: BaseException, signals: list[Signals], resume: str = "the same command goes on") -> int:
    """Print that the work has stopped and how to resume it, and return the exit code.

    Args:
        stop: The `Stopped` or `KeyboardInterrupt` that ended it.
        signals: The signals that came, in order.
        resume: How to resume.
    """
    print(f"{str(stop) or 'interrupted'}; {resume}", file=sys.stderr)
    return SIGNALLED + signals[0] if signals else 0
