"""A real Ray cluster on this machine: a head that takes no runs, and nodes that can be killed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from subprocess import Popen
from typing import Any

SMALL = {"object_store_memory": 80 * 2**20}


class Nodes:
    """A cluster.

    Args:
        count: How many nodes there are beside the head, with a core each.
        gpus: How many GPUs each node says it has.
    """

    def __init__(self, count: int = 2, gpus: int = 0) -> None:
        from ray.cluster_utils import Cluster

        self._gpus = gpus
        head = {"num_cpus": 0, "include_dashboard": False, **SMALL}
        self._cluster = Cluster(initialize_head=True, connect=False, head_node_args=head)
        self._nodes: list[Any] = []
        for _ in range(count):
            self.add()

    @property
    def address(self) -> str:
        """Where others join it."""
        return str(self._cluster.address)

    def add(self, cpus: int = 1) -> None:
        """One more node."""
        self._nodes.append(self._cluster.add_node(num_cpus=cpus, num_gpus=self._gpus, **SMALL))

    def kill(self, rng: Random) -> None:
        """Ends all processes of a node at once."""
        self._cluster.remove_node(self._nodes.pop(rng.randrange(len(self._nodes))), allow_graceful=False)

    def close(self) -> None:
        """Ends the cluster."""
        self._cluster.shutdown()

    def strike(self, driver: "Popen[str]", folder: Path, rng: Random) -> bool:  # noqa: ARG002
        """Kills a node and adds another; a target of `scale.chaos`."""
        self.kill(rng)
        self.add()
        return True


@contextmanager
def nodes(count: int = 2, gpus: int = 0) -> Iterator[Nodes]:
    """Lends a cluster."""
    own = Nodes(count, gpus)
    try:
        yield own
    finally:
        own.close()
