"""Searches that are really killed, at random moments, and go on as if nothing had happened."""

import json
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random

import pytest

from dartboard.cli.main import main
from dartboard.errors import CheckpointError, RunError
from dartboard.runs import Run, list_checkpoints
from dartboard.search import METHODS, Searcher
from dartboard.search.config import build, load_config
from helpers.kills import PATIENCE, Victim, run_record, running_process, undisturbed_record
from search import victim

SEED = 20
LAST = victim.EPOCHS * victim.STEPS
VICTIM = Victim(victim)


pytestmark = pytest.mark.usefixtures("one_thread")


def resume(path, method, **how):
    """Goes on in this process, to the end."""
    with Run.resume(path) as run:
        victim.make(method, run).fit(**how)


@cache
def undisturbed(method):
    """The story of a search that nobody touched."""
    return undisturbed_record(partial(victim.make, method))


@pytest.mark.parametrize("method", ["xnas", "gdas", "asm"])
def test_a_killed_search_goes_on_to_the_same_bits(tmp_path, method):
    rng = Random(f"{SEED} {method}")
    killed = VICTIM.kill(tmp_path / "run", method, rng, most=11)
    print(f"seed {SEED}: {method} killed after step {killed.place}")  # noqa: T201
    assert int(killed.place) < LAST
    assert killed.saved >= int(killed.place) - 2
    resume(tmp_path / "run", method)
    assert run_record(tmp_path / "run") == undisturbed(method)


@pytest.fixture(scope="module")
def table():
    """Collects what was killed, and prints it at the end."""
    rows = {}
    yield rows
    print(f"\nseed {SEED}\n{'method':16} kills  killed after step (saved)")  # noqa: T201
    for method, kills in rows.items():
        where = ", ".join(f"{own.place} ({own.saved})" for own in kills)
        print(f"{method:16} {len(kills):5}  {where}")  # noqa: T201
    print(f"{'all':16} {sum(map(len, rows.values())):5}")  # noqa: T201


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_method_survives_kills(tmp_path, table, method):
    """Twice where something is trained; the others are killed before they choose, and choose the same."""
    rng, path = Random(f"{SEED} {method}"), tmp_path / "run"
    trains = bool(undisturbed(method)["metrics"])
    kills = table[method] = [VICTIM.kill(path, method, rng, most=LAST // 2 if trains else 1)]
    if trains:
        kills.append(VICTIM.kill(path, method, rng, most=LAST - kills[0].saved - 3))
        assert all(int(own.place) < LAST for own in kills)
    else:
        assert kills[0].place == "select"
    steps = [int(place) for place in VICTIM.finish(path, method)[:-1]]
    assert steps == list(range(kills[-1].saved + 1, LAST + 1)) or not trains
    assert run_record(path) == undisturbed(method)


@dataclass(frozen=True)
class Killed:
    """A run that was killed when it had several checkpoints.

    Args:
        path: Its directory.
        process: The number of the process that was killed.
        refusal: What somebody else was told who wanted to write to it before that.
    """

    path: Path
    process: int
    refusal: str


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    path = tmp_path_factory.mktemp("killed") / "run"
    with VICTIM.start(path, "gaea-darts", 9) as process:
        for _ in range(9):
            process.stdout.readline()
        assert Run.read(path).state == "running"
        with pytest.raises(RunError) as caught:
            Run.resume(path)
    return Killed(path, process.pid, str(caught.value))


def test_a_run_has_one_writer_until_it_is_killed(killed):
    assert f"{killed.path} is in use by process {killed.process} on host" in killed.refusal
    assert Run.read(killed.path).state == "stopped"
    assert len(list_checkpoints(killed.path / "checkpoints")) == 2


def cut_off(path):
    path.write_bytes(path.read_bytes()[:-100])


def change(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


DAMAGES = [
    ("tensors.safetensors", cut_off, "truncated"),
    ("tensors.safetensors", change, "checksum differs"),
    ("state.json", Path.unlink, "missing"),
]


@pytest.mark.parametrize(("name", "damage", "said"), DAMAGES)
def test_a_damaged_checkpoint_is_named_and_the_one_before_leads_to_the_same_bits(
    tmp_path, killed, name, damage, said
):
    path = tmp_path / "run"
    shutil.copytree(killed.path, path)
    older, newest = list_checkpoints(path / "checkpoints")
    damage(newest / name)
    with pytest.raises(CheckpointError, match=said) as caught:
        resume(path, "gaea-darts")
    for part in (str(newest / name), older.name, "--fall-back"):
        assert part in str(caught.value)
    resume(path, "gaea-darts", fall_back=True)
    assert run_record(path) == undisturbed("gaea-darts")


WORDS = [
    *("epochs=12", "batch=75", "net.channels=4", "net.drop_path=0.2", "data.pad=1"),
    *("checkpoint.steps=3", "health.examples=20"),
]
"""A search of the digits: ten steps per epoch."""


def program(*words):
    return running_process(
        [Path(sys.executable).with_name("dartboard"), "search", "--threads", 1, "--json", *words]
    )


def newest_step(path):
    found = list_checkpoints(path / "checkpoints")
    return int(found[-1].name[5:15]) if found else 0


def wait_for_steps(process, path, steps):
    """Until a checkpoint says that the process has come so far from where it started."""
    start = newest_step(path)
    while newest_step(path) < start + steps:
        assert process.poll() is None
        time.sleep(0.01)


SIGNALS = [
    pytest.param([signal.SIGINT], id="interrupt"),
    pytest.param([signal.SIGKILL, signal.SIGINT, signal.SIGTERM], id="all", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("signals", SIGNALS)
def test_the_program_is_stopped_and_ends_with_the_same_bits(tmp_path, capsys, signals):
    rng, path = Random(SEED), tmp_path / "run"
    words = ["--space", "nano", "--method", "gaea-gdas", "--out", path, *WORDS]
    for number in signals:
        with program(*words) as process:
            wait_for_steps(process, path, rng.randint(1, 20))
            assert main(["search", "--resume", str(path)]) == 2
            assert f"is in use by process {process.pid}" in capsys.readouterr().err
            process.send_signal(number)
            assert process.wait(PATIENCE) == (-number if number == signal.SIGKILL else 128 + number)
        assert Run.read(path).state == "stopped"
        words = ["--resume", path]
    with program(*words) as process:
        printed, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    parts = build(load_config(flags={"space": "nano", "method": "gaea-gdas"}, words=WORDS))
    with Run.create(tmp_path / "other", {}) as run:
        result = Searcher(parts.space, parts.method, parts.data, parts.options, run=run).fit()
    assert json.loads(printed)["digest"] == result.digest
    assert run_record(path) == run_record(tmp_path / "other")
