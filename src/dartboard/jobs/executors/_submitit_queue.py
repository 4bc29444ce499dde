"""A queue to which functions are submitted with submitit: Slurm's, or a local one to try things."""

import logging
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from dartboard.errors import DartboardError, OptionError, one_line
from dartboard.utils.processes import held_back

SLURM, LOCAL = "slurm", "local"
GRACE = 60.0
"""Seconds that a local process has to exit when its job has ended."""
SAFE_PATH = "PYTHONSAFEPATH"
"""Keeps Python from importing modules from its working directory."""
ENDED_STATES = (
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "REVOKED",
    "TIMEOUT",
)
"""States of Slurm jobs that have ended; others wait, run, or are held for a while."""


def find_submitit() -> ModuleType:
    """The submitit package, with its logger quiet unless something is wrong.

    Raises:
        DartboardError: If it is not installed; says how to get it.
    """
    try:
        import submitit
    except ImportError:
        raise DartboardError(
            "submitit is not installed; get it with: pip install 'dartboard[slurm]'"
        ) from None
    logging.getLogger("submitit").setLevel(logging.ERROR)
    return submitit


class SubmititQueue:
    """Submits functions to a queue, and reports which of them are gone.

    Args:
        cluster: `slurm`, `local` or `debug`.
        parameters: Of submitit's executor.
        poll: Seconds between two queries to Slurm.

    Raises:
        DartboardError: If submitit is not installed, there is no such queue here, or it has no such
            parameters.
    """

    def __init__(self, cluster: str, parameters: Mapping[str, Any], poll: float) -> None:
        self._submitit = find_submitit()
        self._cluster, self._parameters, self._poll = cluster, dict(parameters), poll
        self._handles: dict[str, Any] = {}
        self._ended_at: dict[str, float] = {}
        self._last_query = -poll
        if cluster == SLURM and not (shutil.which("sbatch") and shutil.which("sacct")):
            raise DartboardError(
                "no sbatch and sacct here; go to a login node of the cluster, or set cluster: local"
            )
        with tempfile.TemporaryDirectory() as folder:  # fail fast on wrong parameters
            self._open(Path(folder))

    def _open(self, folder: Path) -> Any:
        try:
            executor = self._submitit.AutoExecutor(folder, cluster=self._cluster)
            executor.update_parameters(**self._parameters)
        except (NameError, ValueError, AssertionError, RuntimeError) as error:
            raise OptionError(f"submitit refuses the settings of the executor: {one_line(error)}") from None
        return executor

    def submit(self, folder: Path, function: Callable[[str], None], argument: str) -> str:
        """Submits a function of a module, with submitit's files in a folder; returns its name in the queue.

        Raises:
            DartboardError: If the queue refuses it.
        """
        try:
            with _isolated_start():
                handle = self._open(folder).submit(function, argument)
        except (RuntimeError, OSError) as error:
            raise DartboardError(f"the queue refuses a job: {one_line(error)}") from None
        self._handles[handle.job_id] = handle
        return str(handle.job_id)

    def adopt(self, folder: Path, name: str) -> None:
        """Watches a job that an earlier process has submitted with submitit's files in this folder."""
        if self._cluster == SLURM:
            self._handles[name] = self._submitit.SlurmJob(folder, name)

    def update(self) -> None:
        """Queries Slurm for all jobs at once, unless that was just done."""
        if self._cluster == SLURM and self._handles and time.monotonic() - self._last_query >= self._poll:
            next(iter(self._handles.values())).watcher.update()
            self._last_query = time.monotonic()

    def is_gone(self, name: str) -> bool:
        """Whether a job has ended long enough ago for its files to be seen here."""
        if not self._is_over(name):
            self._ended_at.pop(name, None)
            return False
        grace = self._poll if self._cluster == SLURM else 0
        return time.monotonic() - self._ended_at.setdefault(name, time.monotonic()) >= grace

    def _is_over(self, name: str) -> bool:
        if self._cluster == SLURM:
            return self.state(name) in ENDED_STATES
        if name in self._handles:
            return bool(self._handles[name].done())
        return self._cluster != LOCAL or not _is_submitit(name)

    def state(self, name: str) -> str:
        """State of a job in the queue, such as RUNNING."""
        if self._cluster != SLURM:
            return "gone" if self._is_over(name) else "RUNNING"
        state: str = self._handles[name].watcher.get_state(name, mode="cache")
        return state.split(maxsplit=1)[0].rstrip("+").upper()  # CANCELLED by 1000, CANCELLED+

    def cancel(self, name: str) -> None:
        """Cancels a job."""
        if self._cluster == SLURM:
            with suppress(OSError):
                self._handles[name].cancel(check=False)
        elif self._cluster == LOCAL and _is_submitit(name):
            for process in [int(name), *_descendants(name)]:  # first the one that could start others
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    def forget(self, name: str, folder: Path, *, keep_logs: bool) -> None:
        """Stops watching a job and removes its files, but for the output of its process if `keep_logs`."""
        handle = self._handles.pop(name, None)
        self._ended_at.pop(name, None)
        if self._cluster == LOCAL and handle is not None:
            deadline = time.monotonic() + GRACE
            while not handle.done() and time.monotonic() < deadline:
                time.sleep(0.02)
        for path in folder.glob(f"{name}_*"):
            if not keep_logs or not path.name.endswith((".out", ".err")):
                path.unlink(missing_ok=True)
        for link in folder.glob(".submission_file_*"):
            if not link.exists():
                link.unlink(missing_ok=True)


@contextmanager
def _isolated_start() -> Iterator[None]:
    """Inside, processes that start see no Ctrl-C and import no modules from the working directory."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        with held_back([signal.SIGINT]):
            yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before


def _descendants(process: str) -> list[int]:
    """The processes that a process of this machine has started, and those that they have."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [number for child in children for number in (int(child), *_descendants(child))]


def _is_submitit(name: str) -> bool:
    """Whether a local process was started by submitit."""
    try:
        return b"submitit" in Path(f"/proc/{name}/cmdline").read_bytes()
    except OSError:
        return False
