import pytest

from dartboard.utils.text import plural, printable


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
