import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from benches import record_of, settings, toy
from dartboard.errors import RunError
from dartboard.runs import Run
from dartboard.scoreboard.jobs import BenchSearch, bare, plan_jobs
from dartboard.scoreboard.records import BenchRecord, Correlation
from dartboard.scoreboard.scoring import score_run, shortest
from dartboard.space import Genotype, decode, get_space, sample
from protocols import few


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[BenchSearch, Run]:
    """A search of two epochs, and where it was done."""
    path = tmp_path_factory.mktemp("finished")
    [job] = plan_jobs(settings(few(path / "few.npz"), methods="gaea-darts", seeds="3"))
    record_of(path, job, 0)
    return job, Run.read(path / "runs" / "gaea-darts-s3")


def genotype_of(found: dict[str, object]) -> Genotype:
    return decode(json.dumps(found["genotype"]))


def test_every_epoch_and_the_end_are_asked_about(finished: tuple[BenchSearch, Run]) -> None:
    job, run = finished
    oracle, result = toy(), run.result()
    assert result is not None
    record = score_run(job, run, oracle, Correlation(0.5, 0.25, 7))
    chosen = [genotype_of(run.epoch(0)), genotype_of(run.epoch(1)), genotype_of(result)]
    points = [*record.points, record.final]
    assert [point.epoch for point in points] == [1, 2, 2]
    assert [decode(point.cell) for point in points] == chosen
    for point, genotype in zip(points, chosen, strict=True):
        assert point.test == {own: oracle.query(genotype, own).test for own in ("one", "two")}
    assert [point.entropy for point in points] == [row["entropy"] for row in (*run.metrics(), result)]
    assert [point.seconds for point in points] == [row["seconds"] for row in (*run.metrics(), result)]
    assert record.correlation == Correlation(0.5, 0.25, 7)


def test_a_record_says_what_it_is_of(finished: tuple[BenchSearch, Run]) -> None:
    job, run = finished
    oracle = toy()
    record = score_run(job, run, oracle, None)
    assert (record.label, record.seed, record.oracle) == ("gaea-darts", 3, "toy")
    assert record.best == {own: oracle.ranking(own).best for own in ("one", "two")}
    assert record.settings == bare(job.settings())
    last = run.environment()[-1]
    assert record.versions["torch"] == last["torch"]
    assert record.versions["revision"] == last["git"]["revision"]


def test_a_record_comes_back_from_its_file(finished: tuple[BenchSearch, Run], tmp_path: Path) -> None:
    job, run = finished
    record = score_run(job, run, toy(), None)
    assert BenchRecord.read(record.write(tmp_path)) == record


def test_equal_cells_are_asked_about_once(finished: tuple[BenchSearch, Run]) -> None:
    job, run = finished
    oracle = toy()
    record = score_run(job, run, oracle, None)
    cells = {point.cell for point in (*record.points, record.final)}
    assert len(oracle.asked) == 2 * len(cells)  # type: ignore[attr-defined]


def test_nothing_is_asked_before_a_search_is_over(tmp_path: Path) -> None:
    [job] = plan_jobs(settings("digits"))
    oracle = toy()
    with (
        Run.create(tmp_path / "run", job.settings()) as run,
        pytest.raises(RunError, match="is not finished"),
    ):
        score_run(job, run, oracle, None)
    assert oracle.asked == []  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("epochs/0000.json", None, "epoch 1: genotype: field required"),
        ("epochs/0000.json", {"genotype": {}}, "epoch 1: "),
        ("epochs/0001.json", {"genotype": [3]}, "epoch 2: genotype: input should be an object"),
        ("epochs/0001.json", {"seconds": "x"}, "epoch 2: seconds: input should be a valid number"),
        ("result.json", None, "epoch None: epoch: input should be a valid integer"),
        ("result.json", {"epochs": "two"}, "epoch two: epoch: input should be a valid integer"),
        ("result.json", {"entropy": {}}, "epoch 2: entropy: input should be a valid number"),
    ],
)
def test_a_damaged_run_is_named(
    finished: tuple[BenchSearch, Run], tmp_path: Path, file: str, change: dict[str, Any] | None, words: str
) -> None:
    job, run = finished
    path = tmp_path / "run"
    shutil.copytree(run.path, path)
    before = json.loads((path / file).read_text())
    (path / file).write_text(json.dumps({} if change is None else before | change))
    with pytest.raises(RunError) as caught:
        score_run(job, Run.read(path), toy(), None)
    assert str(caught.value).startswith(f"{path} was changed after it was written: {words}")


def test_a_source_without_a_revision(finished: tuple[BenchSearch, Run], tmp_path: Path) -> None:
    job, run = finished
    path = tmp_path / "run"
    shutil.copytree(run.path, path)
    [start] = run.environment()
    (path / "environment.json").write_text(json.dumps([start | {"git": {}}]))
    assert "revision" not in score_run(job, Run.read(path), toy(), None).versions


@pytest.mark.parametrize(
    ("space", "start"), [("nano", "|"), ("nb201", "|"), ("oneshot1", "{"), ("darts", "Genotype(")]
)
def test_the_shortest_notation_says_the_same(space: str, start: str) -> None:
    genotype = sample(get_space(space), Random(0))
    text = shortest(genotype)
    assert text.startswith(start)
    assert decode(text) == genotype
