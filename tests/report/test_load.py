import json
import os
from pathlib import Path

import numpy as np
import pytest

from dartboard.errors import OptionError, RunError, TableError
from dartboard.report.load import find_tables, load_runs
from dartboard.runs import Run
from dartboard.runs.directory import write_run_names
from dartboard.space import get_space
from dartboard.tables import load_table
from helpers.report_runs import found_cell, make_search, make_training


def test_a_search_is_what_its_files_say(tmp_path: Path) -> None:
    run = make_search(tmp_path / "s", "darts", epochs=3, seed=4)
    (found,) = load_runs([run.path]).searches
    assert (found.method, found.seed, found.data, found.space) == (
        "gaea-darts",
        4,
        "digits",
        get_space("darts"),
    )
    assert [own.epoch for own in found.epochs] == [1, 2, 3]
    assert found.genotype == found_cell(run) == found.epochs[-1].genotype
    assert found.last == run.result()
    told = run.epoch(1)["strengths"]["reduce"]["ops"]
    np.testing.assert_array_equal(found.epochs[1].ops["reduce"], told)
    assert found.info.state == "finished"


def test_a_search_that_has_not_ended(tmp_path: Path) -> None:
    run = make_search(tmp_path / "s", epochs=2, finish=False)
    (found,) = load_runs([run.path]).searches
    assert found.result is None
    assert found.genotype == found.epochs[-1].genotype
    assert found.last["valid_accuracy"] == run.metrics()[-1]["valid_accuracy"]
    (empty,) = load_runs([make_search(tmp_path / "e", epochs=0, finish=False).path]).searches
    assert (empty.epochs, empty.genotype, empty.last) == ([], None, {})


def test_trainings_beside_a_search_that_train_what_it_found(tmp_path: Path) -> None:
    run, other = make_search(tmp_path / "s", seed=1), make_search(tmp_path / "other", seed=2)
    assert found_cell(run) != found_cell(other)
    made = make_training(tmp_path / "train-s-digits-s0", found_cell(run))
    make_training(tmp_path / "train-s-digits-s1", found_cell(other))
    make_training(tmp_path / "else", found_cell(run))
    assert [own.info.path for own in load_runs([run.path]).trainings] == [made.path]
    both = load_runs([run.path, tmp_path / "else", made.path, run.path])
    assert [own.info.name for own in both.trainings] == ["else", "train-s-digits-s0"]
    assert len(both.searches) == 1


def test_what_is_damaged_beside_a_search_does_not_spoil_it(tmp_path: Path) -> None:
    run = make_search(tmp_path / "s")
    (make_training(tmp_path / "train-s-x", found_cell(run)).path / "metrics.jsonl").write_text("?")
    assert load_runs([run.path]).trainings == []


def test_the_runs_of_a_protocol(tmp_path: Path) -> None:
    with Run.create(tmp_path / "p", {"kind": "protocol"}):
        run = make_search(tmp_path / "p" / "search" / "s0")
        make_training(tmp_path / "p" / "final" / "found-s0", found_cell(run))
        make_training(tmp_path / "p" / "train" / "found-0", found_cell(run))
        found = load_runs([tmp_path / "p"])
    assert [own.info.name for own in found.searches] == ["s0"]
    assert [own.info.name for own in found.trainings] == ["found-s0"]
    assert [own.kind for own in found.infos] == ["protocol", "search", "train"]
    assert "running" in [info.state for info in found.infos]


def begin(path: Path, kind: str) -> None:
    """A bench or a sweep that has no runs, which is an error until it has some."""
    path.mkdir()
    (path / f"{kind}.yaml").write_text("")
    with pytest.raises(RunError, match=f"is a {kind} that has no runs to report on"):
        load_runs([path])


def test_the_runs_of_a_bench(tmp_path: Path) -> None:
    begin(tmp_path / "b", "bench")
    for seed in range(2):
        make_search(tmp_path / "b" / "runs" / f"gaea-darts-s{seed}", seed=seed)
    assert [own.seed for own in load_runs([tmp_path / "b"]).searches] == [0, 1]


