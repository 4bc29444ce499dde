from pathlib import Path
from typing import Any

import pytest

from dartboard.errors import DartboardError, OptionError, UnknownNameError
from dartboard.scoreboard.config import BenchConfig, as_seeds, load_bench, parse_seeds


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("7", (7,)), ("0-3", (0, 1, 2, 3)), ("0,3,5", (0, 3, 5)), ("0-1, 5-6", (0, 1, 5, 6)), ("4-4", (4,))],
)
def test_seeds_in_words(text: str, seeds: tuple[int, ...]) -> None:
    assert load_bench(flags={"seeds": text}).seeds == seeds
    assert load_bench(words=[f"seeds={text}"]).seeds == seeds


@pytest.mark.parametrize("text", ["", "a", "3-1", "1-", "-1", "0,,1", "0-999999999", "1.5", "0-1-2"])
def test_texts_that_are_no_seeds(text: str) -> None:
    with pytest.raises(OptionError, match="seeds: expected seeds such as 0-9, 0,3,5 or 7, got"):
        load_bench(flags={"seeds": text})


def test_seeds_are_in_order_and_once() -> None:
    assert load_bench(flags={"seeds": [3, 1, 3]}).seeds == (1, 3)
    assert load_bench(words=["seeds=5"]).seeds == (5,)


def test_every_option_has_a_default() -> None:
    config = load_bench()
    assert config == BenchConfig()
    assert config.seeds == (0, 1, 2)
    assert config.baselines == ("random", "evolution")
    assert (config.queries, config.draws, config.correlation) == (None, 200, 50)


@pytest.mark.parametrize(
    "methods", [{"gdas": None, "darts": {}}, ["gdas", "darts"], {"gdas": {}, "darts": None}]
)
def test_methods_by_name_alone(methods: Any) -> None:
    assert load_bench(flags={"methods": methods}).methods == {"gdas": {}, "darts": {}}


def test_words_are_of_the_bench_or_of_all_searches() -> None:
    words = [
        "draws=7",
        "epochs=3",
        "weights.lr=0.5",
        "search.batch=8",
        "methods.gdas.epochs=9",
        "space=nb201",
    ]
    config = load_bench(words=words)
    assert config.draws == 7
    assert config.methods == {"gdas": {"epochs": 9}}
    assert config.search == {"epochs": 3, "weights": {"lr": 0.5}, "batch": 8, "space": {"name": "nb201"}}


def test_later_places_win(tmp_path: Path) -> None:
    file = tmp_path / "bench.yaml"
    file.write_text(
        "search: {epochs: 1, batch: 1, pieces: 1, space: {name: nb201, cells: 2}}\n"
        "methods: {gdas: {epochs: 4, batch: 4}, darts: }\ndraws: 1\nqueries: 1\ncorrelation: 0\n"
    )
    config = load_bench(
        file=file,
        environment={
            "DARTBOARD_SEARCH_BATCH": "2",
            "DARTBOARD_BENCH_DRAWS": "2",
            "DARTBOARD_BENCH_QUERIES": "2",
        },
        flags={"queries": 3, "search": {"pieces": 3, "space": "nano"}},
        words=["methods.gdas.batch=5", "correlation=9"],
    )
    assert config.search == {"epochs": 1, "batch": 2, "pieces": 3, "space": {"name": "nano"}}
    assert config.methods == {"gdas": {"epochs": 4, "batch": 5}, "darts": {}}
    assert (config.draws, config.queries, config.correlation) == (2, 3, 9)


