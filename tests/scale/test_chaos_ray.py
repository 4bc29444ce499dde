"""Sweeps on a real Ray cluster of two nodes, whose drivers, workers and nodes are really killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from protocols import few
from rampage import STEP, long, shuffled, survives
from ray_nodes import Nodes, nodes
from scale import chaos, slowly

pytestmark = pytest.mark.filterwarnings("ignore:Exception ignored in.*(FileIO|TextIOWrapper)")  # Ray's logs


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    return few(tmp_path_factory.mktemp("data") / "few.npz")


@pytest.fixture
def cluster(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    """A cluster, where steps take as long as the test says."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv(slowly.PACE, str(getattr(request, "param", 0.1)))
    with nodes() as own:
        yield own


def test_a_node_a_worker_and_a_driver_that_are_killed_lose_nothing(
    cluster: Nodes, data: str, tmp_path: Path
) -> None:
    sweep = {**chaos.searches(data, epochs=8), "tries": 9}
    executor = ["ray", f"address={cluster.address}"]
    survives(sweep, tmp_path, executor, ["node", "worker", "driver"], 11, targets={"node": cluster.strike})


@pytest.mark.slow
@pytest.mark.parametrize("cluster", [STEP], indirect=True)
def test_many_kills_lose_nothing(cluster: Nodes, data: str, tmp_path: Path) -> None:
    kills, executor = shuffled(1, node=7, worker=6, driver=5), ["ray", f"address={cluster.address}"]
    survives(long(data), tmp_path, executor, kills, 1, targets={"node": cluster.strike}, spread=3)


@pytest.mark.slow
def test_stages_survive_kills(cluster: Nodes, data: str, tmp_path: Path) -> None:
    executor = ["ray", f"address={cluster.address}"]
    sweep = {**chaos.stages(data), "tries": 9}
    survives(sweep, tmp_path, executor, ["worker", "node"], 3, targets={"node": cluster.strike}, spread=0.3)
