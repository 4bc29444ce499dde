from pathlib import Path
from typing import Any

import pytest
import yaml

from dartboard.errors import DartboardError, OptionError, UnknownNameError
from dartboard.sweep.protocol.config import PROTOCOL, ProtocolConfig, load_protocol, resolved


def test_the_defaults_are_the_papers() -> None:
    config = load_protocol()
    assert config == ProtocolConfig()
    assert (config.searches, config.short, config.keep, config.seeds) == (5, 20, 3, 10)  # gaea C.1, C.1.3
    assert config.random == "time"


def test_recipes_are_those_of_searches_and_trainings() -> None:
    config = load_protocol(recipes={"search": "gaea-pc-darts", "train": "gaea-cifar"})
    assert config.search.method.name == "gaea-pc-darts"
    assert config.search.batch == 256
    assert (config.train.epochs, config.train.batch, config.train.net.drop_path) == (600, 128, 0.3)


def test_images_named_once_are_those_of_both() -> None:
    config = load_protocol(words=["search.data=mine", "search.data.size=16", "search.data.pad=1"])
    for own in (config.search.data, config.train.data):
        assert (own.name, own.size) == ("mine", 16)
    assert config.search.data.pad == 1
    assert config.train.data.pad == 4  # how they are varied is a matter of each
    other = load_protocol(words=["search.data=mine", "train.data=other"])
    assert (other.search.data.name, other.train.data.name) == ("mine", "other")


def test_the_first_seed_is_that_of_both() -> None:
    config = load_protocol(words=["seed=7"])
    assert (config.seed, config.search.seed, config.train.seed) == (7, 7, 7)
    config = load_protocol(words=["seed=7", "search.seed=1"])
    assert (config.seed, config.search.seed, config.train.seed) == (7, 1, 7)


def test_later_places_win(tmp_path: Path) -> None:
    whole, train = tmp_path / "whole.yaml", tmp_path / "train.yaml"
    whole.write_text("seeds: 2\nkeep: 2\nshort: 2\nsearch: {batch: 2, pieces: 2}\ntrain: {epochs: 2}\n")
    train.write_text("epochs: 3\nbatch: 3\n")
    config = load_protocol(
        recipes={"search": "quick", "train": "quick"},
        files={"train": train},
        file=whole,
        environment={
            "DARTBOARD_PROTOCOL_SEEDS": "4",
            "DARTBOARD_PROTOCOL_KEEP": "4",
            "DARTBOARD_TRAIN_BATCH": "4",
            "DARTBOARD_PROTOCOL_SEARCH__WEIGHTS__LR": "0.4",
            "DARTBOARD_SEARCH_WEIGHTS__LR": "0.3",
            "OTHER": "5",
        },
        flags={"search": {"method": "gdas"}},
        words=["seeds=5", "train.net.channels=5"],
    )
    assert (config.seeds, config.keep, config.short) == (5, 4, 2)
    assert (config.search.batch, config.search.epochs) == (2, 20)
    assert (config.train.epochs, config.train.batch, config.train.net.channels) == (3, 4, 5)
    assert config.search.weights.lr == 0.4
    assert config.search.method.name == "gdas"
    assert config.search.method.options == {}  # the recipe's are those of another method


def test_what_is_resolved_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["search.data=few.npz", "train.space=stack.json", "search.space=mine.yaml", "seeds=3"]
    config = load_protocol(recipes={"search": "quick", "train": "quick"}, words=words)
    values = yaml.safe_load(yaml.safe_dump(resolved(config)))
    assert values["kind"] == "protocol"
    for group, key, name in (
        ("search", "data", "few.npz"),
        ("train", "data", "few.npz"),
        ("train", "space", "stack.json"),
        ("search", "space", "mine.yaml"),
    ):
        assert values[group][key]["name"] == str(tmp_path / name)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(values))
    again = load_protocol(file=tmp_path / "config.yaml")
    assert resolved(again) == values == resolved(PROTOCOL.validate(values))


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"words": ["seedss=3"]}, UnknownNameError, "no setting called 'seedss'; did you mean 'seeds'?"),
        ({"words": ["data=x"]}, UnknownNameError, "no setting called 'data'"),
        ({"words": ["seeds=0"]}, OptionError, "seeds=0: input should be greater than or equal to 1"),
        ({"words": ["random=all"]}, OptionError, "random='all': input should be 'none', 'count' or 'time'"),
        ({"words": ["seed=-1"]}, OptionError, "seed=-1: input should be greater than or equal to 0"),
        ({"words": ["search=3"]}, OptionError, "expected a setting such as search.epochs=25, got 'search=3'"),
        ({"words": ["seeds"]}, OptionError, "expected a setting such as weights.lr=0.05, got 'seeds'"),
        ({"words": ["search.weights.lrr=1"]}, UnknownNameError, "did you mean 'search.weights.lr'?"),
        ({"words": ["train.cell=x"]}, UnknownNameError, "no setting called 'train.cell'"),
        ({"words": ["train.epochs=0"]}, OptionError, "train.epochs=0: input should be greater than or"),
        ({"words": [f"train.seed={2**62}"]}, OptionError, f"train.seed={2**62}: input should be less than"),
        ({"recipes": {"train": "quik"}}, UnknownNameError, "no training recipe called 'quik'; did you mean"),
        ({"flags": {"train": {"data": 3}}}, OptionError, "train.data=3: expected a name, or a group such as"),
        ({"flags": {"search": 3}}, OptionError, "search=3: expected a group such as {epochs: 25}"),
        ({"file": "no.yaml"}, OptionError, "cannot read the configuration 'no.yaml'"),
        ({"files": {"train": "no.yaml"}}, OptionError, "cannot read the configuration 'no.yaml'"),
    ],
)
def test_mistakes_are_named(given: dict[str, Any], kind: type[DartboardError], words: str) -> None:
    with pytest.raises(kind) as error:
        load_protocol(**given)
    assert words in str(error.value)


def test_a_group_with_nothing_in_it_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    for text in ("search:\ntrain:\n", "search: {weights: , data: }\ntrain: {data: }\n"):
        file.write_text(f"{text}seeds: 2\n")
        assert load_protocol(file=file) == load_protocol(words=["seeds=2"])
