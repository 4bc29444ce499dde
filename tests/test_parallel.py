"""The same work for many things, in several processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from dartboard.errors import OptionError
from dartboard.parallel import WorkerError, in_processes


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


SLEEPERS = """
import os, sys, time
from pathlib import Path
from dartboard.parallel import in_processes

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
