"""Searches of a bench as jobs: run, scored, stopped and resumed, killed, and failing without harm."""

import json
import os
import shutil
import signal
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from dartboard.engine.hooks import LoopHook
from dartboard.engine.state import capture, copied
from dartboard.errors import RunError, Stopped
from dartboard.jobs.executors import make_executor
from dartboard.jobs.executors.local import InlineExecutor
from dartboard.jobs.job import JobResult
from dartboard.jobs.queue import JobQueue
from dartboard.jobs.runner import JobRunner
from dartboard.runs import Run
from dartboard.scoreboard import scored_search
from dartboard.scoreboard.bench import BenchSearch, plan_jobs, portable
from dartboard.scoreboard.records import BenchRecord, Correlation, read_records
from dartboard.scoreboard.scored_search import (
    correlate,
    draw_genotypes,
    live_space,
    rank_correlation,
    score_run,
    shortest,
)
from dartboard.search import Searcher
from dartboard.search.health import discrete_accuracy
from dartboard.space import Genotype, decode, get_space, sample
from dartboard.tables import Record, Table
from helpers.bench_runs import (
    comparable,
    read_comparable,
    record_of,
    run_searches,
    scoring,
    settings,
    toy_table,
)
from helpers.executor_checks import when_saved, writer_pid
from helpers.protocol_cases import few_digits
from helpers.search_cases import search as run_search

pytestmark = pytest.mark.usefixtures("one_thread")


def plan(data: str, *words: str, methods: str = "darts,random-ws", seeds: str = "0") -> list[BenchSearch]:
    few_samples = ["methods.random-ws.method.samples=2"] if "random-ws" in methods else []
    return plan_jobs(settings(data, *few_samples, *words, methods=methods, seeds=seeds))


def test_every_search_leaves_a_run_and_a_record(data: str, tmp_path: Path) -> None:
    searches = plan(data)
    results = run_searches(tmp_path, searches)
    assert [result.state for result in results.values()] == ["finished", "finished"]
    assert [record.label for record in read_records(tmp_path / "records")] == ["darts", "random-ws"]
    for search in searches:
        run = Run.read(tmp_path / "runs" / search.name)
        assert run.state == "finished"
        assert run.config == search.settings()
        record = scoring(tmp_path).record(search)
        assert record is not None
        assert record.correlation is not None
        assert record.correlation.samples == 4


def test_correlations_are_measured_where_configured(data: str, tmp_path: Path) -> None:
    [search] = plan(data, methods="darts")
    assert record_of(tmp_path / "none", search, 0).correlation is None
    correlation = record_of(tmp_path / "six", search, 6).correlation
    assert isinstance(correlation, Correlation)
    assert correlation.samples == 6


def test_what_trains_nothing_has_no_correlation(data: str, tmp_path: Path) -> None:
    [search] = plan(data, "methods.any.method=random", methods="any")
    record = record_of(tmp_path, search)
    assert record.correlation is None
    assert record.points == ()
    assert record.final.epoch == 0


def test_an_existing_record_is_kept(data: str, tmp_path: Path) -> None:
    [search] = plan(data, methods="darts")
    first = record_of(tmp_path, search)
    before = (tmp_path / "records" / "darts-s0.json").stat().st_mtime_ns
    assert record_of(tmp_path, search) == first
    assert (tmp_path / "records" / "darts-s0.json").stat().st_mtime_ns == before
    assert len(Run.read(tmp_path / "runs" / "darts-s0").environment()) == 1


def test_a_finished_run_is_scored_without_running_again(data: str, tmp_path: Path) -> None:
    [search] = plan(data, methods="darts")
    first = record_of(tmp_path, search)
    (tmp_path / "records" / "darts-s0.json").unlink()
    assert record_of(tmp_path, search) == first
    assert len(Run.read(tmp_path / "runs" / "darts-s0").environment()) == 1


def test_a_search_that_fails_does_not_stop_the_others(data: str, tmp_path: Path) -> None:
    bad = ["methods.bad.method=darts", "methods.bad.weights.lr=1e30", "methods.bad.weights.clip=0"]
    results = run_searches(tmp_path, plan(data, *bad, methods="bad,darts"))
    failed = results["bad-s0"]
    assert (failed.state, failed.error_type) == ("failed", "DivergedError")
    assert "\n" not in failed.error
    assert "epoch 0" in failed.error
    assert results["darts-s0"].state == "finished"
    assert [record.label for record in read_records(tmp_path / "records")] == ["darts"]


def test_a_run_of_other_settings_fails_alone(data: str, tmp_path: Path) -> None:
    [other] = plan(data, "epochs=3", methods="darts")
    Run.create(tmp_path / "runs" / "darts-s0", other.settings()).close()
    results = run_searches(tmp_path, plan(data), correlation=0)
    assert "darts-s0 is a run with other settings: epochs was 3, is 2" in results["darts-s0"].error
    assert results["random-ws-s0"].state == "finished"


