import pytest

from dartboard.cli.render import format_bytes
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
