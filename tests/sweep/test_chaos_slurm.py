"""Sweeps in a queue that outlives its drivers, which are really killed, as are the jobs."""

import os
import signal
from pathlib import Path
from random import Random
from subprocess import Popen

import pytest

from helpers.chaos_checks import STEP, assert_survives, kill_order, long_sweep
from helpers.slurm_commands import install
from sweep import chaos

LOCAL = ["slurm", "cluster=local", "jobs=2"]


@pytest.mark.slow
def test_a_driver_and_a_job_that_are_killed_lose_nothing(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(chaos.PACE, "0.1")
    sweep = {**chaos.searches(data, seeds="0..1", epochs=8), "tries": 9, "stop": {"after": 1, "keep": 1}}
    assert_survives(sweep, tmp_path, LOCAL, ["driver", "worker"], 5, spread=0.5)


@pytest.mark.slow
def test_many_kills_lose_nothing(data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chaos.PACE, str(STEP))
    assert_survives(long_sweep(data), tmp_path, LOCAL, kill_order(2, driver=5, worker=5), 2, spread=3)


@pytest.mark.slow
def test_machines_that_fail_and_time_that_is_up(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv(chaos.PACE, str(STEP))
    jobs = install(tmp_path / "bin")

    def fail(driver: "Popen[str]", folder: Path, rng: Random) -> bool:  # noqa: ARG001
        """Ends all processes of a job at once."""
        groups = [int(path.read_text()) for path in sorted(jobs.glob("*.group"))]
        alive = [own for own in groups if _is_alive(own)]
        if alive:
            os.killpg(rng.choice(alive), signal.SIGKILL)
        return bool(alive)

    def expire(driver: "Popen[str]", folder: Path, rng: Random) -> bool:  # noqa: ARG001
        """Tells a job that its time is up."""
        found = sorted(set(chaos.holders(folder).values()))
        if found:
            os.kill(rng.choice(found), signal.SIGUSR2)
        return bool(found)

    kills = kill_order(4, driver=3, machine=4, time=4)
    targets = {"machine": fail, "time": expire}
    assert_survives(
        long_sweep(data), tmp_path, ["slurm", "jobs=2", "poll=0.5"], kills, 4, targets=targets, spread=3
    )


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