def test_the_runs_of_a_sweep(tmp_path: Path) -> None:
    begin(tmp_path / "w", "sweep")
    for seed in range(2):
        make_search(tmp_path / "w" / "search" / f"darts-s{seed}", seed=seed)
    run = make_search(tmp_path / "w" / "other" / "darts-s0", seed=5)
    make_training(tmp_path / "w" / "final" / "found-0-s0", found_cell(run))
    found = load_runs([tmp_path / "w"])
    assert sorted(own.seed for own in found.searches) == [0, 1, 5]
    assert [own.info.name for own in found.trainings] == ["found-0-s0"]


@pytest.mark.parametrize(("method", "attends"), [("asm", True), ("darts", False), ("unheard-of", False)])
@pytest.mark.usefixtures("without_checksums")
def test_whose_strengths_are_attention(tmp_path: Path, method: str, attends: bool) -> None:
    run = make_search(tmp_path / "s", method="asm" if attends else "darts")
    text = (run.path / "config.yaml").read_text()
    (run.path / "config.yaml").write_text(text.replace("name: darts", f"name: {method}"))
    assert load_runs([run.path]).searches[0].uses_attention is attends


def test_no_runs(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no runs to report on"):
        load_runs([])
    with pytest.raises(RunError, match="is not a run"):
        load_runs([tmp_path])


@pytest.mark.parametrize(
    "details", [{}, {"genotype": {}, "strengths": {}}, {"strengths": {"cell": {"ops": [[1]], "edges": [1]}}}]
)
@pytest.mark.usefixtures("without_checksums")
def test_damaged_epochs(tmp_path: Path, details: dict[str, object]) -> None:
    run = make_search(tmp_path / "s")
    whole = run.epoch(0) | details if "genotype" not in details and details else details
    (run.path / "epochs" / "0000.json").write_text(json.dumps(whole))
    with pytest.raises(RunError, match="has files that cannot be read"):
        load_runs([run.path])


def results(folder: Path, *rows: tuple[str, str, str]) -> None:
    """Writes what a sweep says of its runs: their names, states and reasons."""
    keys = ("name", "state", "reason")
    made = [dict(zip(keys, row, strict=True)) | {"stage": row[0].partition("/")[0]} for row in rows]
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))


