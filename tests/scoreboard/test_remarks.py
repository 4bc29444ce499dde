from collections.abc import Sequence
from dataclasses import replace

import pytest

from benching import SmallOracle, random_at, record
from dartboard.scoreboard.baselines import POPULATION, Baseline
from dartboard.scoreboard.remarks import in_ranges
from dartboard.scoreboard.table import make_table

RANDOM = random_at([0.70, 0.72, 0.74, 0.71])


def said(
    tests: dict[str, Sequence[float]], baselines: Sequence[Baseline] = (RANDOM,), seeds: int | None = None
) -> tuple[str, ...]:
    """The remarks on methods whose seeds came to those accuracies."""
    records = [record(label, seed, [test]) for label, own in tests.items() for seed, test in enumerate(own)]
    expected = {label: range(seeds or len(own)) for label, own in tests.items()}
    return make_table(expected, records, SmallOracle(), baselines).remarks


def test_who_beat_random_who_did_not_and_who_was_worse() -> None:
    found = said(
        {"a": [0.80, 0.81] * 5, "b": [0.5, 0.51] * 5, "c": [0.6, 0.83] * 5, "d": [0.8], "e": [0.81, 0.82] * 5}
    )
    assert found[:4] == (
        "Better than random here: a, e.",
        "No difference to random shown: c.",
        "Worse than random here: b.",
        "One seed alone shows nothing: d.",
    )
    assert len(found) == 5  # and one on random


def test_nobody_is_named_as_none() -> None:
    found = said({"c": [0.6, 0.83] * 5})
    assert found[0] == "Better than random here: none."
    assert found[2] == "Worse than random here: none."
    assert not any("One seed" in own for own in found)


@pytest.mark.parametrize(("seeds", "few"), [(1, False), (2, True), (9, True), (10, False)])
def test_intervals_of_few_seeds_are_named(seeds: int, few: bool) -> None:
    found = said({"a": [0.8 + 0.001 * seed for seed in range(seeds)]})
    assert (
        any(own.startswith("Intervals from fewer than 10") and own.endswith(": a.") for own in found) == few
    )


def test_without_random_there_is_nothing_to_say_of_it() -> None:
    assert said({"a": [0.8, 0.81]}, []) == (
        "Nothing is compared with random, which is not among the baselines.",
    )


def test_missing_seeds_are_listed() -> None:
    found = said({"a": [0.8, 0.81], "b": []}, seeds=4)
    assert "Missing seeds: a 2-3; b 0-3." in found
    assert not any("Missing" in own for own in said({"a": [0.8, 0.81]}))


def test_what_baselines_chose_by() -> None:
    assert said({"a": [0.8]})[-1] == "random: the best of 2 by validation accuracy; 4 times."
    blind = replace(RANDOM, judge="test", queries=1234)
    assert said({"a": [0.8]}, [blind])[-1] == (
        "random: the best of 1,234 by test accuracy, for the benchmark has no validation accuracies; 4 times."
    )


@pytest.mark.parametrize(("queries", "random"), [(POPULATION, True), (POPULATION + 1, False)])
def test_evolution_without_time_to_evolve_is_named(queries: int, random: bool) -> None:
    evolution = replace(random_at([0.8, 0.82], "evolution"), queries=queries)
    found = said({"a": [0.8]}, [RANDOM, evolution])
    assert any(own.startswith("evolution is random") for own in found) == random
    assert found[0] == "Better than random here: evolution."


@pytest.mark.parametrize(
    ("seeds", "text"), [((), ""), ((4,), "4"), ((0, 2, 3, 4, 7), "0, 2-4, 7"), ((1, 2, 5, 6), "1-2, 5-6")]
)
def test_seeds_in_a_row_are_a_range(seeds: tuple[int, ...], text: str) -> None:
    assert in_ranges(seeds) == text
