"""Handlers of signals, for a while."""

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
