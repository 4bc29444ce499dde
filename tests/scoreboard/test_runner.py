"""Searches of a bench in this process: done, kept, stopped and gone on with, and failing without harm."""

from pathlib import Path
from typing import Any

import pytest

from benches import desk, said, settings, story
from dartboard.errors import Stopped
from dartboard.runs import Run
from dartboard.scoreboard import runner
from dartboard.scoreboard.jobs import Job, plan_jobs
from dartboard.scoreboard.records import BenchRecord, Correlation, read_records
from dartboard.search import Searcher
from dartboard.search.hooks import LoopHook

pytestmark = pytest.mark.usefixtures("one_thread")


def jobs(data: str, *words: str, methods: str = "darts,random-ws", seeds: str = "0") -> list[Job]:
    few_samples = ["methods.random-ws.method.samples=2"] if "random-ws" in methods else []
    return plan_jobs(settings(data, *few_samples, *words, methods=methods, seeds=seeds))


def test_every_search_leaves_a_run_and_a_record(data: str, tmp_path: Path) -> None:
    found = list(desk(tmp_path).run(jobs(data)))
    assert [outcome.job.name for outcome in found] == ["darts-s0", "random-ws-s0"]
    assert [outcome.record for outcome in found] == read_records(tmp_path / "records")
    for outcome in found:
        run = Run.read(tmp_path / "runs" / outcome.job.name)
        assert run.state == "finished"
        assert run.config == outcome.job.settings()
        assert outcome.record is not None
        assert outcome.record.correlation is not None
        assert outcome.record.correlation.samples == 4


def test_correlations_are_measured_when_they_are_asked_for(data: str, tmp_path: Path) -> None:
    [job] = jobs(data, methods="darts")
    assert desk(tmp_path / "none", correlation=0).do(job).correlation is None
    found = desk(tmp_path / "six", correlation=6).do(job).correlation
    assert isinstance(found, Correlation)
    assert found.samples == 6


def test_what_trains_nothing_has_no_correlation(data: str, tmp_path: Path) -> None:
    [job] = jobs(data, "methods.any.method=random", methods="any")
    record = desk(tmp_path).do(job)
    assert record.correlation is None
    assert record.points == ()
    assert record.final.epoch == 0


def test_a_record_that_is_there_is_kept(data: str, tmp_path: Path) -> None:
    [job] = jobs(data, methods="darts")
    first = desk(tmp_path).do(job)
    before = (tmp_path / "records" / "darts-s0.json").stat().st_mtime_ns
    assert desk(tmp_path).do(job) == first
    assert (tmp_path / "records" / "darts-s0.json").stat().st_mtime_ns == before
    assert len(Run.read(tmp_path / "runs" / "darts-s0").environment()) == 1


def test_a_run_that_is_finished_is_asked_about(data: str, tmp_path: Path) -> None:
    [job] = jobs(data, methods="darts")
    first = desk(tmp_path).do(job)
    (tmp_path / "records" / "darts-s0.json").unlink()
    assert desk(tmp_path).do(job) == first
    assert len(Run.read(tmp_path / "runs" / "darts-s0").environment()) == 1


def test_a_search_that_fails_does_not_stop_the_others(data: str, tmp_path: Path) -> None:
    bad = ["methods.bad.method=darts", "methods.bad.weights.lr=1e30", "methods.bad.weights.clip=0"]
    failed, done = desk(tmp_path).run(jobs(data, *bad, methods="bad,darts"))
    assert failed.record is None
    assert failed.failure is not None
    assert "\n" not in failed.failure
    assert "epoch 0" in failed.failure
    assert done.failure is None
    assert [record.label for record in read_records(tmp_path / "records")] == ["darts"]


def test_a_run_of_other_settings_fails_alone(data: str, tmp_path: Path) -> None:
    [other] = jobs(data, "epochs=3", methods="darts")
    Run.create(tmp_path / "runs" / "darts-s0", other.settings()).close()
    failed, done = desk(tmp_path, correlation=0).run(jobs(data))
    assert failed.failure is not None
    assert "darts-s0 is a run with other settings: epochs was 3, is 2" in failed.failure
    assert done.record is not None


