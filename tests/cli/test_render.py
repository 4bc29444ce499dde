import pytest

from dartboard.cli.render import align_columns, format_bytes
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
