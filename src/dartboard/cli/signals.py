"""Ctrl-C and SIGTERM while something runs that goes on later.

For a search, the first asks it to save and stop, the second ends it at once.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from dartboard.cli.processes import is_launched, is_silent

NOTICE = b"dartboard: stopping after this step; once more to stop at once\n"
SHARED = b"dartboard: stopping as soon as all processes have agreed on a step\n"
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_on_signals(stop: Callable[[], None]) -> Iterator[list[int]]:
    """Inside, a first signal calls `stop` and a second raises KeyboardInterrupt.

    Yields:
        The numbers of the signals that came, in order.
    """
    caught: list[int] = []

    def handle(number: int, _: FrameType | None) -> None:
        caught.append(number)
        if len(caught) > 1:
            raise KeyboardInterrupt
        if not is_silent():
            os.write(2, SHARED if is_launched() else NOTICE)  # not print: it may be in the middle of one
        stop()

    before = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def interrupt_on_signals() -> Iterator[list[int]]:
    """Inside, every signal raises KeyboardInterrupt, SIGTERM too: for what keeps all that is finished anyway.

    Yields:
        The numbers of the signals that came, in order.
    """
    caught: list[int] = []

    def handle(number: int, _: FrameType | None) -> None:
        caught.append(number)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
