"""Worker processes: the pool that runs jobs, and the map over many items."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event

import pytest
import torch

from dartboard.errors import OptionError
from dartboard.utils.processes import WorkerError, WorkerPool, cpu_count, parallel_map, using_threads

PATIENCE = 60


@dataclass
class Echo:
    """Returns its name, the job and its process; waits or dies where the job says so."""

    name: str
    stopped: Event = field(default_factory=Event)

    def run(self, job: str) -> tuple[str, str, int]:
        if job == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if job == "wait":
            assert self.stopped.wait(PATIENCE)
        return self.name, job, os.getpid()

    def stop(self) -> None:
        self.stopped.set()


Pool = WorkerPool[str, tuple[str, str, int]]


def collect(pool: Pool, count: int) -> list[tuple[str, object]]:
    """So many completed jobs, each with its result or the exit code of its worker."""
    done: list[tuple[str, object]] = []
    until = time.monotonic() + PATIENCE
    while len(done) < count and time.monotonic() < until:
        done += [
            (completed.job, completed.result or completed.exit_code) for completed in pool.completed(0.1)
        ]
    return done


def test_workers_are_used_again_and_replaced_when_they_die() -> None:
    pool: Pool = WorkerPool([partial(Echo, "a"), partial(Echo, "b")])
    try:
        assert pool.free == 2
        pool.submit("one")
        [(_, first)] = collect(pool, 1)
        pool.submit("two")
        [(_, second)] = collect(pool, 1)
        assert isinstance(first, tuple)
        assert first[:2] == ("a", "one")
        assert second == ("a", "two", first[2])  # by the same process
        pool.submit("wait")
        pool.submit("die")
        assert pool.free == 0
        assert collect(pool, 1) == [("die", -signal.SIGKILL)]
        pool.stop()
        assert collect(pool, 1) == [("wait", ("a", "wait", first[2]))]
        pool.submit("three")
        pool.submit("four")
        names = {result[0] for _, result in collect(pool, 2) if isinstance(result, tuple)}
        assert names == {"a", "b"}
    finally:
        pool.close()
    assert pool.free == 2


def squared(number: int) -> int:
    return number * number


def process_and_threads(_: int) -> tuple[int, int]:
    return os.getpid(), torch.get_num_threads()


def refuse(number: int) -> int:
    if number == 2:
        raise OptionError("not two")
    return number


def die(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.parametrize("jobs", [1, 2, 7])
def test_every_item_is_mapped_once(jobs: int) -> None:
    results = list(parallel_map(squared, range(5), jobs))
    assert sorted(results) == [(number, number**2) for number in range(5)]
    assert jobs > 1 or results == sorted(results)


def test_one_job_runs_in_this_process_and_several_do_not() -> None:
    assert {process for _, (process, _) in parallel_map(process_and_threads, [1, 2], 1)} == {os.getpid()}
    results = [result for _, result in parallel_map(process_and_threads, [1, 2, 3], 2, threads=3)]
    assert os.getpid() not in {process for process, _ in results}
    assert {threads for _, threads in results} == {3}


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_the_function_raises_is_raised(jobs: int) -> None:
    with pytest.raises(OptionError, match="not two"):
        list(parallel_map(refuse, [1, 2, 3], jobs))


def test_a_worker_that_is_killed_is_an_error() -> None:
    with pytest.raises(WorkerError, match="fewer jobs"):
        list(parallel_map(die, [1, 2, 3], 2))


def test_each_worker_has_one_item_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    submitted: list[object] = []
    submit = WorkerPool.submit

    def count(pool: Pool, job: str) -> None:
        submitted.append(job)
        submit(pool, job)

    monkeypatch.setattr(WorkerPool, "submit", count)
    results = []
    for taken, result in enumerate(parallel_map(squared, range(50), 2), 1):
        results.append(result)
        assert len(submitted) <= 2 + taken
    assert sorted(results) == [(number, number**2) for number in range(50)]
    assert len(submitted) == 50


def test_one_thread_inside_and_as_many_as_before_outside() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with using_threads(1):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 3
        with pytest.raises(OptionError), using_threads(1):
            refuse(2)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


SLEEPERS = """
import os, sys, time
from pathlib import Path
from dartboard.utils.processes import parallel_map

def sleep(number):
    Path(sys.argv[1], str(os.getpid())).touch()
    time.sleep(600)

if __name__ == "__main__":
    list(parallel_map(sleep, [1, 2], 2))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_die_with_the_process_that_started_them(tmp_path: Path, number: signal.Signals) -> None:
    script, started = tmp_path / "sleepers.py", tmp_path / "started"
    script.write_text(SLEEPERS)
    started.mkdir()
    main = subprocess.Popen([sys.executable, str(script), str(started)])
    wait_until(lambda: len(list(started.iterdir())) == 2)
    workers = [int(path.name) for path in started.iterdir()]
    main.send_signal(number)
    main.wait()
    wait_until(lambda: not any(is_alive(worker) for worker in workers))


def is_alive(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_cores_are_those_that_this_process_may_use() -> None:
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system has no affinities")
    allowed = os.sched_getaffinity(0)
    assert cpu_count() == len(allowed)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert cpu_count() == 1
    finally:
        os.sched_setaffinity(0, allowed)
