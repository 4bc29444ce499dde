import pytest

from dartboard.cli.render import align_columns

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
