import json
import shutil
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from benches import record_of, settings, toy
from dartboard.engine.state import capture, copied
from dartboard.errors import RunError
from dartboard.runs import Run
from dartboard.scoreboard.jobs import BenchSearch, plan_jobs, portable
from dartboard.scoreboard.records import BenchRecord, Correlation
from dartboard.scoreboard.scoring import correlate, draw, live_space, rank_correlation, score_run, shortest
from dartboard.search import Searcher
from dartboard.search.evaluate import discrete_accuracy
from dartboard.space import Genotype, decode, get_space, sample
from dartboard.tables import Record, Table
from protocols import few
from searching import search


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
    assert record.settings == portable(job.settings())
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


pytestmark = pytest.mark.usefixtures("one_thread")


def shared_accuracy(searcher: Searcher, genotype: Genotype) -> float:
    return discrete_accuracy(searcher.objective, genotype, searcher.valid_batches())


def tau(one: list[int], other: list[int]) -> float:
    """Kendall's tau-b by its definition."""

    def sign(value: int) -> int:
        return (value > 0) - (value < 0)

    pairs = [(sign(one[i] - one[j]), sign(other[i] - other[j])) for i, j in combinations(range(len(one)), 2)]
    agreed = sum(a * b for a, b in pairs)
    return float(agreed / (sum(a != 0 for a, _ in pairs) * sum(b != 0 for _, b in pairs)) ** 0.5)


def rho(one: list[int], other: list[int]) -> float:
    """Spearman's rho by its definition: the correlation of the ranks, equal values at their mean rank."""

    def ranks(values: list[int]) -> torch.Tensor:
        return torch.tensor(
            [sum(v < own for v in values) + sum(v == own for v in values) / 2 for own in values]
        )

    return float(torch.corrcoef(torch.stack([ranks(one), ranks(other)]).double())[0, 1])


@pytest.mark.parametrize("seed", range(5))
def test_rank_correlations_are_what_their_definitions_say(seed: int) -> None:
    rng = Random(seed)
    one, other = ([rng.randint(0, 6) for _ in range(12)] for _ in range(2))
    found = rank_correlation(one, other)
    assert found.kendall == pytest.approx(tau(one, other))
    assert found.spearman == pytest.approx(rho(one, other))
    assert found.samples == 12


def test_what_is_all_the_same_orders_nothing() -> None:
    for pair in (([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]), ([1.0, 2.0, 3.0], [1.0, 1.0, 1.0])):
        found = rank_correlation(*pair)
        assert (found.kendall, found.spearman, found.samples) == (0.0, 0.0, 3)


def test_drawn_architectures_are_different_and_always_the_same() -> None:
    space = get_space("nano")
    drawn = draw(space, 30)
    assert len(set(drawn)) == 30
    assert draw(space, 30) == drawn
    assert draw(space, 10) == drawn[:10]


def test_a_small_space_has_no_more() -> None:
    space = get_space("nano")
    for op in space.ops[2:]:
        space = space.without(op)
    assert len(draw(space, 30)) == 2 ** len(space.cells["cell"].edges)


class Knows:
    """An oracle that says what the shared weights say, or the opposite."""

    name, datasets = "knows", ("first", "second")

    def __init__(self, searcher: Searcher, sign: int = 1) -> None:
        self.space, self._searcher, self._sign = searcher.space, searcher, sign

    def __len__(self) -> int:
        return 1

    def query(self, genotype: Genotype, dataset: str) -> Record:
        assert dataset == "first"
        return Record(None, self._sign * shared_accuracy(self._searcher, genotype), 1, None)

    def ranking(self, dataset: str) -> None:
        raise AssertionError(dataset)


@pytest.fixture(scope="module")
def trained() -> Searcher:
    searcher = search(
        "random-ws", epochs=4, weights={"lr": 0.1}, method_options={"samples": 2, "epoch_samples": 1}
    )
    searcher.fit()
    return searcher


@pytest.mark.parametrize("sign", [1, -1])
def test_whoever_says_the_same_agrees(trained: Searcher, sign: int) -> None:
    oracle: Table = Knows(trained, sign)  # type: ignore[assignment]
    found = correlate(trained, oracle, 12)
    assert found is not None
    assert found.kendall == pytest.approx(sign)
    assert found.spearman == pytest.approx(sign)
    assert found.samples == 12


def test_measuring_changes_nothing(trained: Searcher) -> None:
    before, chance = copied(capture(trained)), torch.get_rng_state()
    correlate(trained, toy(), 3)
    after = copied(capture(trained))
    assert torch.equal(torch.get_rng_state(), chance)
    for name, value in before["net"].items():
        assert torch.equal(after["net"][name], value)


def test_candidates_that_are_gone_are_not_drawn() -> None:
    searcher = search("xnas", epochs=1)
    cell = searcher.space.cells["cell"]
    searcher.relaxation.kill("cell", 0, 1)
    searcher.prune()
    left = live_space(searcher.space, searcher.relaxation).cells["cell"]
    assert left.edges[0].ops == cell.edges[0].ops[:1] + cell.edges[0].ops[2:]
    assert left.edges[1:] == cell.edges[1:]
    found = correlate(searcher, toy(), 8)
    assert found is not None
    assert found.samples == 8


def test_nothing_is_left_to_compare() -> None:
    searcher = search("xnas", epochs=1)
    for edge, own in enumerate(searcher.space.cells["cell"].edges):
        for place in range(1, len(own.ops)):
            searcher.relaxation.kill("cell", edge, place)
    searcher.prune()
    assert correlate(searcher, toy(), 8) is None
