from pathlib import Path

import pytest

from dartboard.config.loader import EXAMPLES, from_words
from dartboard.errors import OptionError, UnknownNameError
from dartboard.search.config import SearchConfig, load_config


def test_nothing_gives_the_defaults() -> None:
    assert load_config() == SearchConfig()


def test_later_places_win(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("weights: {lr: 0.2, momentum: 0.8}\nepochs: 7\n")
    places = {
        "recipe": "quick",
        "file": file,
        "environment": {"DARTBOARD_SEARCH_WEIGHTS__LR": "0.3", "DARTBOARD_SEARCH_EPOCHS": "8"},
        "flags": {"epochs": 9},
        "words": ["epochs=10"],
    }
    epochs, rates = [], []
    for count in range(len(places) + 1):
        config = load_config(**dict(list(places.items())[:count]))  # type: ignore[arg-type]
        epochs.append(config.epochs)
        rates.append(config.weights.lr)
    assert epochs[2:] == [7, 8, 9, 10]
    assert epochs[0] == 50 != epochs[1]
    assert rates[0] == 0.025 != rates[1]
    assert rates[2:] == [0.2, 0.3, 0.3, 0.3]
    assert config.weights.momentum == 0.8


def test_a_name_alone_and_a_group_mean_the_same() -> None:
    short = load_config(flags={"space": "nb201", "method": "gdas", "data": "digits"})
    assert load_config(flags={"space": {"name": "nb201"}, "method": {"name": "gdas"}}) == short
    assert load_config(words=["space=nb201", "method.name=gdas"]) == short


def test_options_stay_with_the_method_they_were_given_for() -> None:
    config = load_config(recipe="pc-darts", flags={"method": "darts"})
    assert config.method.options == {}
    assert load_config(recipe="pc-darts", flags={"method": "pc-darts"}).method.options["warmup"] == 15
    assert load_config(recipe="gaea-nb201", flags={"space": "darts"}).space.without == ()
    assert load_config(recipe="gaea-nb201", words=["space.cells=2"]).space.without == ("none",)
    assert load_config(recipe="darts", flags={"data": "mine.npz"}).data.pad == 4


def test_words_are_read_as_yaml() -> None:
    words = ["weights.lr=1e-3", "data.flip=true", "space.without=[none]", "data.valid=null", "space.cells=2"]
    config = load_config(words=words)
    assert (config.weights.lr, config.data.flip, config.data.valid) == (1e-3, True, None)
    assert (config.space.without, config.space.cells) == (("none",), 2)


def test_words_join_groups() -> None:
    assert from_words(["space=nano", "space.cells=2", "net.channels=4", "net.channels=8"]) == {
        "space": {"name": "nano", "cells": 2},
        "net": {"channels": 8},
    }


def test_variables_without_the_prefix_do_not_count() -> None:
    assert load_config(environment={"EPOCHS": "3", "DARTBOARD_DATA": "x"}) == SearchConfig()


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("weights.lrr=1", "no setting called 'weights.lrr'; did you mean 'weights.lr'?"),
        ("epoch=2", "no setting called 'epoch'; did you mean 'epochs'?"),
        ("space.cell=2", "no setting called 'space.cell'; did you mean 'space.cells'?"),
        ("data.path=x", "no setting called 'data.path'; did you mean 'data.pad'?"),
    ],
)
def test_an_unknown_key_gets_a_hint(word: str, message: str) -> None:
    with pytest.raises(UnknownNameError) as raised:
        load_config(words=[word])
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("epochs=x", "epochs='x': input should be a valid integer"),
        ("epochs=0", "epochs=0: input should be greater than or equal to 1"),
        ("weights.lr=0", "weights.lr=0: input should be greater than 0"),
        ("epochs=1" + 20 * "0", "epochs=1" + 20 * "0" + ": input should be less than or equal to 100000"),
        ("batch=100001", "batch=100001: input should be less than or equal to 100000"),
        ("pieces=100001", "pieces=100001: input should be less than or equal to 100000"),
        ("net.channels=100001", "net.channels=100001: input should be less than or equal to 100000"),
        ("space.cells=100001", "space.cells=100001: input should be less than or equal to 100000"),
        ("data.pad=100001", "data.pad=100001: input should be less than or equal to 100000"),
        ("seed=9223372036854775808", "seed=9223372036854775808: input should be less than 92233720368547758"),
        ("data.seed=9223372036854775808", "data.seed=9223372036854775808: input should be less than"),
        ("data.seed=-1", "data.seed=-1: input should be greater than or equal to 0"),
        ("weights.lr=.inf", "weights.lr=inf: input should be a finite number"),
        ("data.valid=.nan", "data.valid=nan: input should be a finite number"),
        ("epochs=2020-13-45", "epochs=2020-13-45: not a value in YAML (month must be in 1..12)"),
        ("epochs=true", "epochs=true: expected a number"),
        ("seed=true", "seed=true: expected a number"),
        ("data.seed=false", "data.seed=false: expected a number"),
        ("weights.lr=true", "weights.lr=true: expected a number"),
        ("data.valid=true", "data.valid=true: expected a number"),
        ("space.cells=true", "space.cells=true: expected a number"),
        ("net.stem=true", "net.stem=true: input should be a valid string"),
        ("epochs=null", "epochs=null: input should be a valid integer"),
        ("net=3", "net=3: expected a group such as {channels: 16}"),
        ("method=3", "method=3: expected a name, or a group such as {name: darts, lr: 0.1}"),
        ("space=[nano]", "space=['nano']: expected a name, or a group such as {name: nb201, cells: 3}"),
        ("space.without=3", "space.without=3: expected a list such as [one, two]"),
        ("net.mix=fast", "net.mix='fast': input should be 'fused' or 'plain'"),
        ("space.without=[1]", "space.without.0=1: input should be a valid string"),
        ("weights.lr.x=3", "weights.lr={x: 3}: input should be a valid number"),
        ("weights=[1", "weights=[1: not a value in YAML (expected ',' or ']', but got '<stream end>')"),
        ("net={stem: a, stem: b}", "net={stem: a, stem: b}: stem is said twice; leave out one of them"),
        ("weights", "expected a setting such as weights.lr=0.05, got 'weights'"),
        ("=3", "expected a setting such as weights.lr=0.05, got '=3'"),
        ("a..b=3", "expected a setting such as weights.lr=0.05, got 'a..b=3'"),
    ],
)
def test_a_bad_value_is_named(word: str, message: str) -> None:
    with pytest.raises(OptionError) as raised:
        load_config(words=[word])
    assert str(raised.value).startswith(message)


