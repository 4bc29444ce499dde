"""A block that must not hang."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 300.0
"""Far more than a command waits for its turn on a busy machine."""


@contextmanager
def alarm() -> Iterator[None]:
    """Raises where the block hangs: waits for what never comes."""

    def ring(*_: object) -> None:
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
