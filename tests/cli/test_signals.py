import signal

import pytest

from dartboard.cli.signals import SIGNALS, interrupt_on_signals, stop_on_signals


@pytest.mark.parametrize("number", SIGNALS)
def test_a_first_signal_asks_to_stop(number: signal.Signals) -> None:
    asked: list[str] = []
    with stop_on_signals(lambda: asked.append("stop")) as caught:
        assert asked == []
        signal.raise_signal(number)
        assert asked == ["stop"]
    assert caught == [number]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_second_signal_interrupts(number: signal.Signals) -> None:
    asked: list[str] = []
    with stop_on_signals(lambda: asked.append("stop")):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert asked == ["stop"]


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with stop_on_signals(lambda: None):
        assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_interrupts_at_once_where_that_is_asked_for(number: signal.Signals) -> None:
    before = [signal.getsignal(own) for own in SIGNALS]
    with pytest.raises(KeyboardInterrupt), interrupt_on_signals() as caught:
        signal.raise_signal(number)
    assert caught == [number]
    assert [signal.getsignal(own) for own in SIGNALS] == before
