import signal
from signal import SIGUSR1, SIGUSR2, Signals

import pytest

from dartboard.utils.processes import handling, held_back


def test_signals_are_handled_inside_and_as_before_afterwards() -> None:
    before = [signal.getsignal(own) for own in (SIGUSR1, SIGUSR2)]
    heard: list[Signals] = []
    with handling((SIGUSR1, SIGUSR2), heard.append) as caught:
        for own in (SIGUSR2, SIGUSR1, SIGUSR2):
            signal.raise_signal(own)
        assert heard == caught == [SIGUSR2, SIGUSR1, SIGUSR2]
    assert [signal.getsignal(own) for own in (SIGUSR1, SIGUSR2)] == before


def test_one_that_raises_was_caught_and_is_as_before_afterwards() -> None:
    before = signal.getsignal(SIGUSR1)

    def refuse(own: Signals) -> None:
        raise KeyboardInterrupt(own.name)

    with pytest.raises(KeyboardInterrupt, match="SIGUSR1"), handling([SIGUSR1], refuse) as caught:
        signal.raise_signal(SIGUSR1)
    assert caught == [SIGUSR1]
    assert signal.getsignal(SIGUSR1) == before


def test_no_signal_is_no_handler() -> None:
    with handling((), pytest.fail) as caught:
        assert caught == []


def test_what_is_held_back_comes_afterwards() -> None:
    heard: list[Signals] = []
    with handling([SIGUSR1], heard.append):
        with held_back([SIGUSR1]):
            signal.raise_signal(SIGUSR1)
            assert heard == []
        assert heard == [SIGUSR1]
