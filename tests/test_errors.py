import inspect
import pickle

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from dartboard import errors
from dartboard.errors import (
    DartboardError,
    DuplicateNameError,
    UnknownNameError,
    join_names,
    one_line,
    short_repr,
    validation_message,
)

CLASSES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", CLASSES)
def test_all_errors_have_one_root(kind: type[Exception]) -> None:
    assert issubclass(kind, DartboardError)


def test_a_message_reads_as_it_was_written() -> None:
    error = UnknownNameError("op", "sep_conv_3x4", ["sep_conv_3x3", "none"])
    assert str(error) == "no op called 'sep_conv_3x4'; did you mean 'sep_conv_3x3'?"
    assert isinstance(error, KeyError)


def test_an_error_comes_back_from_another_process_as_it_was() -> None:
    error = UnknownNameError("op", "sep_conv_3x4", ["sep_conv_3x3", "none"], "; see ops")
    assert str(error).endswith("'sep_conv_3x3'?; see ops")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(again) is UnknownNameError
    assert str(again) == str(error)


def test_what_an_error_says_is_one_line() -> None:
    assert one_line(ValueError(" two\n  lines ")) == "two lines"
    assert one_line(KeyboardInterrupt()) == "KeyboardInterrupt"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (FileNotFoundError(2, "No such file", "/proc/foo"), "cannot read or write /proc/foo: No such file"),
        (OSError(18, "Invalid link", "a", None, "b"), "cannot read or write a or b: Invalid link"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (OSError("what others say"), "what others say"),
    ],
)
def test_errors_of_the_system_are_in_words(error: OSError, words: str) -> None:
    assert one_line(error) == words


def test_a_duplicate_name_comes_back_from_another_process_too() -> None:
    error = DuplicateNameError("op", "none", "a.py:1", "b.py:2")
    assert str(error) == "op 'none' is registered already by a.py:1, and again by b.py:2; choose another name"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301


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
def test_a_complaint_is_one_line_with_the_place(data: object, line: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Whole.model_validate(data)
    message = validation_message(caught.value, KEYS)
    assert message.startswith(line)
    assert "\n" not in message


def test_values_are_shown_short_and_in_one_line() -> None:
    assert short_repr("a\nb") == r"'a\nb'"
    assert len(short_repr("x" * 1000)) == 63


def test_long_lists_are_cut() -> None:
    assert join_names("abc") == "a, b, c"
    assert join_names("abcdefgh") == "a, b, c, d, e, f and 2 more"
