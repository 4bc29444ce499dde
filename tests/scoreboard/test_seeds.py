import pytest

from dartboard.scoreboard.seeds import as_seeds, parse_seeds


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("7", (7,)), ("0-3", (0, 1, 2, 3)), ("0,3,5", (0, 3, 5)), ("0-1, 5-6", (0, 1, 5, 6)), ("4-4", (4,))],
)
def test_seeds_in_words(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds
    assert as_seeds(text) == seeds


def test_one_number_is_one_seed() -> None:
    assert as_seeds(5) == (5,)
    assert as_seeds([5, 6]) == [5, 6]


def test_what_cannot_be_seeds() -> None:
    with pytest.raises(ValueError, match="expected seeds such as 0-9, 0,3,5 or 7, got 'x'"):
        as_seeds("x")