def test_the_largest_values_will_do() -> None:
    config = load_config(words=[f"seed={2**63 - 1}", f"data.seed={2**63 - 1}", "epochs=100000"])
    assert config.seed == config.data.seed == 2**63 - 1
    assert config.epochs == 100_000


def test_nesterov_is_a_form_of_momentum() -> None:
    with pytest.raises(OptionError, match=r"^weights: nesterov is a form of momentum, and momentum is 0"):
        load_config(words=["weights.nesterov=true", "weights.momentum=0"])
    assert load_config(words=["weights.nesterov=true"]).weights.nesterov
    assert load_config(words=["weights.momentum=0"]).weights.momentum == 0


def test_examples_of_groups_are_groups() -> None:
    for name, text in EXAMPLES.items():
        assert load_config(words=[f"{name}={text}"]) != SearchConfig()


def test_a_misspelt_variable_is_not_ignored() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'epochs'"):
        load_config(environment={"DARTBOARD_SEARCH_EPOCH": "3"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1", "expected lines such as 'epochs: 25', got \\[1\\]"),
        ("a: [", r"mine\.yaml is not YAML: line 1, column 5: expected the node content"),
        ("b: 1\na: 2020-13-45", r"is not YAML: line 2, column 4: month must be"),
        (
            "epochs: 1\nbatch: 2\nepochs: 3",
            r"mine\.yaml, line 3, column 1: epochs is said twice; leave out one",
        ),
        ("net: {channels: 1, channels: 2}", r"line 1, column 20: net\.channels is said twice; leave out one"),
    ],
)
def test_a_file_that_is_no_configuration(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(OptionError, match=message):
        load_config(file=file)


def test_a_missing_file_and_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"cannot read the configuration 'none\.yaml': No such file"):
        load_config(file="none.yaml")
    (tmp_path / "empty.yaml").touch()
    assert load_config(file=tmp_path / "empty.yaml") == SearchConfig()


def test_an_unknown_recipe() -> None:
    with pytest.raises(UnknownNameError, match="no recipe called 'dart'; did you mean 'darts'"):
        load_config(recipe="dart")


def test_a_group_with_nothing_in_it_says_nothing(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("weights:\nspace:\nepochs: 3\n")
    assert load_config(file=file) == SearchConfig(epochs=3)
    assert load_config(recipe="darts", file=file) == load_config(recipe="darts", words=["epochs=3"])
