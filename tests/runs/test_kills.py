"""Writers that are really killed: at random moments, and before every single thing they do to the disk."""

import json
import signal
from itertools import count
from random import Random

import pytest
import torch

from dartboard.runs import Run, list_checkpoints, load_checkpoint, save_checkpoint
from dartboard.utils.atomic import is_leftover

# For every line read, forks a writer and lets it be killed: so many seconds "after" the first thing it has
# written, or "before" its so many-th operation on files. Answers with its exit code.
NURSERY = """
import json, os, signal, sys, time
from itertools import count
from pathlib import Path
import torch
from dartboard.runs import Run, list_checkpoints, save_checkpoint

EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir")

def save(folder, step):
    save_checkpoint(folder, step, {"step": step, "weights": torch.full((20_000,), float(step))})
    os.write(wrote, b".")

def newest(folder):
    return max((int(path.name[5:15]) for path in list_checkpoints(folder)), default=0)

def later_steps(folder):
    for step in count(newest(folder) + 1):
        save(folder, step)

def same_step(folder):
    while True:
        save(folder, newest(folder))

def one_step(folder):
    save(folder, newest(folder) + 1)

def one_step_again(folder):
    save(folder, newest(folder))

def record(run, epoch):
    run.record(epoch, {"loss": epoch / 3}, {"epoch": epoch})
    os.write(wrote, b".")

def epochs(folder):
    run = Run.resume(folder)
    for epoch in count(len(run.metrics())):
        record(run, epoch)

def one_epoch_twice(folder):
    run = Run.resume(folder)
    epoch = len(run.metrics())
    record(run, epoch)
    run.rewind(epoch)
    record(run, epoch)

def die_before(number):
    left = count(number, -1)
    def hook(event, arguments):
        if event in EVENTS and next(left) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)

for line in sys.stdin:
    work, folder, kind, number = json.loads(line)
    read, wrote = os.pipe()
    pid = os.fork()
    if pid == 0:
        if kind == "before":
            die_before(number)
        globals()[work](Path(folder))
        os._exit(0)
    os.close(wrote)
    if kind == "after":
        os.read(read, 1)
        time.sleep(number)
        os.kill(pid, signal.SIGKILL)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    os.close(read)
"""
KILLS = 12


@pytest.fixture(scope="module")
def kill(start):
    """Lets a writer be killed and returns whether it was, or was done before."""
    nursery = start(NURSERY)

    def kill(work, folder, kind, number):
        nursery.stdin.write(json.dumps([work, str(folder), kind, number]) + "\n")
        code = int(nursery.stdout.readline())
        assert code in (0, -signal.SIGKILL)
        return code != 0

    return kill


def moments():
    rng = Random(3)
    return [rng.uniform(0, 0.1) for _ in range(KILLS)]


def check_checkpoints(folder):
    """All that are listed load and are what they say; returns the newest step."""
    paths = list_checkpoints(folder)
    assert paths
    for path in paths:
        state, step = load_checkpoint(path), int(path.name[5:15])
        assert state["step"] == step
        assert torch.equal(state["weights"], torch.full((20_000,), float(step)))
    return step


def save(folder, step):
    save_checkpoint(folder, step, {"step": step, "weights": torch.full((20_000,), float(step))})


def check_run(path):
    """Every line is whole and every epoch in it has its details; returns how many there are."""
    run = Run.read(path)
    rows = run.metrics()
    assert rows == [{"epoch": epoch, "loss": epoch / 3} for epoch in range(len(rows))]
    assert [run.epoch(row["epoch"]) for row in rows] == [{"epoch": row["epoch"]} for row in rows]
    assert run.state == "stopped"
    return len(rows)


@pytest.mark.parametrize("work", ["later_steps", "same_step"])
def test_the_newest_checkpoint_loads_after_a_kill_at_any_time(tmp_path, kill, work):
    save(tmp_path, 1)
    found = []
    for moment in moments():
        assert kill(work, tmp_path, "after", moment)
        found.append(check_checkpoints(tmp_path))
    assert found == sorted(found)
    assert (found[-1] > KILLS) == (work == "later_steps")
    save(tmp_path, found[-1] + 1)
    assert not any(map(is_leftover, tmp_path.iterdir()))


@pytest.mark.parametrize("work", ["one_step", "one_step_again"])
def test_the_newest_checkpoint_loads_after_a_kill_before_any_operation(tmp_path, kill, work):
    for number in count(1):
        folder = tmp_path / str(number)
        save(folder, 1)
        save(folder, 2)
        killed = kill(work, folder, "before", number)
        newest = check_checkpoints(folder)
        assert newest >= 2
        save(folder, newest + 1)
        assert check_checkpoints(folder) == newest + 1
        assert len(list(folder.iterdir())) == 2
        if not killed:
            break
    assert number > 10


def test_records_are_whole_after_a_kill_at_any_time(tmp_path, kill):
    Run.create(tmp_path / "run", {}).close()
    found = []
    for moment in moments()[:6]:
        assert kill("epochs", tmp_path / "run", "after", moment)
        found.append(check_run(tmp_path / "run"))
    assert found == sorted(found)
    assert found[-1] >= 6


def test_records_are_whole_after_a_kill_before_any_operation(tmp_path, kill):
    Run.create(tmp_path / "run", {}).close()
    number = 1
    while kill("one_epoch_twice", tmp_path / "run", "before", number):
        check_run(tmp_path / "run")
        number += 1
    assert number > 10
    assert check_run(tmp_path / "run")
    assert not any(map(is_leftover, (tmp_path / "run").rglob("*")))
