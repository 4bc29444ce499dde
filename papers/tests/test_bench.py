import json
from dataclasses import replace
from pathlib import Path
from shutil import copy

import pytest

from dartboard.errors import OptionError, TableError
from dartboard.runs import Run
from dartboard.tables.nb201 import write_columns
from dartboard_papers import RunOptions
from dartboard_papers._bench import (
    NANO,
    NB201,
    ONESHOT,
    BenchResults,
    BenchScale,
    choose_benchmark,
    find_table,
    read_bench,
    run_bench,
)
from helpers.nb201_data import made_up
from helpers.protocol_cases import few_digits

RESULTS = Path(__file__).parents[2] / "results"
TINY = BenchScale(seeds=2, epochs=1, batch=16, channels=2)
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "nb201.csv.gz"
    write_columns(path, made_up())
    return path


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> str:
    return few_digits(tmp_path_factory.mktemp("images") / "few.npz")


def test_without_a_table_nano_is_searched(tmp_path: Path, table: Path) -> None:
    bare = RunOptions(tmp_path)
    assert choose_benchmark(bare, TINY) is NANO
    assert choose_benchmark(replace(bare, table=table), TINY) is NB201
    with pytest.raises(OptionError, match="nano has accuracies of its own images alone"):
        choose_benchmark(replace(bare, data="digits"), TINY)


def test_nano_stands_in_for_no_more_than_it_can(tmp_path: Path, table: Path) -> None:
    bare = RunOptions(tmp_path)
    with pytest.raises(OptionError, match=r"the paper's own numbers are of NAS-Bench-201; name --table"):
        choose_benchmark(replace(bare, full=True), TINY)
    wide = TINY.model_copy(update={"pixels": 24})
    with pytest.raises(OptionError, match="pixels=24 does nothing to nano's own images; leave it out"):
        choose_benchmark(bare, wide)
    assert choose_benchmark(replace(bare, full=True, table=table), wide) is NB201
    done = BenchScale(records="kept")
    assert choose_benchmark(bare, done) is NANO
    with pytest.raises(OptionError, match="records=kept are of searches that were done; leave out --full"):
        choose_benchmark(replace(bare, full=True), done)


def test_searches_are_done_once(tmp_path: Path, images: str) -> None:
    told: list[tuple[str, int, int]] = []
    options = RunOptions(tmp_path, images, tell=lambda *words: told.append(words))
    bench = run_bench(NANO, ("darts", "gdas"), options, TINY)
    assert {label: [own.seed for own in group] for label, group in bench.groups.items()} == {
        "darts": [0, 1],
        "gdas": [0, 1],
    }
    assert (bench.seeds, bench.queries, bench.missing, bench.folder) == (2, 8, (), None)
    assert told == [("searching nano", done, 4) for done in range(5)]
    again = run_bench(NANO, ("darts", "gdas"), options, TINY)
    assert again.groups == bench.groups
    assert len(Run.read(tmp_path / "runs" / "darts-s0").environment()) == 1


@pytest.mark.slow
def test_several_processes_find_the_same(tmp_path: Path, images: str) -> None:
    alone, together = (
        run_bench(NANO, ("darts",), RunOptions(tmp_path / str(jobs), images, jobs=jobs), TINY)
        for jobs in (1, 2)
    )
    assert [own.final.cell for own in alone.records] == [own.final.cell for own in together.records]


def test_every_number_is_a_setting_of_the_searches(tmp_path: Path, images: str, table: Path) -> None:
    scale = TINY.model_copy(update={"seeds": 1, "epochs": 2, "pixels": 16, "cells": 2})
    bench = run_bench(NB201, ("gaea-darts",), RunOptions(tmp_path, images, table), scale)
    [record] = bench.records
    settings = record.settings
    assert (settings["data"]["size"], settings["data"]["pad"], settings["data"]["flip"]) == (16, 2, True)
    assert settings["space"] == {"name": "nb201", "cells": 2, "without": ["none"]}
    assert (settings["epochs"], settings["batch"], settings["net"]["channels"]) == (2, 16, 2)
    assert settings["method"]["lr"] == "auto"
    assert bench.datasets == ("cifar10", "cifar100", "imagenet16-120")
    assert bench.oracle is not None


def test_a_table_may_be_named_by_its_folder(tmp_path: Path, table: Path) -> None:
    assert find_table(NB201, RunOptions(tmp_path, table=table.parent)) == table
    assert find_table(NB201, RunOptions(tmp_path, table=table)) == table
    assert find_table(NANO, RunOptions(tmp_path)) is None
    with pytest.raises(
        TableError, match=r"there is no .*nb101\.npz; docs/oracles\.md says how to make nb101"
    ):
        find_table(ONESHOT[0], RunOptions(tmp_path, table=table.parent))
    with pytest.raises(
        TableError, match=r"oneshot1 is looked up in nb101\.npz, .* --table \(docs/oracles\.md\)"
    ):
        find_table(ONESHOT[0], RunOptions(tmp_path))


def from_results(name: str, *labels: str, options: RunOptions | None = None) -> BenchResults:
    scale = BenchScale(records=str(RESULTS / name))
    return run_bench(NB201, labels, options or RunOptions(Path("nowhere")), scale)


def test_records_of_a_bench_in_the_place_of_searches() -> None:
    bench = from_results("nano", "gaea-darts", "darts", "evolved")
    assert list(bench.groups) == ["gaea-darts", "darts"]
    assert [own.seed for own in bench.groups["darts"]] == list(range(20, 30))
    assert bench.oracle is not None  # ships with the package
    assert (bench.queries, bench.missing, bench.folder) == (8, ("evolved",), RESULTS / "nano")


def test_searches_that_a_bench_lacks(tmp_path: Path) -> None:
    for name in ("bench.yaml", "darts-s21.json"):
        copy(RESULTS / "nano" / name, tmp_path)
    bench = read_bench(tmp_path, ["darts"], RunOptions(tmp_path), BenchScale(records=str(tmp_path)))
    assert [own.seed for own in bench.records] == [21]
    assert bench.missing == tuple(f"darts-s{seed}" for seed in range(20, 30) if seed != 21)


def test_records_of_another_table(tmp_path: Path) -> None:
    copy(RESULTS / "nano" / "bench.yaml", tmp_path)
    record = json.loads((RESULTS / "nano" / "darts-s21.json").read_text())
    (tmp_path / "darts-s21.json").write_text(json.dumps(record | {"best": {"cluttered-digits": 0.5}}))
    with pytest.raises(TableError, match="was made with another table of nano"):
        read_bench(tmp_path, ["darts"], RunOptions(tmp_path), BenchScale(records=str(tmp_path)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 7}, "are of searches that were done; leave out epochs"),
        ({"seeds": 7}, "are of searches that were done; leave out seeds"),
        ({"records": "nowhere"}, "records=nowhere: there is no bench.yaml in it; name the folder of a bench"),
    ],
)
def test_records_that_cannot_be_used(change: dict[str, object], message: str, tmp_path: Path) -> None:
    scale = BenchScale(records=str(RESULTS / "nb201")).model_copy(update=change)
    with pytest.raises(OptionError, match=message):
        run_bench(NB201, ("darts",), RunOptions(tmp_path), scale)


def test_records_and_images(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="leave out --full"):
        from_results("nb201", "darts", options=RunOptions(tmp_path, full=True))
    with pytest.raises(OptionError, match="leave out --data"):
        from_results("nb201", "darts", options=RunOptions(tmp_path, data="digits"))
    with pytest.raises(OptionError, match="it has none of evolved"):
        from_results("nano", "evolved")
