from pathlib import Path

import pytest

from dartboard.errors import DartboardError
from dartboard.runs.text_files import read_yaml
from dartboard.scoreboard.config import load_bench
from dartboard.search.config import load_config
from dartboard.space import load_space
from dartboard.sweep.config import load_sweep
from dartboard.sweep.protocol.config import load_protocol
from dartboard.train.config import TRAIN
from dartboard.utils.yaml_text import (
    DuplicateKeyError,
    FastYamlLoader,
    YamlError,
    YamlLoader,
    format_value,
    load,
)

READERS = pytest.mark.parametrize("reader", [YamlLoader, FastYamlLoader])


@READERS
def test_what_a_text_says(reader: type[YamlLoader]) -> None:
    text = "a: &one {b: 1, c: [x, {b: 2}]}\nd: {<<: *one, b: 3}\ne: *one\n"
    own = {"b": 1, "c": ["x", {"b": 2}]}
    assert load(text, reader) == {"a": own, "d": {**own, "b": 3}, "e": own}
    assert load(b"", reader) is None


@READERS
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\na: 2", "line 2, column 1: a is said twice; leave out one of them"),
        ("grid: {seed: 0, 'seed': 5}", "line 1, column 17: grid.seed is said twice; leave out one of them"),
        ("a:\n- b: {c: 1}\n- b:\n    c: 1\n    c: 2", "line 5, column 5: a.b.c is said twice; leave out one"),
        ("2: 1\n2: 1", "line 2, column 1: 2 is said twice; leave out one of them"),
    ],
)
def test_a_key_that_is_said_twice(text: str, words: str, reader: type[YamlLoader]) -> None:
    with pytest.raises(DuplicateKeyError) as told:
        load(text, reader)
    assert str(told.value).startswith(words)


@READERS
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"a: 1\nb: @x", "line 2, column 4: found character"),
        (b"a: 1\nb: 2020-13-45", "line 2, column 4: month must be in 1..12"),
        (b"a: !!python/x 3", "line 1, column 4: could not determine a constructor"),
        (b"a: \xff", "invalid"),
        (b"? [1]\n: 2", "line 1, column 3: found unhashable key"),
    ],
)
def test_what_is_not_yaml(text: bytes, words: str, reader: type[YamlLoader]) -> None:
    with pytest.raises(YamlError) as told:
        load(text, reader)
    assert words in str(told.value)
    assert "string>" not in str(told.value)


def test_what_is_nested_too_deep() -> None:
    with pytest.raises(YamlError, match="it is nested too deep"):
        load("[" * 20_000)


@pytest.mark.parametrize("text", ["&a [*a, 1]", "&a {b: {c: *a}}", "a: [&b [1, [*b]]]"])
def test_what_stands_inside_itself_is_refused(text: str) -> None:
    with pytest.raises(YamlError, match="contains itself"):
        load(text)


def test_aliases_are_values_that_count_each_time() -> None:
    ones = f"a: &a [{', '.join('1' * 300)}]\n"
    assert len(load(ones + f"b: [{', '.join(['*a'] * 300)}]")["b"]) == 300
    with pytest.raises(YamlError, match="more than 100,000 values"):
        load(ones + f"b: [{', '.join(['*a'] * 400)}]")
    with pytest.raises(YamlError, match="1,000,001 characters"):
        load(" " * 1_000_001)


@pytest.mark.parametrize(
    "read",
    [
        lambda file: load_config(file=file),
        lambda file: TRAIN.load(file=file),
        lambda file: load_protocol(file=file),
        lambda file: load_bench(file=file),
        load_sweep,
        load_space,
        read_yaml,
    ],
)
def test_every_file_is_read_so(read: object, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: a\nepochs: 1\nname: b\n")
    with pytest.raises(DartboardError, match=r"mine\.yaml.*line 3, column 1: name is said twice"):
        read(file)  # type: ignore[operator]


def test_values_are_shown_as_they_are_written() -> None:
    assert format_value({"a": [True, None, 1.5, "x"], "b": False}) == "{a: [true, null, 1.5, 'x'], b: false}"
