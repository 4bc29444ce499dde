"""Signals that are handled, or held back, for a while."""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from signal import Signals


@contextmanager
def handling(signals: Sequence[Signals], handle: Callable[[Signals], None]) -> Iterator[list[Signals]]:
    """Inside, signals call `handle`; afterwards they do what they did before.

    Args:
        signals: Which.
        handle: Is called with the one that came.

    Yields:
        Those that came, in order.
    """
    caught: list[Signals] = []

    def catch(number: int, _: object) -> None:
        caught.append(Signals(number))
        handle(caught[-1])

    before = {number: signal.signal(number, catch) for number in signals}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def held_back(signals: Sequence[Signals]) -> Iterator[None]:
    """Inside, signals wait until afterwards; processes that start inside do not see them at all."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