def test_what_another_process_is_at_is_left_to_it(data: str, tmp_path: Path) -> None:
    found = jobs(data)
    with Run.create(tmp_path / "runs" / "darts-s0", found[0].settings()):
        done, busy = desk(tmp_path, correlation=0).run(found)
    assert (done.job.name, done.busy) == ("random-ws-s0", False)
    assert done.record is not None
    assert (busy.job.name, busy.busy) == ("darts-s0", True)
    assert (busy.record, busy.failure) == (None, None)


def test_what_another_process_has_done_meanwhile_is_taken_over(data: str, tmp_path: Path) -> None:
    found = jobs(data)
    other = Run.create(tmp_path / "runs" / "darts-s0", found[0].settings())
    outcomes = desk(tmp_path, correlation=0).run(found)
    assert next(outcomes).job.name == "random-ws-s0"
    other.close()
    record = desk(tmp_path, correlation=0).do(found[0])
    assert [(own.job.name, own.record) for own in outcomes] == [("darts-s0", record)]


def test_a_run_of_other_settings_fails_though_it_is_in_use(data: str, tmp_path: Path) -> None:
    [job], [other] = jobs(data, methods="darts"), jobs(data, "epochs=3", methods="darts")
    with Run.create(tmp_path / "runs" / "darts-s0", other.settings()):
        [failed] = desk(tmp_path).run([job])
    assert failed.failure is not None
    assert not failed.busy


def test_a_bug_is_not_hidden(data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(runner, "ask", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        list(desk(tmp_path).run(jobs(data)))


def test_memory_that_runs_out_is_a_failure(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(runner, "ask", full)
    failed, _ = desk(tmp_path, correlation=0).run(jobs(data))
    assert failed.failure == "out of memory; use a smaller net.channels or batch, or fewer cells"


def undisturbed(path: Path, found: list[Job]) -> list[Any]:
    assert all(outcome.failure is None for outcome in desk(path).run(found))
    return story(path / "records")


def test_a_stopped_search_goes_on_to_the_same_record(data: str, tmp_path: Path) -> None:
    found = jobs(data, "epochs=4", methods="darts")
    own, path = desk(tmp_path / "stopped"), tmp_path / "stopped" / "runs" / "darts-s0"

    class StopAt5(LoopHook[Any, Any, Any]):
        def on_step_end(self, loop: Any) -> None:
            if loop.step == 5:
                own.stop()

    own._inner.hooks = [StopAt5()]
    with pytest.raises(Stopped, match="stopped in darts-s0"):
        list(own.run(found))
    assert Run.read(path).state == "stopped"
    state = Run.read(path).load()
    assert state is not None
    assert state[0] == 5
    list(desk(tmp_path / "stopped").run(found))
    assert len(Run.read(path).environment()) == 2
    assert story(tmp_path / "stopped" / "records") == undisturbed(tmp_path / "whole", found)


def test_nothing_begins_after_a_stop(data: str, tmp_path: Path) -> None:
    own = desk(tmp_path)
    own.stop()
    with pytest.raises(Stopped):
        list(own.run(jobs(data)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("late", [True, False])
def test_a_stop_while_correlations_are_measured(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    found = jobs(data, methods="darts")
    own, make, revive = desk(tmp_path / "stopped"), runner.Maker.make, runner.revive

    def make_and_stop(maker: Any, *given: Any) -> Searcher:
        if len(given) == 1:  # without hooks: to measure with
            own.stop()
        return make(maker, *given)

    def revive_and_stop(*given: Any, **options: Any) -> None:
        revive(*given, **options)
        own.stop()

    with monkeypatch.context() as patch:
        patch.setattr(*(runner, "revive", revive_and_stop) if late else (runner.Maker, "make", make_and_stop))
        with pytest.raises(Stopped):
            list(own.run(found))
    assert Run.read(tmp_path / "stopped" / "runs" / "darts-s0").state == "finished"
    assert read_records(tmp_path / "stopped" / "records") == []
    record = desk(tmp_path / "stopped").do(found[0])
    assert isinstance(record, BenchRecord)
    assert [said(record)] == undisturbed(tmp_path / "whole", found)
