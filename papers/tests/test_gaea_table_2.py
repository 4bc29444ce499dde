import re
from pathlib import Path

import pytest

from dartboard.runs import Run
from dartboard.tables.nb201 import write_columns
from dartboard.utils.statistics import Summary
from dartboard_papers import RunOptions, Verdict
from dartboard_papers.gaea_table_2 import METHODS, SearchTable, in_words, orderings, reproduce
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


def found(**other: float) -> dict[str, dict[str, Summary]]:
    means = MEANS | {label.replace("_", "-"): own for label, own in other.items()}
    return {
        label: {"a": Summary(own, 0.01, 3), "b": Summary(own / 2, 0.01, 3)} for label, own in means.items()
    }


def seen(values: dict[str, dict[str, Summary]]) -> list[bool | None]:
    return list(orderings(values, ("a", "b")).values())


def test_the_papers_orderings() -> None:
    assert seen(found()) == [True, True, True, True]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({"darts": 0.915}, [False, True, True, True]),
        ({"darts_erm": 0.95}, [True, False, True, False]),
        ({"gaea_gdas": 0.915}, [True, True, False, True]),
        ({"random": 0.95}, [True, True, True, False]),
    ],
)
def test_orderings_that_fail(other: dict[str, float], expected: list[bool]) -> None:
    assert seen(found(**other)) == expected


def test_one_data_set_is_enough_to_fail() -> None:
    values = found()
    values["darts"]["b"] = Summary(0.9, 0.01, 3)
    assert seen(values)[0] is False


def test_what_is_missing_is_not_tested() -> None:
    values = found()
    del values["gdas"], values["darts"]
    assert seen(values) == [None, True, None, None]


@pytest.mark.parametrize("missing", ["random", "evolution", "random-ws"])
def test_the_best_of_all_is_not_known_where_one_was_not_measured(missing: str) -> None:
    values = found()
    del values[missing]
    assert seen(values) == [True, True, True, None]
    assert seen({**values, "darts-erm": values["gaea-darts-erm"]})[3] is False


def test_words() -> None:
    words = in_words({"A above B": True, "C above D": False, "E above F": None})
    assert words == "1 of 3 orderings were seen on every data set; not C above D; not tested: E above F."


def test_the_records_of_the_bench_come_to_its_table() -> None:
    result = reproduce(RunOptions(Path("nowhere")), SearchTable(records=str(RESULTS / "nb201")))
    text = (RESULTS / "nb201" / "table.md").read_text()
    here = {row.what: row for row in result.rows}
    titles = dict(zip(METHODS, [row.what.partition(",")[0] for row in result.rows], strict=False))
    for label, title in titles.items():
        [line] = re.findall(rf"^\| {label} \|.*$", text, re.MULTILINE)
        cells = [cell.strip() for cell in line.split("|")]
        assert [here[f"{title}, {own}"].here for own in ("cifar10", "cifar100", "imagenet16-120")] == cells[
            3:6
        ]
    assert here["DARTS (bilevel), cifar100"].paper == "15.61 +- 0.00"
    assert here["GAEA GDAS, cifar100"].paper == "70.47 +- 0.47"
    assert here["GDAS, cifar100"].paper == "67.52 +- 0.15"
    assert here["RS, cifar10"].here is None
    [broken] = [own for own in result.remarks if "broke down" in own]
    assert broken.startswith(
        "GAEA GDAS broke down with 3 of 3 seeds: in its cells nothing reaches the output"
    )
    assert broken.endswith("its rate is 7.5, 75 times the paper's.")
    assert result.seeds == 3
    assert result.verdict is Verdict.NOT_HELD
    assert result.numbers["darts"]["cifar10"]["seeds"] == pytest.approx([0.9059, 0.8822, 0.8815], abs=1e-4)


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
