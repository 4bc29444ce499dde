"""Sweeps on a real Ray cluster of two nodes, whose drivers, workers and nodes are really killed."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random
from subprocess import PIPE, Popen

import pytest

from dartboard.runs import Run, find_runs
from helpers.chaos_checks import STEP, assert_survives, kill_order, long_sweep
from helpers.executor_checks import wait_until
from helpers.ray_nodes import Nodes, nodes
from sweep import chaos

pytestmark = pytest.mark.filterwarnings("ignore:Exception ignored in.*(FileIO|TextIOWrapper)")  # Ray's logs


@pytest.fixture
def cluster(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    """A cluster, where steps take as long as the test says."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv(chaos.PACE, str(getattr(request, "param", 0.1)))
    with nodes() as own:
        yield own


@pytest.mark.slow
def test_a_node_a_worker_and_a_driver_that_are_killed_lose_nothing(
    cluster: Nodes, data: str, tmp_path: Path
) -> None:
    sweep = {**chaos.searches(data, epochs=8), "tries": 9}
    executor = ["ray", f"address={cluster.address}"]
    assert_survives(
        sweep, tmp_path, executor, ["node", "worker", "driver"], 11, targets={"node": cluster.strike}
    )


@pytest.mark.slow
@pytest.mark.parametrize("cluster", [STEP], indirect=True)
def test_many_kills_lose_nothing(cluster: Nodes, data: str, tmp_path: Path) -> None:
    kills, executor = kill_order(1, node=7, worker=6, driver=5), ["ray", f"address={cluster.address}"]
    assert_survives(
        long_sweep(data), tmp_path, executor, kills, 1, targets={"node": cluster.strike}, spread=3
    )


@pytest.mark.slow
def test_stages_survive_kills(cluster: Nodes, data: str, tmp_path: Path) -> None:
    executor = ["ray", f"address={cluster.address}"]
    sweep = {**chaos.stages(data), "tries": 9}
    assert_survives(
        sweep, tmp_path, executor, ["worker", "node"], 3, targets={"node": cluster.strike}, spread=0.3
    )


@pytest.mark.slow
def test_an_interrupt_saves_and_the_same_command_goes_on(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(chaos.PACE, "0.2")
    file, folder = chaos.write(tmp_path / "sweep.yaml", chaos.searches(data, epochs=8)), tmp_path / "ray"
    command = chaos.command(file, folder, "ray", "jobs=2")
    driver = Popen(command, start_new_session=True, stderr=PIPE, text=True)
    wait_until(lambda: len(chaos.holders(folder)) == 2)
    os.killpg(driver.pid, signal.SIGINT)  # as a terminal does, to all processes at once
    _, said = driver.communicate(timeout=chaos.PATIENCE)
    assert driver.returncode == 128 + signal.SIGINT, said
    assert said.strip().endswith("run the same command to resume")
    assert {Run.read(path).state for path in find_runs(folder)} == {"stopped"}
    assert chaos.disturb(command, folder, Random(0), []) == []
    assert chaos.story(folder) == chaos.undisturbed(file, tmp_path / "calm")
