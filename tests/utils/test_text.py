import io

import pytest

from dartboard.utils.text import VisibleStream, plural, printable, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Grüße, 猫 1.png", "Grüße, 猫 1.png"),
        ("a\x1b[31mb\n", "a\\x1b[31mb\\n"),
        ("\udcff\u202e\x7f", "\\udcff\\u202e\\x7f"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_one_is_not_many() -> None:
    assert [plural(count, "epoch") for count in (0, 1, 2)] == ["0 epochs", "1 epoch", "2 epochs"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Grüße, 猫\t1.png\n", "Grüße, 猫\t1.png\n"),
        ("a\x1b[31mb\r\n", "a\\x1b[31mb\\r\n"),
        ("\u202e\x7f\x9b\u2028\x00", "\\u202e\\x7f\\x9b\\u2028\\x00"),
        ("a\u200db", "a\u200db"),  # joins letters in some scripts
    ],
)
def test_control_characters_are_visible_and_lines_stay(text: str, shown: str) -> None:
    stream = io.StringIO()
    assert visible(text) == visible(shown) == shown
    assert VisibleStream(stream).write(text) == len(text)
    VisibleStream(stream).writelines([text])
    assert stream.getvalue() == shown * 2