def test_methods_are_chosen_from_those_of_a_file_and_others(tmp_path: Path) -> None:
    file = tmp_path / "bench.yaml"
    file.write_text("methods: {gdas: {epochs: 4}, darts: }\n")
    assert load_bench(file=file, labels=["xnas", "gdas"]).methods == {"xnas": {}, "gdas": {"epochs": 4}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("drws: 3", "no setting called 'drws'; did you mean 'draws'?"),
        ("draws: 0", "draws=0: input should be greater than or equal to 1"),
        ("search: {epoch: 3}", "no setting called 'epoch'; did you mean 'epochs'?"),
        ("search: 3", "search=3: expected a group such as {epochs: 25}"),
        ("methods: {gdas: 3}", "methods.gdas=3: expected a group such as {epochs: 25}"),
        ("kind: search", "kind='search': input should be 'bench'"),
    ],
)
def test_mistakes_in_a_file_name_it(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "bench.yaml"
    file.write_text(text)
    with pytest.raises(OptionError) as caught:
        load_bench(file=file)
    assert str(caught.value).startswith(f"{file}: {message}")


def test_settings_of_a_method_that_is_not_chosen() -> None:
    with pytest.raises(
        OptionError, match=r"methods\.gdas has settings and is none of the methods darts, xnas"
    ):
        load_bench(words=["methods.gdas.epochs=3"], labels=["darts", "xnas"])


@pytest.mark.parametrize("words", [["search={epochs: 3}", "batch=4"], ["batch=4", "search={epochs: 3}"]])
def test_groups_and_their_parts_are_joined(words: list[str]) -> None:
    assert load_bench(words=words).search == {"epochs": 3, "batch": 4}


@pytest.mark.parametrize("order", [1, -1])
def test_methods_of_several_words_are_joined(order: int) -> None:
    words = ["methods=[darts, gdas]", "methods.gdas.epochs=2", "methods.xnas={batch: 3}"][::order]
    assert load_bench(words=words).methods == {"darts": {}, "gdas": {"epochs": 2}, "xnas": {"batch": 3}}


def test_names_and_options_of_several_words_are_joined() -> None:
    words = ["methods.mine.method=darts", "methods.mine.method.lr=2", "search={space: nano}", "space.cells=2"]
    config = load_bench(words=words)
    assert config.methods == {"mine": {"method": {"name": "darts", "lr": 2}}}
    assert config.search == {"space": {"name": "nano", "cells": 2}}


def test_of_equal_words_the_last_counts() -> None:
    words = ["search={epochs: 3}", "epochs=4", "draws=2", "draws=3", "seeds=[1, 2]", "seeds=3"]
    config = load_bench(words=words)
    assert (config.search, config.draws, config.seeds) == ({"epochs": 4}, 3, (3,))


def test_a_baseline_counts_once() -> None:
    config = load_bench(words=["baselines=[random, evolution, random]"])
    assert config.baselines == ("random", "evolution")


@pytest.mark.parametrize(
    ("flags", "words", "kind", "message"),
    [
        ({}, ["drws=3"], UnknownNameError, "no setting called 'drws'; did you mean 'draws'?"),
        ({}, ["epoch=3"], UnknownNameError, "no setting called 'epoch'; did you mean 'epochs'?"),
        ({"drws": 3}, [], UnknownNameError, "no setting called 'drws'; did you mean 'draws'?"),
        ({}, ["draws=0"], OptionError, "draws=0: input should be greater than or equal to 1"),
        ({}, ["queries=0"], OptionError, "queries=0: input should be greater than or equal to 1"),
        (
            {},
            ["correlation=1"],
            OptionError,
            "correlation: one architecture has no order; expected 0 for none",
        ),
        ({}, ["correlation=-1"], OptionError, "correlation=-1: input should be greater"),
        ({}, ["baselines=[randm]"], UnknownNameError, "no baseline called 'randm'; did you mean 'random'?"),
        ({}, ["seeds=[]"], OptionError, "seeds: expected at least one seed, such as 0-2"),
        ({}, ["seeds=true"], OptionError, "seeds=true: expected a number"),
        ({}, ["seeds=[true, 2]"], OptionError, "seeds=[true, 2]: expected a number"),
        ({}, ["search=3", "batch=4"], OptionError, "search=3: expected a group such as {epochs: 25}"),
        ({}, ["seeds=[-1]"], OptionError, "seeds.0=-1: input should be greater than or equal to 0"),
        ({"methods": {"a/b": {}}}, [], OptionError, "methods: a label has letters, digits, - and _ alone"),
        ({"methods": {"": {}}}, [], OptionError, "methods: a label has letters, digits, - and _ alone"),
        ({"methods": 3}, [], OptionError, "methods=3: expected a group such as {gdas: {epochs: 50}}"),
        ({"methods": {"gdas": 3}}, [], OptionError, "methods.gdas=3: expected a group such as {epochs: 25}"),
        ({"search": 3}, [], OptionError, "search=3: expected a group such as {epochs: 25}"),
        ({"kind": "search"}, [], OptionError, "kind='search': input should be 'bench'"),
        ({}, ["draws"], OptionError, "expected a setting such as weights.lr=0.05, got 'draws'"),
        ({}, ["what"], OptionError, "expected a setting such as weights.lr=0.05, got 'what'"),
    ],
)
def test_mistakes_are_named(
    flags: dict[str, Any], words: list[str], kind: type[DartboardError], message: str
) -> None:
    with pytest.raises(kind) as caught:
        load_bench(flags=flags, words=words)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("7", (7,)), ("0-3", (0, 1, 2, 3)), ("0,3,5", (0, 3, 5)), ("0-1, 5-6", (0, 1, 5, 6)), ("4-4", (4,))],
)
def test_parse_seeds(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds
    assert as_seeds(text) == seeds


def test_one_number_is_one_seed() -> None:
    assert as_seeds(5) == (5,)
    assert as_seeds([5, 6]) == [5, 6]


def test_what_cannot_be_seeds() -> None:
    with pytest.raises(ValueError, match="expected seeds such as 0-9, 0,3,5 or 7, got 'x'"):
        as_seeds("x")