def test_what_a_sweep_says_of_its_runs(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text("stages: {search: {}, screen: {stop: {after: 2}}, final: {}}")
    run = make_search(tmp_path / "search" / "s0")
    for name in ("screen/a", "screen/b", "final/a"):
        make_training(tmp_path / name, found_cell(run), finish=name != "screen/b")
    ends = [
        ("search/s0", "finished", ""),
        ("screen/a", "finished", ""),
        ("screen/b", "dropped", "clearly bad"),
    ]
    results(tmp_path, *ends, ("final/a", "finished", ""), ("final/b", "failed", "never begun"))
    found = load_runs([tmp_path])
    assert [own.info.name for own in found.searches] == ["s0"]
    assert [own.info.is_dropped for own in found.trainings] == [False, True, False]
    assert found.trainings[1].info.sweep_entry.reason == "clearly bad"
    assert [own.info.path.parent.name for own in found.comparable_trainings] == ["final"]


def test_the_plan_of_a_sweep_says_which_runs_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text("")
    for name in ("s0", "s1", "gone"):
        make_search(tmp_path / "search" / name)
    results(tmp_path, ("search/s0", "finished", ""), ("search/gone", "finished", ""))
    assert len(load_runs([tmp_path]).searches) == 3  # nothing says which
    write_run_names(tmp_path, ["search/s0", "search/s1", "search/not-begun"])
    assert [own.info.name for own in load_runs([tmp_path]).searches] == ["s0", "s1"]


@pytest.mark.parametrize("line", ["{}", "[]", '{"name": "a", "stage": "b", "state": 3, "reason": ""}'])
def test_damaged_results_of_a_sweep(line: str, tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text("")
    make_search(tmp_path / "search" / "s0")
    (tmp_path / "results.jsonl").write_text(line)
    with pytest.raises(RunError, match=r"results\.jsonl, line 1"):
        load_runs([tmp_path])


@pytest.mark.parametrize("file", ["config.yaml", "metrics.jsonl"])
def test_damaged_runs_that_a_sweep_knows_of(file: str, tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text("")
    for name in ("s0", "s1"):
        make_search(tmp_path / "search" / name)
    (tmp_path / "search" / "s1" / file).write_text("[")
    results(tmp_path, ("search/s0", "finished", ""), ("search/s1", "failed", "damaged"))
    assert [own.info.name for own in load_runs([tmp_path]).searches] == ["s0"]
    results(tmp_path, ("search/s0", "finished", ""), ("search/s1", "finished", ""))
    with pytest.raises(RunError):
        load_runs([tmp_path])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("stages: {screen: {}, final: {cells: best of screen}}", ["final"]),
        ("stages: {screen: {}, final: {cells: best 3 of screen}}", ["final"]),
        ("stages: {screen: {}, final: {cells: screen}}", ["screen", "final"]),
    ],
)
@pytest.mark.usefixtures("without_checksums")
def test_trainings_that_choose_are_not_compared_with_others(
    text: str, names: list[str], tmp_path: Path
) -> None:
    (tmp_path / "sweep.yaml").write_text(text)
    run = make_search(tmp_path / "other")
    for name in ("screen/a", "final/a"):
        made = make_training(tmp_path / name, found_cell(run))
        result = made.result() or {}
        (made.path / "result.json").write_text(
            json.dumps(result | {"last": {"valid": result["last"]["test"]}})
        )
    results(tmp_path, ("screen/a", "finished", ""), ("final/a", "finished", ""))
    assert [own.info.path.parent.name for own in load_runs([tmp_path]).comparable_trainings] == names


def test_the_rank_that_the_shipped_benchmark_tells(tmp_path: Path) -> None:
    run = make_search(tmp_path / "s", "nano")
    searches = load_runs([run.path]).searches
    (rank,) = find_tables(searches, None).ranks(searches[0])
    nano = load_table("nano")
    test = nano.query(found_cell(run), nano.datasets[0]).test
    assert (rank.test, rank.size) == (test, 216)
    assert rank.rank == nano.ranking(nano.datasets[0]).standing(test).rank
    first = searches[0].epochs[0].genotype
    assert (
        find_tables(searches, None).ranks(searches[0], first)[0].test == nano.query(first, rank.dataset).test
    )


def test_no_rank_where_no_benchmark_knows_the_space_or_the_cell(tmp_path: Path) -> None:
    searches = load_runs([make_search(tmp_path / "s", "darts").path]).searches
    assert find_tables(searches, None).ranks(searches[0]) == []
    odd = get_space("nano").without("none")
    less = load_runs(
        [make_search(tmp_path / "l", odd).path, make_search(tmp_path / "e", epochs=0, finish=False).path]
    )
    found = find_tables(less.searches, None)
    assert len(found.ranks(less.searches[0])) == 1
    assert found.ranks(less.searches[1]) == []


def test_a_table_that_is_of_no_use(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("?")
    searches = load_runs([make_search(tmp_path / "s", "darts").path]).searches
    with pytest.raises(OptionError, match=r"the spaces searched are darts; there are benchmarks for .*nb201"):
        find_tables(searches, table)
    searches = load_runs([make_search(tmp_path / "n", "nb201").path]).searches
    with pytest.raises(TableError):
        find_tables(searches, table)


def test_a_table_that_does_not_ship(tmp_path: Path) -> None:
    table = Path(os.environ.get("DARTBOARD_DATA", "nowhere")) / "nb201.csv.gz"
    if not table.is_file():
        pytest.skip("DARTBOARD_DATA does not name a folder with nb201.csv.gz")
    searches = load_runs([make_search(tmp_path / "s", "nb201").path]).searches
    assert find_tables(searches, None).ranks(searches[0]) == []
    ranks = find_tables(searches, table).ranks(searches[0])
    assert [own.dataset for own in ranks] == list(load_table("nb201", table).datasets)
    assert all(own.size == 15_625 for own in ranks)
