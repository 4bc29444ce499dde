"""The same work for many things, in several processes."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from dartboard.errors import OptionError
from dartboard.utils import parallel
from dartboard.utils.parallel import AHEAD, WorkerError, cores, in_processes, one_thread


def squared(number: int) -> int:
    return number * number


def whose(_: int) -> tuple[int, int]:
    return os.getpid(), torch.get_num_threads()


def refuse(number: int) -> int:
    if number == 2:
        raise OptionError("not two")
    return number


def leave(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.parametrize("jobs", [1, 2, 7])
def test_everything_is_done_once(jobs: int) -> None:
    found = list(in_processes(squared, range(5), jobs))
    assert sorted(found) == [(number, number**2) for number in range(5)]
    assert jobs > 1 or found == sorted(found)


def test_one_job_is_done_here_and_several_are_not() -> None:
    assert {found[0] for _, found in in_processes(whose, [1, 2], 1)} == {os.getpid()}
    others = [found for _, found in in_processes(whose, [1, 2, 3], 2, threads=3)]
    assert os.getpid() not in {process for process, _ in others}
    assert {threads for _, threads in others} == {3}


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_the_work_raises_is_raised(jobs: int) -> None:
    with pytest.raises(OptionError, match="not two"):
        list(in_processes(refuse, [1, 2, 3], jobs))


def test_a_process_that_is_ended_is_an_error_in_words() -> None:
    with pytest.raises(WorkerError, match="fewer jobs"):
        list(in_processes(leave, [1, 2, 3], 2))


def test_few_things_are_handed_out_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[Future[int]] = []

    class Counting(ProcessPoolExecutor):
        def submit(self, *words: Any) -> Future[int]:  # type: ignore[override]
            handed.append(super().submit(*words))
            return handed[-1]

    monkeypatch.setattr(parallel, "ProcessPoolExecutor", Counting)
    most, found = 2 * AHEAD, []
    for taken, (number, square) in enumerate(in_processes(squared, range(50), 2), 1):
        found.append((number, square))
        assert len(handed) <= most + taken - 1
    assert sorted(found) == [(number, number**2) for number in range(50)]
    assert len(handed) == 50


def test_one_thread_inside_and_as_many_as_before_outside() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 3
        with pytest.raises(OptionError), one_thread():
            refuse(2)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


SLEEPERS = """
import os, sys, time
from pathlib import Path
from dartboard.utils.parallel import in_processes

def sleep(number):
    Path(sys.argv[1], str(os.getpid())).touch()
    time.sleep(600)

if __name__ == "__main__":
    list(in_processes(sleep, [1, 2], 2))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_processes_end_with_the_one_that_started_them(tmp_path: Path, number: signal.Signals) -> None:
    script, started = tmp_path / "sleepers.py", tmp_path / "started"
    script.write_text(SLEEPERS)
    started.mkdir()
    main = subprocess.Popen([sys.executable, str(script), str(started)])
    _wait(lambda: len(list(started.iterdir())) == 2)
    workers = [int(path.name) for path in started.iterdir()]
    main.send_signal(number)
    main.wait()
    _wait(lambda: not any(_is_alive(worker) for worker in workers))


def _is_alive(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def _wait(condition: object) -> None:
    assert callable(condition)
    ends = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.05)


def test_cores_are_those_that_this_process_may_use() -> None:
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system has no affinities")
    allowed = os.sched_getaffinity(0)
    assert cores() == len(allowed)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
