import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dartboard_papers.formatting import (
    as_sentence,
    escape_cell,
    format_chance,
    format_p,
    format_seconds,
    format_seeds,
    format_setting,
    format_value,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        ("below 1", "below 1"),
        (3, "3"),
        (3.0, "3"),
        (0.0, "0"),
        (0.123456, "0.1235"),
        (94.3712, "94.37"),
        (-1234.56, "-1,235"),
        (1e6, "1,000,000"),
        (1e20, "1e+20"),
        (1.5e-7, "1.5e-07"),
        (math.inf, "inf"),
    ],
)
def test_numbers(value: float | str | None, text: str) -> None:
    assert format_value(value) == text


@given(st.floats(1e-9, 1e14))
def test_numbers_keep_four_digits(value: float) -> None:
    assert float(format_value(value).replace(",", "")) == pytest.approx(value, rel=5.1e-4)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.6, "1 min"), (1800, "30 min"), (5400, "1.5 h")],
)
def test_times(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_sentences_begin_and_end() -> None:
    assert as_sentence("it rains") == "It rains."
    assert as_sentence("It rains.") == "It rains."
    assert as_sentence("XNAS wins!") == "XNAS wins!"


def test_repetitions() -> None:
    assert [format_seeds(seeds) for seeds in (0, 1, 1500)] == [
        "nothing is left to chance",
        "one seed",
        "1,500 seeds",
    ]


def test_texts_in_tables_are_one_line() -> None:
    assert escape_cell("a | b\nc") == "a \\| b c"


def test_settings_are_bare_where_they_can_be() -> None:
    assert format_setting("records", "results/nb201") == "records=results/nb201"
    assert format_setting("name", "3") == 'name="3"'
    assert format_setting("rates", [0.1, 1]) == "rates=[0.1, 1]"
    assert format_setting("table", None) == "table=null"


TEXTS = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")))


@given(TEXTS | st.integers() | st.booleans() | st.none() | st.lists(st.integers()))
def test_settings_are_read_back_as_they_were(value: object) -> None:
    assert yaml.safe_load(format_setting("key", value).removeprefix("key=")) == value


@pytest.mark.parametrize(("p", "text"), [(0.0004, "p < 0.001"), (0.001, "p 0.001"), (0.25, "p 0.250")])
def test_p_values(p: float, text: str) -> None:
    assert format_p(p) == text


@pytest.mark.parametrize(
    ("chance", "text"),
    [
        (None, "nothing is left to chance"),
        (0.05, "passes by chance 5 % of the time"),
        (0.0002, "passes by chance less than 0.1 % of the time"),
    ],
)
def test_chances(chance: float | None, text: str) -> None:
    assert format_chance(chance) == text
