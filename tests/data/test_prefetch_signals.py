"""Signals to whole groups of processes: what comes of them is the main process's to say."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image

from dartboard.cli.main import main
from dartboard.data.prefetch import Prefetcher
from dartboard.runs import Run, list_checkpoints
from helpers import worker_functions
from helpers.kills import PATIENCE, run_record

PROGRAM = """
import sys, torch
sys.path.insert(0, {tests!r})
from helpers import worker_functions
from dartboard.cli.main import main
from dartboard.data.prefetch import Prefetcher
torch.randn(600, 600) @ torch.randn(600, 600)  # in several threads
ahead = Prefetcher(worker_functions.slow_early_tasks, lambda number: number, workers=2)
try:
    print(int(ahead.get(0)[0]), ahead.get(1)[1].item(), flush=True)
    for number in range(2, 10**9):
        ahead.get(number)
except KeyboardInterrupt:
    raise SystemExit("interrupted")
"""


@contextmanager
def running(words: list[str | Path]) -> Iterator[subprocess.Popen[str]]:
    """A program in a process group of its own."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = subprocess.Popen(words, **pipes, start_new_session=True)  # type: ignore[call-overload]
    try:
        yield started
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
        started.communicate()


@pytest.fixture
def program(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A program whose main file does not look whether it is the main file, at work with two workers."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(tests=str(Path(__file__).parents[1])))
    with running([sys.executable, file]) as started:
        yield started


def gone(process: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_an_interrupt_prints_nothing_and_ends_all(program: subprocess.Popen[str]) -> None:
    assert program.stdout is not None
    worker = int(program.stdout.readline().split()[1])
    os.killpg(program.pid, signal.SIGINT)  # as a terminal does
    _, errors = program.communicate(timeout=30)
    assert errors == "interrupted\n"
    assert gone(worker, 5)


def test_workers_do_not_outlive_a_killed_program(program: subprocess.Popen[str]) -> None:
    assert program.stdout is not None
    worker = int(program.stdout.readline().split()[1])
    program.kill()
    assert gone(worker, 20)


DEAF = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: None)
sys.path.insert(0, {tests!r})
from helpers import worker_functions
from dartboard.cli.main import main
from dartboard.data.prefetch import Prefetcher
print(flush=True)
for _ in range(2):
    ahead = Prefetcher(worker_functions.slow_early_tasks, lambda number: number, workers=2)
    found = [ahead.get(number).tolist() for number in range(40)]
    assert [number for number, _ in found] == list(range(40))
    ahead.close()
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Python forgets other handlers when it ends
print(*{{process for _, process in found}}, flush=True)
"""


def test_workers_leave_it_to_the_main_process_to_end(tmp_path: Path) -> None:
    """Whether they are at work or not yet there when every process of the group is told to."""
    file = tmp_path / "program.py"
    file.write_text(DEAF.format(tests=str(Path(__file__).parents[1])))
    with running([sys.executable, file]) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            time.sleep(0.01)
        printed, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert all(gone(int(worker), 5) for worker in printed.split())


def test_a_worker_ends_when_the_main_process_says_so_and_nobody_else() -> None:
    """Schedulers tell all processes that they have started, whatever their groups."""
    ahead = Prefetcher(worker_functions.slow_early_tasks, lambda number: number, workers=1)
    worker = int(ahead.get(0)[1])
    subprocess.run(["kill", "-TERM", str(worker)], check=True)  # noqa: S607
    assert [int(ahead.get(number)[1]) for number in range(1, 9)] == [worker] * 8
    (child,) = multiprocessing.active_children()
    child.terminate()  # what the main process says is heeded
    child.join(5)
    assert child.exitcode == 1
    ahead.close()


WORDS = [
    *("--space", "nano", "--method", "darts", "--threads", "1", "--quiet", "data.memory=0", "data.workers=2"),
    *("data.pad=1", "epochs=3", "batch=8", "net.channels=4", "checkpoint.steps=1", "health.examples=8"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Images of two classes, dark ones and bright ones."""
    for number in range(64):
        place = tmp_path / "photos" / ("dark" if number % 2 else "bright")
        place.mkdir(parents=True, exist_ok=True)
        pixels = bytes((number * 7 + at) % 100 + 100 * (number % 2) for at in range(8 * 8 * 3))
        Image.frombytes("RGB", (8, 8), pixels).save(place / f"{number}.png")
    return tmp_path / "photos"


def left(home: Path, seconds: float) -> list[str]:
    """The processes with a home that do not end in time; none where the system does not tell."""
    end = time.monotonic() + seconds
    while found := [str(own.parent) for own in Path("/proc").glob("[0-9]*/environ") if _is_at(own, home)]:
        if time.monotonic() > end:
            break
        time.sleep(0.05)
    return found


def _is_at(environment: Path, home: Path) -> bool:
    try:
        return f"HOME={home}".encode() in environment.read_bytes().split(b"\0")
    except OSError:  # somebody else's, or gone
        return False


@pytest.mark.usefixtures("one_thread")
def test_a_search_on_files_saves_and_stops_when_its_whole_group_is_told_to_end(
    tmp_path: Path, folder: Path, home: Path
) -> None:
    path, other = tmp_path / "run", tmp_path / "other"
    words = ["--data", str(folder), *WORDS]
    with running([Path(sys.executable).with_name("dartboard"), "search", *words, "--out", path]) as process:
        while not list_checkpoints(path / "checkpoints"):
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGTERM)  # as timeout and schedulers do
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM
    assert "Traceback" not in errors
    assert f"resume with: dartboard search --resume {path}" in errors
    assert Run.read(path).state == "stopped"
    assert not left(home, 5)
    assert main(["search", "--resume", str(path)]) == 0
    assert main(["search", *words, "--out", str(other), "data.workers=0"]) == 0
    assert run_record(path) == run_record(other)
