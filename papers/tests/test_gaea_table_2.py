from pathlib import Path

import numpy as np
import pytest

from dartboard.runs import Run
from dartboard.tables.nb201 import write_columns
from dartboard_papers import REPRODUCTIONS, PartResult, RunOptions
from dartboard_papers.gaea_table_2 import (
    ABOVE,
    LEVEL_WITH,
    METHODS,
    SearchTable,
    in_words,
    orderings,
    reproduce,
)
from helpers.nb201_data import made_up
from helpers.protocol_cases import few_digits

RESULTS = Path(__file__).parents[2] / "results"
MEANS = {
    "random-ws": 0.87,
    "darts": 0.54,
    "gaea-darts": 0.91,
    "darts-erm": 0.84,
    "gaea-darts-erm": 0.94,
    "gdas": 0.93,
    "gaea-gdas": 0.92,
    "random": 0.937,
    "evolution": 0.939,
}
pytestmark = pytest.mark.usefixtures("one_thread")


NOISE = (-0.004, -0.002, 0.0, 0.002, 0.004)


def found(**other: float) -> dict[str, dict[str, list[float]]]:
    """Five accuracies around the mean of each method, on two data sets."""
    means = MEANS | {label.replace("_", "-"): own for label, own in other.items()}
    return {
        label: {"a": [own + noise for noise in NOISE], "b": [own / 2 + noise for noise in NOISE]}
        for label, own in means.items()
    }


def seen(values: dict[str, dict[str, list[float]]]) -> dict[str, bool]:
    return {name: part.held for name, part in orderings(values, ("a", "b")).items()}


def test_the_papers_orderings() -> None:
    held = seen(found(gaea_darts_erm=0.95, gaea_gdas=0.928))
    assert list(held.values()) == [True, True, True, True]
    assert list(held) == list(REPRODUCTIONS["gaea-table-2"].rules)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({"darts": 0.95}, [False, True, True, False]),
        ({"darts_erm": 0.949}, [True, False, True, False]),  # above by less than chance
        ({"gaea_gdas": 0.92}, [True, True, False, True]),
        ({"random": 0.96}, [True, True, True, False]),
    ],
)
def test_orderings_that_fail(other: dict[str, float], expected: list[bool]) -> None:
    assert list(seen(found(**{"gaea_darts_erm": 0.95, "gaea_gdas": 0.928} | other)).values()) == expected


def test_one_data_set_is_enough_to_fail() -> None:
    values = found(gaea_darts_erm=0.95)
    values["darts"]["b"] = [0.9 + noise for noise in NOISE]
    assert not seen(values)[ABOVE["gaea-darts"]]


@pytest.mark.parametrize(
    ("missing", "left"),
    [
        ("gdas", list(ABOVE.values())),
        ("random", [*ABOVE.values(), LEVEL_WITH]),
        ("darts", [ABOVE["gaea-darts-erm"], LEVEL_WITH]),
    ],
)
def test_what_is_missing_is_not_tested(missing: str, left: list[str]) -> None:
    values = found()
    del values[missing]
    assert list(seen(values)) == left


def test_chance_of_level_is_that_of_a_method_two_deviations_worse() -> None:
    """The gap of two means of five has a deviation of (2 / 5)^(1/2), and must miss its mean by one."""
    rng = np.random.default_rng(0)
    gaps = rng.standard_normal((20_000, 5)).mean(1) - 2 - rng.standard_normal((20_000, 5)).mean(1)
    chance = orderings(found(), ("a", "b"))[LEVEL_WITH].chance
    assert chance == pytest.approx(np.mean(gaps >= -1), abs=0.01)


def test_words() -> None:
    parts = {"A above B": PartResult(True, "", 0.05), "C above D": PartResult(False, "", 0.05)}
    assert in_words(parts) == "1 of 2 orderings were seen on every data set; not C above D"


def test_the_records_of_nano_have_baselines_too() -> None:
    result = reproduce(RunOptions(Path("nowhere")), SearchTable(records=str(RESULTS / "nano")))
    here = {row.what: row.here for row in result.rows}
    assert here["RS, cluttered-digits"] == "74.34 +- 1.21"
    assert here["best cell, cluttered-digits"] == "76.32"
    assert result.seeds == 10
    assert any(own.startswith("The paper's numbers are of CIFAR-10 and") for own in result.remarks)


def test_numbers_of_the_scale_matter(tmp_path: Path) -> None:
    write_columns(tmp_path / "nb201.csv.gz", made_up())
    options = RunOptions(tmp_path / "work", few_digits(tmp_path / "few.npz"), tmp_path)
    small = {"batch": 16, "channels": 2, "pixels": 8}
    scale = SearchTable(seeds=1, epochs=1, gdas_epochs=2, gaea_gdas_epochs=3, draws=4, **small)
    result = reproduce(options, scale)
    assert result.size == "nb201 with 1 cell a stage and 2 channels; few.npz at 8x8 pixels; 1 to 3 epochs"
    assert result.seeds == 1
    assert set(result.numbers) == {*METHODS, "random", "evolution"}
    epochs = {name: len(Run.read(tmp_path / "work" / "runs" / f"{name}-s0").metrics()) for name in METHODS}
    assert (epochs["darts"], epochs["gdas"], epochs["gaea-gdas"]) == (1, 2, 3)
    other = reproduce(options, scale.model_copy(update={"draws": 9}))
    assert other.numbers["random"] != result.numbers["random"]
    assert other.numbers["darts"] == result.numbers["darts"]
