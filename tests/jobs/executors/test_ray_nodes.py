"""The Ray executor on a cluster whose nodes come and go, and that say they have GPUs."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from dartboard.jobs.executors import ray
from dartboard.jobs.executors.ray import RayExecutor
from helpers.executor_checks import method_plugin, submit_and_wait, wait_until
from helpers.protocol_cases import few_digits
from helpers.ray_nodes import Nodes, nodes
from helpers.sweep_cases import search_job

SAYS = "(searcher.run.path / 'cards').write_text(os.environ['CUDA_VISIBLE_DEVICES'])"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Exception ignored in.*(FileIO|TextIOWrapper)"),  # Ray's logs
]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setattr(ray, "NODE_POLL", 0.5)
    with nodes(1, gpus=2) as own:
        yield own


def test_room_follows_nodes_and_runs_see_their_own_gpus(
    cluster: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where the nodes are not
    cluster.add(cpus=3)
    executor = RayExecutor(address=cluster.address)
    with closing(executor):
        follow(executor, cluster, tmp_path)


def follow(executor: RayExecutor, cluster: Nodes, tmp_path: Path) -> None:
    assert executor.capacity == 3  # a GPU each, and a core: one on the first node, two on the other
    data, (own, name) = Path(few_digits(tmp_path / "few.npz")).name, method_plugin(tmp_path, SAYS)
    words = [f"method={name}", "epochs=1"]
    jobs = [search_job(tmp_path, data, *words, name=name, plugins=(own,)) for name in "ab"]
    assert {outcome.state for outcome in submit_and_wait(executor, jobs).values()} == {"finished"}
    assert all((job.path / "cards").read_text() in ("0", "1") for job in jobs)
    halves = RayExecutor(address=cluster.address, gpus=0.5)
    assert halves.capacity == 4
    cluster.kill(Random(1))

    def looked() -> bool:
        executor.completed(0.6)
        return executor.capacity < 3

    wait_until(looked)
