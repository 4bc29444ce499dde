import io
import json
import math
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from dartboard.cli import render as module
from dartboard.cli.render import align_columns, as_json, format_bytes, progress, write_all
from dartboard.utils.text import span


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0 s"),
        (0.4, "0 s"),
        (8, "8 s"),
        (59.6, "1 min"),
        (200, "3 min 20 s"),
        (3600, "1 h"),
        (3605, "1 h"),
        (18600, "5 h 10 min"),
        (187200, "2 d 4 h"),
    ],
)
def test_times(seconds: float, words: str) -> None:
    assert span(seconds) == words


@pytest.mark.parametrize(
    ("count", "words"), [(12, "12 bytes"), (2500, "2.5 kB"), (388_100_000, "388.1 MB"), (10**10, "10.0 GB")]
)
def test_sizes(count: int, words: str) -> None:
    assert format_bytes(count) == words


ROWS = [("", "width"), ("darts", "3"), ("a", "10.25")]


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        (0, ["      width", "darts     3", "    a 10.25"]),
        (1, ["      width", "darts     3", "a     10.25"]),
        (2, ["      width", "darts 3    ", "a     10.25"]),
    ],
)
def test_columns_begin_at_the_left_or_end_at_the_right(left: int, expected: list[str]) -> None:
    assert [" ".join(row) for row in align_columns(ROWS, left)] == expected


def test_rows_of_another_length_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="shorter"):
        list(align_columns([("a", "b"), ("c",)], 1))


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


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
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
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")

    def fail() -> None:
        with progress() as tell:
            clock.now += 2
            tell("reading", 5, 10)
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        fail()
    assert "\x1b[?25h" in screen.getvalue()  # the cursor is back


def no_constant(name: str) -> float:
    raise AssertionError(f"{name} is not JSON")


def test_what_is_not_finite_is_null() -> None:
    numbers = {"a": [1.5, math.nan, (math.inf, "x")], "b": {"c": -math.inf, "d": None}, "e": 3}
    found = json.loads(as_json(numbers), parse_constant=no_constant)
    assert found == {"a": [1.5, None, [None, "x"]], "b": {"c": None, "d": None}, "e": 3}


def test_pictures_and_numbers_are_written_to_a_folder_that_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "new/out"
    write_all(folder, {"picture": Figure((1, 1))}, "numbers.json", {"loss": math.inf})
    assert {path.name for path in folder.iterdir()} == {"picture.svg", "picture.png", "numbers.json"}
    assert json.loads((folder / "numbers.json").read_text()) == {"loss": None}
