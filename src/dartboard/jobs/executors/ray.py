"""Jobs on a Ray cluster: one of this machine alone, or one of many.

Each job is a task of Ray's, which is never tried again by Ray itself. What ends with a worker or a machine is
lost, and goes on from its checkpoint when it is submitted again. When the client ends its tasks end too.
"""

import os
import secrets
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import Field

from dartboard.config.schema import Count, Options
from dartboard.errors import DartboardError, one_line
from dartboard.jobs.executors import EXECUTORS, parse_options, with_defaults
from dartboard.jobs.executors._remote import run_flagged
from dartboard.jobs.job import Job, JobResult

FLAGS = "ray"
"""Folder of the flags, inside the client's."""
OBJECT_STORE = 80 * 2**20
"""Bytes of a local cluster's object store, about the least that Ray takes: jobs go without it."""
NODE_POLL = 5.0
"""Seconds between two queries for the machines of the cluster."""
CONNECT_TIMEOUT = 10.0
"""Seconds that a cluster has to answer."""
BEGUN = "begun\n"
REACHABLE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""The environment variable that tells Ray's processes whether a cluster may have other machines."""


class RayOptions(Options):
    """A cluster, and what each run takes of it."""

    address: str | None = Field(
        default=None, description="a cluster to join, or auto; by default one is started on this machine"
    )
    cpus: Count = Field(default=1, description="cores of each run")
    gpus: float | None = Field(
        default=None, ge=0, description="GPUs of each run; by default 1 where the cluster has any"
    )
    jobs: Count | None = Field(
        default=None, description="runs at a time; by default as many as the cluster has room for"
    )
    threads: Count | None = Field(default=None, description="threads of new runs on CPUs; by default cpus")
    device: str | None = Field(
        default=None, description="where to compute; by default a GPU that Ray gives, else the CPU"
    )


@dataclass(frozen=True)
class _RayTask:
    """A job that was given to Ray, and its flag, which is empty until a process has taken the job."""

    job: Job
    flag: Path


