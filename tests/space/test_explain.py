import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from dartboard.space._explain import explain, listed, shown

KEYS = {"top": ("name", "part"), "": ("size", "kind")}


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")

    size: int


class Whole(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    part: list[Part] = []


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ({}, "name: field required"),
        ({"nmae": "a"}, "no key called 'nmae'; did you mean 'name'?"),
        (
            {"name": "a", "part": [{"size": 1, "sise": 2}]},
            "part.0: no key called 'sise'; did you mean 'size'?",
        ),
        ({"name": "a", "part": [{"size": "big"}]}, "part.0.size: expected a valid integer"),
        ({"name": 3}, "name: expected a valid string, got 3"),
    ],
)
def test_a_complaint_is_one_line_with_the_place(data, line):
    with pytest.raises(ValidationError) as caught:
        Whole.model_validate(data)
    message = explain(caught.value, KEYS)
    assert message.startswith(line)
    assert "\n" not in message


def test_values_are_shown_short_and_in_one_line():
    assert shown("a\nb") == r"'a\nb'"
    assert len(shown("x" * 1000)) == 63


def test_long_lists_are_cut():
    assert listed("abc") == "a, b, c"
    assert listed("abcdefgh") == "a, b, c, d, e, f and 2 more"
