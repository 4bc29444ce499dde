"""Protocols whose process or workers are really killed go on as if nothing had happened."""

import os
import signal
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from dartboard.jobs.executors import make_executor
from dartboard.runs import Run
from helpers.executor_checks import when_saved, writer_pid
from helpers.kills import Victim
from helpers.protocol_cases import all_results, few_digits, run_protocol, settings
from sweep import protocol_victim

SEED = 5
WORDS = ("train.checkpoint.steps=2", "search.checkpoint.steps=2", "seeds=1")
VICTIM = Victim(protocol_victim, WORDS)
PLACES = 40
"""A kill comes after one of the first so many places; there are more in the whole protocol."""

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Images, and a protocol that nobody touched."""
    path = tmp_path_factory.mktemp("kills")
    torch.set_num_threads(1)
    run_protocol(path / "undisturbed", settings(few_digits(path / "few.npz"), *WORDS))
    return path


def finish(folder, path):
    """Lets the protocol go to its end; returns the places it came to."""
    return VICTIM.finish(path, folder / "few.npz")


def kill(folder, path, rng, most):
    return VICTIM.kill(path, folder / "few.npz", rng, most).place


def test_a_killed_protocol_goes_on_to_the_same_result(folder, tmp_path):
    rng = Random(SEED)
    kill(folder, tmp_path / "run", rng, PLACES)
    finish(folder, tmp_path / "run")
    assert all_results(tmp_path / "run") == all_results(folder / "undisturbed")


@pytest.fixture(scope="module")
def places(folder):
    """All places that the protocol comes to, in order."""
    return finish(folder, folder / "spoken")


@pytest.mark.slow
def test_there_are_more_places_than_kills_come_after(places):
    assert len(places) > PLACES + 2
    assert {place.split()[0] for place in places} >= {"decides", "s0", "found-0", "random-0", "found-s0"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_a_protocol_killed_again_and_again(seed, folder, tmp_path):
    rng = Random(seed)
    places = [kill(folder, tmp_path / "run", rng, most) for most in (16, 10, 8, 6)]
    finish(folder, tmp_path / "run")
    assert len(set(places)) > 1
    assert all_results(tmp_path / "run") == all_results(folder / "undisturbed")


@pytest.mark.slow
@pytest.mark.parametrize("which", range(7))
def test_a_protocol_killed_while_it_decides(which, places, folder, tmp_path):
    """Right before each decision is written."""
    decisions = [number for number, words in enumerate(places, 1) if words.startswith("decides")]
    assert len(decisions) == 7
    count = decisions[which]
    with VICTIM.start(tmp_path / "run", folder / "few.npz", count) as process:
        heard = [process.stdout.readline().strip() for _ in range(count)]
        process.kill()
        process.wait()
    assert heard[-1].startswith("decides")
    finish(folder, tmp_path / "run")
    assert all_results(tmp_path / "run") == all_results(folder / "undisturbed")


LONGER = (*WORDS, "train.epochs=6", "short=5")
"""Trainings that last long enough for their worker to be killed in the middle of one."""


@pytest.fixture(scope="module")
def longer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images, and an undisturbed protocol with longer trainings."""
    path = tmp_path_factory.mktemp("longer")
    torch.set_num_threads(1)
    run_protocol(path / "undisturbed", settings(few_digits(path / "few.npz"), *LONGER))
    return path


def run_and_kill(folder: Path, path: Path, executor: str, **options: Any) -> None:
    """Runs a protocol on an executor, and kills the worker of a short training; compares the results."""
    victim = path / "train" / "found-0"
    killer = when_saved(victim, lambda: os.kill(writer_pid(victim), signal.SIGKILL))
    config = settings(str(folder / "few.npz"), *LONGER)
    run_protocol(path, config, executor=make_executor(executor, options))
    killer.join()
    assert len(Run.read(victim).environment()) > len(
        Run.read(folder / "undisturbed/train/found-0").environment()
    )
    assert all_results(path) == all_results(folder / "undisturbed")


def test_a_killed_worker_changes_nothing_in_a_pool(longer: Path, tmp_path: Path) -> None:
    run_and_kill(longer, tmp_path / "run", "pool", jobs=2, threads=1)


@pytest.mark.slow
def test_a_killed_worker_changes_nothing_on_ray(longer: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    run_and_kill(longer, tmp_path / "run", "ray", jobs=2, threads=1)


@pytest.mark.slow
def test_a_killed_worker_changes_nothing_on_slurm(longer: Path, tmp_path: Path) -> None:
    pytest.importorskip("submitit")
    run_and_kill(longer, tmp_path / "run", "slurm", cluster="local", jobs=2, threads=1, poll=0.1)
