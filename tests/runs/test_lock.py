import fcntl
import os
import signal
import socket
from datetime import UTC, datetime
from threading import Timer

import pytest

from dartboard.errors import RunError
from dartboard.runs import Lock, is_locked

HOLDER = """
import os, sys
from pathlib import Path
from dartboard.runs import Lock
Lock(Path(sys.argv[1])).take()
if sys.argv[2:] == ["fork"] and os.fork() == 0:
    os.write(1, f"worker {os.getpid()}\\n".encode())  # at once: two processes write
    sys.stdin.read()  # until the test closes it
    os._exit(0)
os.write(1, f"holder {os.getpid()}\\n".encode())
sys.stdin.read()
"""


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_second_taker_is_told_who_holds_it(tmp_path):
    with Lock(tmp_path):
        with pytest.raises(RunError) as caught:
            Lock(tmp_path).take()
        message = str(caught.value)
        assert is_locked(tmp_path)
    start, _, since = message.partition(" since ")
    assert start == f"{tmp_path} is in use by process {os.getpid()} on host {socket.gethostname()}"
    assert since.endswith("; wait for it or stop it")
    age = datetime.now(UTC) - datetime.fromisoformat(since.partition(";")[0])
    assert 0 <= age.total_seconds() < 60


def test_a_released_lock_can_be_taken_again(tmp_path):
    lock = Lock(tmp_path)
    for _ in range(2):
        with lock:
            assert is_locked(tmp_path)
        assert not is_locked(tmp_path)
    lock.release()
    lock.take()
    lock.release()


def test_an_error_releases_it(tmp_path):
    with pytest.raises(KeyError), Lock(tmp_path):
        raise KeyError
    assert not is_locked(tmp_path)


def test_a_refused_taker_does_not_disturb_the_holder(tmp_path):
    with Lock(tmp_path):
        for _ in range(2):
            with pytest.raises(RunError, match="is in use by process"):
                Lock(tmp_path).take()


def test_someone_who_only_looks_is_no_hindrance(tmp_path):
    with Lock(tmp_path):
        pass
    with (tmp_path / "lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)  # as `is_locked` does for a moment
        timer = Timer(0.05, fcntl.flock, (file, fcntl.LOCK_UN))
        timer.start()
        with Lock(tmp_path):
            timer.join()


def test_looking_takes_nothing(tmp_path):
    assert not is_locked(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with Lock(tmp_path):
        pass
    assert not is_locked(tmp_path)
    with Lock(tmp_path):
        assert is_locked(tmp_path)


@pytest.mark.parametrize("text", ["", "[1]", '{"pid": 1}', "\x00"])
def test_a_holder_that_does_not_say_who_it_is(tmp_path, text):
    with Lock(tmp_path):
        (tmp_path / "lock").write_text(text)
        with pytest.raises(RunError, match="is in use by another process; wait"):
            Lock(tmp_path).take()


def test_the_last_holder_is_the_one_that_is_named(tmp_path):
    (tmp_path / "lock").write_text("x" * 1000)
    with Lock(tmp_path), pytest.raises(RunError, match=f"process {os.getpid()} on"):
        Lock(tmp_path).take()


def test_another_process_holds_it_until_it_is_killed(tmp_path, start):
    holder = start(HOLDER, tmp_path)
    assert holder.stdout.readline() == f"holder {holder.pid}\n"
    assert is_locked(tmp_path)
    with pytest.raises(RunError, match=f"in use by process {holder.pid} on host"):
        Lock(tmp_path).take()
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert not is_locked(tmp_path)
    with Lock(tmp_path):
        assert is_locked(tmp_path)


def test_workers_that_outlive_the_holder_do_not_keep_it(tmp_path, start):
    holder = start(HOLDER, tmp_path, "fork")
    said = dict(holder.stdout.readline().split() for _ in range(2))
    assert is_locked(tmp_path)
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert alive(int(said["worker"]))
    assert not is_locked(tmp_path)
    with Lock(tmp_path):
        assert is_locked(tmp_path)
