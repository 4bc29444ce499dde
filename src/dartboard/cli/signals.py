"""Ctrl-C and SIGTERM while something runs that goes on later.

For a search, the first asks it to save and stop, the second ends it at once.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from signal import SIGINT, SIGTERM, Signals
from typing import TYPE_CHECKING

from dartboard.cli.processes import is_launched, is_silent
from dartboard.utils.signals import handling

if TYPE_CHECKING:
    pass

NOTICE = b"dartboard: stopping after this step; once more to stop at once\n"
SHARED = b"dartboard: stopping as soon as all processes have agreed on a step\n"
SIGNALS = (SIGINT, SIGTERM)


@contextmanager
def stop_on_signals(stop: Callable[[], None]) -> Iterator[list[Signals]]:
    """Inside, a first signal calls `stop` and a second raises KeyboardInterrupt.

    Yields:
        The signals that came, in order.
    """
    asked = False

    def handle(_: Signals) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        if not is_silent():
            os.write(2, SHARED if is_launched() else NOTICE)  # not print: it may be in the middle of one
        stop()

    with handling(SIGNALS, handle) as caught:
        yield caught


@contextmanager
def interrupt_on_signals() -> Iterator[list[Signals]]:
    """Inside, every signal raises KeyboardInterrupt, SIGTERM too: for what keeps all that is finished anyway.

    Yields:
        The signals that came, in order.
    """

    def handle(_: Signals) -> None:
        raise KeyboardInterrupt

    with handling(SIGNALS, handle) as caught:
        yield caught


SIGNALLED = 128  # a shell adds the number of the signal
