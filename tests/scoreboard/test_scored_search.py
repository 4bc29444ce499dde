"""Searches of a bench as jobs: run, scored, stopped and resumed, killed, and failing without harm."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from benches import read_story, record_of, run_searches, scoring, settings, story_of
from dartboard.errors import Stopped
from dartboard.jobs.executors import make_executor
from dartboard.jobs.executors.inline import InlineExecutor
from dartboard.jobs.job import JobResult
from dartboard.jobs.queue import JobQueue
from dartboard.jobs.runner import JobRunner
from dartboard.runs import Run
from dartboard.scoreboard import scored_search
from dartboard.scoreboard.jobs import BenchSearch, plan_jobs
from dartboard.scoreboard.records import Correlation, read_records
from dartboard.search.hooks import LoopHook
from executing import holder, when_saved

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
    return read_story(path / "records")


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
    assert read_story(tmp_path / "stopped" / "records") == undisturbed(tmp_path / "whole", searches)


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
    assert [story_of(record)] == undisturbed(tmp_path / "whole", searches)


def run_and_kill(tmp_path: Path, data: str, executor: str, **options: Any) -> dict[str, JobResult]:
    """Two searches on an executor, of which the first is killed once; compared with undisturbed ones."""
    searches = plan(data, "epochs=5", methods="darts", seeds="0-1")
    first = tmp_path / "killed" / "runs" / "darts-s0"
    killer = when_saved(first, lambda: os.kill(holder(first), signal.SIGKILL))
    results = run_searches(tmp_path / "killed", searches, make_executor(executor, options))
    killer.join()
    runs = {search.name: Run.read(tmp_path / "killed" / "runs" / search.name) for search in searches}
    assert len(runs["darts-s0"].environment()) == 2
    assert read_story(tmp_path / "killed" / "records") == undisturbed(tmp_path / "whole", searches)
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