def test_a_run_that_another_process_holds_is_waited_for(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dartboard.jobs.queue.BUSY_DELAY", 0.05)
    searches = plan(data)
    other = Run.create(tmp_path / "runs" / "darts-s0", searches[0].settings())
    executor = InlineExecutor()
    results = JobQueue(executor).run([scoring(tmp_path, 0).job(search) for search in searches])
    assert next(results).job.name == "random-ws-s0"
    other.close()
    assert [(result.job.name, result.state) for result in results] == [("darts-s0", "finished")]


def test_an_unexpected_error_is_a_failure_with_its_name(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(scored_search, "score_run", broken)
    [failed] = run_searches(tmp_path, plan(data, methods="darts"), correlation=0).values()
    assert failed.state == "failed"
    assert failed.error.startswith("ZeroDivisionError: a bug")


def test_a_lack_of_memory_is_a_failure(data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(scored_search, "score_run", full)
    [failed] = run_searches(tmp_path, plan(data, methods="darts"), correlation=0).values()
    assert failed.error.startswith("out of memory; use a smaller net.channels or batch")


def undisturbed(path: Path, searches: list[BenchSearch]) -> list[Any]:
    assert all(result.state == "finished" for result in run_searches(path, searches).values())
    return read_comparable(path / "records")


def test_a_stopped_search_resumes_to_the_same_record(data: str, tmp_path: Path) -> None:
    searches, path = plan(data, "epochs=4", methods="darts"), tmp_path / "stopped" / "runs" / "darts-s0"

    class StopAt5(LoopHook[Any, Any, Any]):
        def on_step_end(self, loop: Any) -> None:
            if loop.step == 5:
                queue.stop()

    queue = JobQueue(InlineExecutor(JobRunner([StopAt5()])))
    with pytest.raises(Stopped):
        list(queue.run([scoring(tmp_path / "stopped").job(search) for search in searches]))
    assert Run.read(path).state == "stopped"
    state = Run.read(path).load()
    assert state is not None
    assert state[0] == 5
    run_searches(tmp_path / "stopped", searches)
    assert len(Run.read(path).environment()) == 2
    assert read_comparable(tmp_path / "stopped" / "records") == undisturbed(tmp_path / "whole", searches)


def test_nothing_starts_after_a_stop(data: str, tmp_path: Path) -> None:
    queue = JobQueue(InlineExecutor())
    queue.stop()
    with pytest.raises(Stopped):
        list(queue.run([scoring(tmp_path).job(search) for search in plan(data)]))
    assert list(tmp_path.iterdir()) == []


def test_a_stop_while_correlations_are_measured(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = plan(data, methods="darts")
    queue, correlate = JobQueue(InlineExecutor()), scored_search.correlate

    def stop_and_correlate(*given: Any) -> Any:
        queue.stop()
        return correlate(*given)

    with monkeypatch.context() as patch:
        patch.setattr(scored_search, "correlate", stop_and_correlate)
        with pytest.raises(Stopped):
            list(queue.run([scoring(tmp_path / "stopped").job(search) for search in searches]))
    assert Run.read(tmp_path / "stopped" / "runs" / "darts-s0").state == "finished"
    assert read_records(tmp_path / "stopped" / "records") == []
    record = record_of(tmp_path / "stopped", searches[0])
    assert [comparable(record)] == undisturbed(tmp_path / "whole", searches)


def run_and_kill(tmp_path: Path, data: str, executor: str, **options: Any) -> dict[str, JobResult]:
    """Two searches on an executor, of which the first is killed once; compared with undisturbed ones."""
    searches = plan(data, "epochs=5", methods="darts", seeds="0-1")
    first = tmp_path / "killed" / "runs" / "darts-s0"
    killer = when_saved(first, lambda: os.kill(writer_pid(first), signal.SIGKILL))
    results = run_searches(tmp_path / "killed", searches, make_executor(executor, options))
    killer.join()
    runs = {search.name: Run.read(tmp_path / "killed" / "runs" / search.name) for search in searches}
    assert len(runs["darts-s0"].environment()) == 2
    assert read_comparable(tmp_path / "killed" / "records") == undisturbed(tmp_path / "whole", searches)
    return results


def test_a_killed_worker_loses_nothing_in_a_pool(data: str, tmp_path: Path) -> None:
    results = run_and_kill(tmp_path, data, "pool", jobs=2, threads=1)
    assert {result.state for result in results.values()} == {"finished"}


@pytest.mark.slow
def test_a_killed_worker_loses_nothing_on_ray(data: str, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    results = run_and_kill(tmp_path, data, "ray", jobs=2, threads=1)
    assert {result.state for result in results.values()} == {"finished"}


@pytest.mark.slow
def test_a_killed_worker_loses_nothing_on_slurm(data: str, tmp_path: Path) -> None:
    pytest.importorskip("submitit")
    results = run_and_kill(tmp_path, data, "slurm", cluster="local", jobs=2, threads=1, poll=0.1)
    assert {result.state for result in results.values()} == {"finished"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[BenchSearch, Run]:
    """A search of two epochs, and where it was done."""
    path = tmp_path_factory.mktemp("finished")
    [job] = plan_jobs(settings(few_digits(path / "few.npz"), methods="gaea-darts", seeds="3"))
    record_of(path, job, 0)
    return job, Run.read(path / "runs" / "gaea-darts-s3")


def genotype_of(found: dict[str, object]) -> Genotype:
    return decode(json.dumps(found["genotype"]))


def test_every_epoch_and_the_end_are_asked_about(finished: tuple[BenchSearch, Run]) -> None:
    job, run = finished
    oracle, result = toy_table(), run.result()
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
    oracle = toy_table()
    record = score_run(job, run, oracle, None)
    assert (record.label, record.seed, record.oracle) == ("gaea-darts", 3, "toy")
    assert record.best == {own: oracle.ranking(own).best for own in ("one", "two")}
    assert record.settings == portable(job.settings())
    last = run.environment()[-1]
    assert record.versions["torch"] == last["torch"]
    assert record.versions["revision"] == last["git"]["revision"]


def test_a_record_comes_back_from_its_file(finished: tuple[BenchSearch, Run], tmp_path: Path) -> None:
    job, run = finished
    record = score_run(job, run, toy_table(), None)
    assert BenchRecord.read(record.write(tmp_path)) == record


def test_equal_cells_are_asked_about_once(finished: tuple[BenchSearch, Run]) -> None:
    job, run = finished
    oracle = toy_table()
    record = score_run(job, run, oracle, None)
    cells = {point.cell for point in (*record.points, record.final)}
    assert len(oracle.asked) == 2 * len(cells)  # type: ignore[attr-defined]


def test_nothing_is_asked_before_a_search_is_over(tmp_path: Path) -> None:
    [job] = plan_jobs(settings("digits"))
    oracle = toy_table()
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
@pytest.mark.usefixtures("without_checksums")
def test_a_damaged_run_is_named(
    finished: tuple[BenchSearch, Run], tmp_path: Path, file: str, change: dict[str, Any] | None, words: str
) -> None:
    job, run = finished
    path = tmp_path / "run"
    shutil.copytree(run.path, path)
    before = json.loads((path / file).read_text())
    (path / file).write_text(json.dumps({} if change is None else before | change))
    with pytest.raises(RunError) as caught:
        score_run(job, Run.read(path), toy_table(), None)
    assert str(caught.value).startswith(f"{path} was changed after it was written: {words}")


@pytest.mark.usefixtures("without_checksums")
def test_a_source_without_a_revision(finished: tuple[BenchSearch, Run], tmp_path: Path) -> None:
    job, run = finished
    path = tmp_path / "run"
    shutil.copytree(run.path, path)
    [start] = run.environment()
    (path / "environment.json").write_text(json.dumps([start | {"git": {}}]))
    assert "revision" not in score_run(job, Run.read(path), toy_table(), None).versions


@pytest.mark.parametrize(
    ("space", "start"), [("nano", "|"), ("nb201", "|"), ("oneshot1", "{"), ("darts", "Genotype(")]
)
def test_the_shortest_notation_says_the_same(space: str, start: str) -> None:
    genotype = sample(get_space(space), Random(0))
    text = shortest(genotype)
    assert text.startswith(start)
    assert decode(text) == genotype


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
    drawn = draw_genotypes(space, 30)
    assert len(set(drawn)) == 30
    assert draw_genotypes(space, 30) == drawn
    assert draw_genotypes(space, 10) == drawn[:10]


def test_a_small_space_has_no_more() -> None:
    space = get_space("nano")
    for op in space.ops[2:]:
        space = space.without(op)
    assert len(draw_genotypes(space, 30)) == 2 ** len(space.cells["cell"].edges)


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
    searcher = run_search(
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
    correlate(trained, toy_table(), 3)
    after = copied(capture(trained))
    assert torch.equal(torch.get_rng_state(), chance)
    for name, value in before["net"].items():
        assert torch.equal(after["net"][name], value)


def test_candidates_that_are_gone_are_not_drawn() -> None:
    searcher = run_search("xnas", epochs=1)
    cell = searcher.space.cells["cell"]
    searcher.relaxation.kill("cell", 0, 1)
    searcher.prune()
    left = live_space(searcher.space, searcher.relaxation).cells["cell"]
    assert left.edges[0].ops == cell.edges[0].ops[:1] + cell.edges[0].ops[2:]
    assert left.edges[1:] == cell.edges[1:]
    found = correlate(searcher, toy_table(), 8)
    assert found is not None
    assert found.samples == 8


def test_nothing_is_left_to_compare() -> None:
    searcher = run_search("xnas", epochs=1)
    for edge, own in enumerate(searcher.space.cells["cell"].edges):
        for place in range(1, len(own.ops)):
            searcher.relaxation.kill("cell", edge, place)
    searcher.prune()
    assert correlate(searcher, toy_table(), 8) is None
