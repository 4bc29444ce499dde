"""Searches of a bench in several processes, of which some are really killed."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from dartboard.scoreboard.pool import Pool, Setup

from benches import PLUGIN, desk, place, settings, story
from dartboard.errors import Stopped
from dartboard.runs import Run, is_run, list_checkpoints
from dartboard.scoreboard import pool as pool_module
from dartboard.scoreboard.jobs import Job, plan_jobs
from executing import holder

PATIENCE = 60
pytestmark = pytest.mark.usefixtures("one_thread")


def jobs(data: str, *words: str, methods: str = "darts", seeds: str = "0") -> list[Job]:
    return plan_jobs(settings(data, *words, methods=methods, seeds=seeds))


def pool(path: Path, count: int = 2) -> Pool:
    return Pool(Setup(place(path), 1, (PLUGIN,)), count)


def is_ripe(path: Path) -> bool:
    """Whether a search has saved something and is not done."""
    return is_run(path) and Run.read(path).state == "running" and bool(list_checkpoints(path / "checkpoints"))


def when_ripe(path: Path, act: Callable[[], None]) -> Thread:
    """Does something as soon as a search has saved something."""

    def watch() -> None:
        until = time.monotonic() + PATIENCE
        while not is_ripe(path) and time.monotonic() < until:
            time.sleep(0.02)
        act()

    thread = Thread(target=watch)
    thread.start()
    return thread


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_killed_process_loses_nothing(data: str, tmp_path: Path) -> None:
    found = jobs(data, "epochs=5", seeds="0-1")
    first = tmp_path / "pool" / "runs" / "darts-s0"
    killer = when_ripe(first, lambda: os.kill(holder(first), signal.SIGKILL))
    outcomes = list(pool(tmp_path / "pool").run(found))
    killer.join()
    assert {outcome.job.name for outcome in outcomes} == {job.name for job in found}
    assert [outcome.failure for outcome in outcomes] == [None] * 2
    starts = {job.name: len(Run.read(tmp_path / "pool" / "runs" / job.name).environment()) for job in found}
    assert starts == {"darts-s0": 2, "darts-s1": 1}
    threads = {Run.read(tmp_path / "pool" / "runs" / job.name).environment()[-1]["threads"] for job in found}
    assert threads == {1}
    list(desk(tmp_path / "desk").run(found))
    assert story(tmp_path / "pool" / "records") == story(tmp_path / "desk" / "records")


@pytest.mark.slow
def test_a_stop_saves_all_searches(data: str, tmp_path: Path) -> None:
    found = jobs(data, "epochs=1000", "batch=1", seeds="0-2")
    paths = [tmp_path / "runs" / job.name for job in found]
    own = pool(tmp_path)
    stopper = when_ripe(paths[0], lambda: when_ripe(paths[1], own.stop).join())
    with pytest.raises(Stopped, match="stopped; searches not begun: 1"):
        list(own.run(found))
    stopper.join()
    runs = [Run.read(path) for path in paths[:2]]
    assert [run.state for run in runs] == ["stopped", "stopped"]
    assert not any(is_alive(holder(run.path)) for run in runs)
    saved = [state[0] for run in runs if (state := run.load()) is not None]
    steps = [32 * len(run.metrics()) for run in runs]
    assert any(one > other for one, other in zip(saved, steps, strict=True))  # in the middle of an epoch
    assert not is_run(paths[2])


@pytest.mark.slow
def test_processes_end_with_whoever_leaves(data: str, tmp_path: Path) -> None:
    quick, slow = [*jobs(data), *jobs(data, "epochs=1000", seeds="1")]
    outcomes = pool(tmp_path).run([quick, slow])
    assert next(outcomes).job == quick
    path = tmp_path / "runs" / slow.name
    when_ripe(path, lambda: None).join()
    outcomes.close()
    assert not is_alive(holder(path))
    assert Run.read(path).state == "stopped"


@pytest.mark.slow
def test_a_process_that_ends_too_often(data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "TRIES", 1)
    doomed, other = [*jobs(data, "epochs=1000"), *jobs(data, seeds="1")]
    path = tmp_path / "runs" / doomed.name
    killer = when_ripe(path, lambda: os.kill(holder(path), signal.SIGKILL))
    failed, done = pool(tmp_path, count=1).run([doomed, other])
    killer.join()
    assert failed.failure == (
        "its process ended 1 times, the last time with code -9; if memory ran out, set fewer --jobs"
    )
    assert done.job == other
    assert done.failure is None


def test_what_another_process_is_at_is_left_to_it(data: str, tmp_path: Path) -> None:
    found = jobs(data, seeds="0-1")
    with Run.create(tmp_path / "runs" / "darts-s0", found[0].settings()) as other:
        outcomes = pool(tmp_path, 1).run(found)
        first = next(outcomes)
        assert (first.job.name, first.failure) == ("darts-s1", None)
        [second] = outcomes
        assert (second.job.name, second.record, second.failure, second.busy) == ("darts-s0", None, None, True)
        assert other.state == "running"
