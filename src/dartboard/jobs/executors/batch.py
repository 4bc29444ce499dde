"""A queue that functions are handed to with submitit: Slurm's, or one of this machine to try things with."""

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
from dartboard.utils.signals import held_back

SLURM, LOCAL = "slurm", "local"
GRACE = 60.0
"""Seconds that a process of this machine has to end when its job has."""
SAFE = "PYTHONSAFEPATH"
"""Keeps Python from looking for modules where it is started."""
OVER = (
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
"""What Slurm says of jobs that have ended; others wait, run, or are held for a while."""


def find_submitit() -> ModuleType:
    """The package, which is quiet unless something is wrong.

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


class Batch:
    """Hands functions to a queue, and says which of them are gone.

    Args:
        cluster: `slurm`, `local` or `debug`.
        parameters: Of submitit's executor.
        poll: Seconds between two questions to Slurm.

    Raises:
        DartboardError: If submitit is not installed, there is no such queue here, or it has no such
            parameters.
    """

    def __init__(self, cluster: str, parameters: Mapping[str, Any], poll: float) -> None:
        self._submitit = find_submitit()
        self._cluster, self._parameters, self._poll = cluster, dict(parameters), poll
        self._handles: dict[str, Any] = {}
        self._over: dict[str, float] = {}
        self._asked = -poll
        if cluster == SLURM and not (shutil.which("sbatch") and shutil.which("sacct")):
            raise DartboardError(
                "no sbatch and sacct here; go to a login node of the cluster, or set cluster: local"
            )
        with tempfile.TemporaryDirectory() as folder:  # what is wrong is better known before the first job
            self._open(Path(folder))

    def _open(self, folder: Path) -> Any:
        try:
            executor = self._submitit.AutoExecutor(folder, cluster=self._cluster)
            executor.update_parameters(**self._parameters)
        except (NameError, ValueError, AssertionError, RuntimeError) as error:
            raise OptionError(f"submitit refuses the settings of the executor: {one_line(error)}") from None
        return executor

    def submit(self, folder: Path, function: Callable[[str], None], argument: str) -> str:
        """Hands over a function and what it is called with; the name that the queue has for it.

        Args:
            folder: What submitit writes goes there.
            function: Can be imported where it is called.
            argument: What it is called with.

        Raises:
            DartboardError: If the queue refuses it.
        """
        try:
            with _apart():
                handle = self._open(folder).submit(function, argument)
        except (RuntimeError, OSError) as error:
            raise DartboardError(f"the queue refuses a job: {one_line(error)}") from None
        self._handles[handle.job_id] = handle
        return str(handle.job_id)

    def adopt(self, folder: Path, name: str) -> None:
        """Watches what an earlier process has handed over.

        Args:
            folder: Where submitit wrote then.
            name: What the queue calls it.
        """
        if self._cluster == SLURM:
            self._handles[name] = self._submitit.SlurmJob(folder, name)

    def look(self) -> None:
        """Asks Slurm about all jobs at once, unless that was only just done."""
        if self._cluster == SLURM and self._handles and time.monotonic() - self._asked >= self._poll:
            next(iter(self._handles.values())).watcher.update()
            self._asked = time.monotonic()

    def is_gone(self, name: str) -> bool:
        """Whether a job has ended long enough ago for its files to be seen here."""
        if not self._is_over(name):
            self._over.pop(name, None)
            return False
        grace = self._poll if self._cluster == SLURM else 0
        return time.monotonic() - self._over.setdefault(name, time.monotonic()) >= grace

    def _is_over(self, name: str) -> bool:
        if self._cluster == SLURM:
            return self.state(name) in OVER
        if name in self._handles:
            return bool(self._handles[name].done())
        return self._cluster != LOCAL or not _is_submitit(name)

    def state(self, name: str) -> str:
        """What Slurm says of a job, such as RUNNING."""
        if self._cluster != SLURM:
            return "gone" if self._is_over(name) else "RUNNING"
        found: str = self._handles[name].watcher.get_state(name, mode="cache")
        return found.split(maxsplit=1)[0].rstrip("+").upper()  # CANCELLED by 1000, CANCELLED+

    def cancel(self, name: str) -> None:
        """Has a job ended."""
        if self._cluster == SLURM:
            with suppress(OSError):
                self._handles[name].cancel(check=False)
        elif self._cluster == LOCAL and _is_submitit(name):
            for own in [int(name), *_started_by(name)]:  # first the one that could start others
                with suppress(ProcessLookupError):
                    os.kill(own, signal.SIGKILL)

    def forget(self, name: str, folder: Path, *, keep: bool) -> None:
        """Watches a job no longer.

        Args:
            name: What the queue calls it.
            folder: Where submitit wrote.
            keep: Whether what its process printed is left there.
        """
        handle = self._handles.pop(name, None)
        self._over.pop(name, None)
        if self._cluster == LOCAL and handle is not None:
            _wait(handle)
        for path in folder.glob(f"{name}_*"):
            if not keep or not path.name.endswith((".out", ".err")):
                path.unlink(missing_ok=True)
        for link in folder.glob(".submission_file_*"):
            if not link.exists():
                link.unlink(missing_ok=True)


@contextmanager
def _apart() -> Iterator[None]:
    """Processes that start inside see no Ctrl-C, and no modules that lie where the program was started."""
    before = os.environ.get(SAFE)
    os.environ[SAFE] = "1"
    try:
        with held_back([signal.SIGINT]):
            yield
    finally:
        if before is None:
            del os.environ[SAFE]
        else:
            os.environ[SAFE] = before


def _started_by(name: str) -> list[int]:
    """The processes that one of this machine has started, and those that they have."""
    try:
        own = Path(f"/proc/{name}/task/{name}/children").read_text().split()
    except OSError:
        return []
    return [number for child in own for number in (int(child), *_started_by(child))]


def _wait(handle: Any) -> None:
    """Waits for a process of this machine that is about to end."""
    until = time.monotonic() + GRACE
    while not handle.done() and time.monotonic() < until:
        time.sleep(0.02)


def _is_submitit(name: str) -> bool:
    """Whether a process of this machine is one that submitit started."""
    try:
        return b"submitit" in Path(f"/proc/{name}/cmdline").read_bytes()
    except OSError:
        return False
