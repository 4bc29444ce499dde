from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
import yaml

from dartboard.config.schema import SettingRow, format_default, option_rows, setting_rows, type_name
from dartboard.search import METHODS
from dartboard.search.config import SearchConfig, load_config
from dartboard.search.method import check_options
from dartboard.train.config import TRAIN, TrainConfig


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (int, "int"),
        (float | None, "float | null"),
        (Literal["a", "b"], "a | b"),
        (tuple[str, ...], "list of texts"),
        (list[int], "list of ints"),
        (dict[str, Any], "group"),
        (Annotated[bool, "whether"] | None, "bool | null"),
        (Callable[[int], float] | None, "function | null"),
        (Any, "value"),
    ],
)
def test_kinds_in_words(kind: Any, words: str) -> None:
    assert type_name(kind) == words


@pytest.mark.parametrize(
    ("value", "words"), [(True, "true"), (None, "null"), (3e-4, "0.0003"), ((), "[]"), ("cosine", "cosine")]
)
def test_defaults_are_written_as_they_are_typed(value: object, words: str) -> None:
    assert format_default(value) == words


def test_every_default_can_be_typed() -> None:
    entries = [entry for entry in setting_rows(SearchConfig) if entry.default]
    assert load_config(words=[f"{entry.key}={entry.default}" for entry in entries]) == SearchConfig()


def test_every_default_of_a_training_can_be_typed() -> None:
    entries = [entry for entry in setting_rows(TrainConfig) if entry.default != "required"]
    words = [f"{entry.key}={entry.default}" for entry in entries]
    assert TRAIN.load(flags={"cell": "x"}, words=words) == TrainConfig(cell="x")


def test_no_setting_is_left_out() -> None:
    def keys(values: dict[str, Any], prefix: str = "") -> set[str]:
        inner = [keys(own, f"{prefix}{key}.") for key, own in values.items() if isinstance(own, dict)]
        return {prefix + key for key, own in values.items() if not isinstance(own, dict)}.union(*inner)

    listed = [entry.key for entry in setting_rows(SearchConfig)]
    assert set(listed) == keys(SearchConfig().model_dump(exclude={"kind"})) | {"method.OPTION"}
    assert len(listed) == len(set(listed))
    trained = [entry.key for entry in setting_rows(TrainConfig)]
    assert set(trained) == keys(TrainConfig(cell="x").model_dump(exclude={"kind"}))


@pytest.mark.parametrize("name", METHODS)
def test_the_options_of_every_method_can_be_typed(name: str) -> None:
    entries = option_rows(METHODS[name], "method.")
    assert all("value" not in entry.kind for entry in entries)
    given = {entry.key.removeprefix("method."): yaml.safe_load(entry.default) for entry in entries}
    assert check_options(name, given).keys() == given.keys()


def test_an_entry_says_it_all() -> None:
    assert SettingRow("weights.lr", "0.025", "float", "learning rate at the start") in setting_rows(
        SearchConfig
    )
    assert SettingRow("method.floor", "0.0", "float") in option_rows(METHODS["gaea-darts"], "method.")
