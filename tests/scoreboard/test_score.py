from dataclasses import replace
from pathlib import Path

import pytest

from benches import run_searches, settings, toy
from dartboard.errors import TableError
from dartboard.scoreboard.config import BenchConfig
from dartboard.scoreboard.jobs import plan_jobs
from dartboard.scoreboard.score import check_queries, run_baselines, score_bench
from dartboard.tables import Table
from protocols import few


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Images, and the records of a bench on them."""
    path = tmp_path_factory.mktemp("finished")
    data = few(path / "few.npz")
    searches = plan_jobs(settings(data, methods="gaea-darts,darts", seeds="0-1"))
    results = run_searches(path, searches, correlation=0)
    assert {result.state for result in results.values()} == {"finished"}
    return data, path / "records"


def untimed() -> Table:
    """The benchmark without its times."""
    oracle = toy()
    query = oracle.query
    oracle.query = lambda *asked: replace(query(*asked), seconds=None)  # type: ignore[method-assign]
    return oracle


def bench(data: str, *words: str, methods: str = "gaea-darts,darts", seeds: str = "0-1") -> BenchConfig:
    return settings(data, *words, methods=methods, seeds=seeds)


def test_records_are_in_the_order_of_the_bench(finished: tuple[str, Path]) -> None:
    data, folder = finished
    score = score_bench(bench(data, "queries=5"), folder, toy())
    assert [(own.label, own.seed) for own in score.records] == [
        ("gaea-darts", 0),
        ("gaea-darts", 1),
        ("darts", 0),
        ("darts", 1),
    ]
    assert [row.label for row in score.table.rows][:2] == ["gaea-darts", "darts"]


def test_what_is_missing_is_shown(finished: tuple[str, Path]) -> None:
    data, folder = finished
    table = score_bench(bench(data, "queries=5", methods="darts,xnas", seeds="1-2"), folder, toy()).table
    assert [(row.label, row.done, row.missing) for row in table.rows][:2] == [
        ("darts", 1, (2,)),
        ("xnas", 0, (1, 2)),
    ]


def test_records_of_other_settings_do_not_count(finished: tuple[str, Path]) -> None:
    data, folder = finished
    with pytest.raises(TableError, match="is a record of other settings: epochs was 2, is 3"):
        score_bench(bench(data, "queries=5", "epochs=3"), folder, toy())


def test_everything_is_written(finished: tuple[str, Path], tmp_path: Path) -> None:
    data, folder = finished
    oracle = toy()
    score = score_bench(bench(data, "queries=5"), folder, oracle)
    written = score.write(tmp_path / "new", oracle)
    assert {path.name for path in written} >= {"table.md", "table.csv", "table.json", "regret-epochs.svg"}
    assert all(path.stat().st_size for path in written)
    assert (tmp_path / "new" / "table.md").read_text() == score.table.markdown()


def test_baselines_ask_as_often_as_the_mean_search_pays_for(finished: tuple[str, Path]) -> None:
    data, folder = finished
    score = score_bench(bench(data), folder, toy())
    mean = sum(own.final.seconds or 0 for own in score.records) / 4
    assert [own.queries for own in score.baselines] == [int(mean / 0.01)] * 2


def test_as_long_as_nothing_is_done_nobody_pays() -> None:
    assert run_baselines(bench("digits"), [], toy()) == []
    assert [own.label for own in run_baselines(bench("digits", "queries=2"), [], toy())] == [
        "random",
        "evolution",
    ]


def test_queries_that_nobody_will_know() -> None:
    check_queries(bench("digits"), toy())
    check_queries(bench("digits", "queries=5"), untimed())
    check_queries(bench("digits", "baselines=[]"), untimed())
    with pytest.raises(TableError, match=r"toy does not know how long trainings take; .* with queries=N"):
        check_queries(bench("digits"), untimed())