@EXECUTORS.register("ray")
class RayExecutor:
    """Runs jobs as tasks of a Ray cluster, whose machines all see the directory of the sweep.

    Args:
        options: The cluster, and what each run takes of it; see `RayOptions`.

    Raises:
        DartboardError: If Ray is not installed, there is no such cluster, or no room in it.
    """

    def __init__(self, **options: Any) -> None:
        self._options = self.check(options)
        self._ray = find_ray()
        self._tasks: dict[Any, _RayTask] = {}
        self._flags: Path | None = None
        self._stopping = False
        self._owner = not self._ray.is_initialized()
        if self._owner:
            _connect(self._ray, self._options)
        self._gpus = self._options.gpus
        if self._gpus is None:
            self._gpus = 1.0 if any(node.get("GPU") for node in self._nodes()) else 0.0
        self._looked, self.capacity = time.monotonic(), self._count_capacity()
        resources = {"num_cpus": self._options.cpus, "num_gpus": self._gpus}
        self._run_remote = self._ray.remote(**resources, max_retries=0)(_run)

    @staticmethod
    def check(options: Mapping[str, Any]) -> RayOptions:
        """Parsed options; raises a DartboardError if they cannot be used."""
        return parse_options(RayOptions, options)

    def submit(self, job: Job) -> None:
        """Submits a job to Ray, which starts it when a machine has room for it."""
        if self._flags is None:
            self._flags = Path(job.folder) / FLAGS
            self._flags.mkdir(parents=True, exist_ok=True)
            for flag in self._flags.iterdir():  # those of an earlier client, whose jobs stop without them
                flag.unlink(missing_ok=True)
        flag = self._flags / secrets.token_hex(8)
        flag.touch()
        options = self._options
        device = options.device or (None if self._gpus else "cpu")
        full_job = with_defaults(job, threads=options.threads or options.cpus, device=device)
        self._tasks[self._run_remote.remote(full_job, str(flag), str(Path.cwd()))] = _RayTask(job, flag)

    def completed(self, seconds: float) -> Sequence[JobResult]:
        """Results of the jobs that have ended, or whose process or machine has."""
        if self._stopping:
            for key, task in self._tasks.items():
                with suppress(FileNotFoundError):
                    if task.flag.stat().st_size == 0:  # it would wait for a machine to stop on
                        self._ray.cancel(key)
                task.flag.unlink(missing_ok=True)
        ready: list[Any] = []
        if self._tasks:
            keys = list(self._tasks)
            ready, _ = self._ray.wait(keys, num_returns=1, timeout=seconds)
            if ready:  # others may have ended too
                ready, _ = self._ray.wait(keys, num_returns=len(keys), timeout=0)
        else:
            time.sleep(seconds)
        if time.monotonic() - self._looked > NODE_POLL:
            self._looked, self.capacity = time.monotonic(), self._count_capacity()
        return [self._collect(key) for key in ready]

    def stop(self) -> None:
        """Has the flags of all jobs removed at the next call of `completed`; for signal handlers."""
        self._stopping = True

    def close(self) -> None:
        """Ends the processes of all jobs, and the cluster if it was started here."""
        for key, task in self._tasks.items():
            self._ray.cancel(key, force=True)
            task.flag.unlink(missing_ok=True)
        self._tasks = {}
        if self._flags is not None:
            with suppress(OSError):  # another client may have started
                self._flags.rmdir()
        if self._owner:
            self._ray.shutdown()

    def _collect(self, key: Any) -> JobResult:
        """Result of a job that has ended."""
        task = self._tasks.pop(key)
        task.flag.unlink(missing_ok=True)
        errors = self._ray.exceptions
        try:
            result: JobResult = replace(self._ray.get(key), job=task.job)
        except errors.TaskCancelledError:
            result = JobResult(task.job, "stopped")
        except errors.RayTaskError as error:  # not of the job, whose errors are in its result
            result = JobResult(task.job, "failed", one_line(error.cause or error))
        except errors.RayError as error:
            result = JobResult(task.job, "lost", one_line(error))
        if result.state == "stopped" and not self._stopping:
            return JobResult(task.job, "lost", "its flag in the sweep's directory was taken away")
        return result

    def _nodes(self) -> list[dict[str, float]]:
        """What each machine has that is alive."""
        return [node["Resources"] for node in self._ray.nodes() if node["Alive"]]

    def _count_capacity(self) -> int:
        """How many runs the machines take that are there now; at least one, which waits for a machine."""
        if self._options.jobs is not None:
            return self._options.jobs
        count = 0
        for node in self._nodes():
            room = node.get("CPU", 0) // self._options.cpus
            count += int(min(room, node.get("GPU", 0) // self._gpus) if self._gpus else room)
        return max(1, count)


def find_ray() -> ModuleType:
    """The package.

    Raises:
        DartboardError: If it is not installed; says how to get it.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent home unless somebody asks for it
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise DartboardError("Ray is not installed; get it with: pip install 'dartboard[ray]'") from None
    return ray


def _connect(ray: ModuleType, options: RayOptions) -> None:
    """Joins the cluster, or starts one."""
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    ray._private.worker._worker_logs_enabled = False  # or standard output has lines about machines that fail
    if options.address is None:
        cores = None if options.jobs is None else options.jobs * options.cpus
        with _loopback_only(ray):
            ray.init(
                "local", num_cpus=cores, object_store_memory=OBJECT_STORE, include_dashboard=False, **quiet
            )
        return
    try:
        host, _, port = options.address.removeprefix("ray://").rpartition(":")
        if host and port.isdigit():  # Ray itself would wait for minutes where nothing listens
            socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT).close()
        ray.init(options.address, **quiet)
    except (OSError, RuntimeError, ValueError) as error:
        words = f"cannot join the Ray cluster {options.address!r}: {one_line(error)}"
        raise DartboardError(f"{words}; start one with: ray start --head") from None


@contextmanager
def _loopback_only(ray: ModuleType) -> Iterator[None]:
    """Inside, a cluster that is started listens on the loopback interface alone: it has no authentication.

    `_node_ip_address="127.0.0.1"` does not do this: Ray takes the machine's own address for it, unless
    clusters of several machines are switched off, as they are by default on Windows and macOS.
    """
    constants, before = ray._private.ray_constants, os.environ.get(REACHABLE)
    enabled = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER, os.environ[REACHABLE] = False, "0"  # of this process, of those it starts
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = enabled
        if before is None:
            del os.environ[REACHABLE]
        else:
            os.environ[REACHABLE] = before


def _run(job: Job, flag: str, directory: str) -> JobResult:
    """Runs a job in a process of Ray, in the directory of the client that names may be relative to."""
    path = Path(flag)
    if path.exists():
        path.write_text(BEGUN)
    with suppress(OSError):
        os.chdir(directory)
    return run_flagged(job, path)
