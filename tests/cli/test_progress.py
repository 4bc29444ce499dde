import io
import sys

import pytest

from dartboard.cli import progress as module
from dartboard.cli.progress import progress


class Clock:
    """A time that passes only when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def test_what_is_quick_shows_nothing(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as tell:
        for done in range(10):
            tell("reading", done, 10)
            clock.now += 0.09
    assert capsys.readouterr() == ("", "")


def test_lines_now_and_then_where_there_is_no_terminal(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress() as tell:
        for done in range(100):
            tell("reading", done, 100)
            clock.now += 0.125
        tell("counting", 12_345, 0)
        clock.now += 5
        tell("counting", 23_456, 0)
    assert capsys.readouterr() == ("", "reading: 8%\nreading: 48%\nreading: 88%\ncounting: 23,456\n")


def test_nothing_is_shown_where_that_is_asked_for(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with progress(quiet=True) as tell:
        clock.now += 10
        tell("reading", 1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_bar_on_a_terminal(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with progress() as tell:
        tell("reading", 1, 10)
        assert screen.getvalue() == ""
        clock.now += 2
        tell("reading", 5, 10)
        clock.now += 2
        tell("unpacking", 3, 4)
    shown = screen.getvalue()
    assert "reading" in shown
    assert "unpacking" in shown
    assert "75%" in shown
    assert shown.endswith("\x1b[2K")  # the bar is gone


def test_an_error_leaves_no_bar(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("FORCE_COLOR", "1")

    def fail() -> None:
        with progress() as tell:
            clock.now += 2
            tell("reading", 5, 10)
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        fail()
    assert "\x1b[?25h" in screen.getvalue()  # the cursor is back
