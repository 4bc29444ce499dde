"""Processes that do one job after the other, and end with the one that started them, at once.

Each is told at its start who does the jobs: a function that makes an object with `attempt(job)` and `stop()`.
"""

import multiprocessing
import os
import queue
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from types import ModuleType
from typing import Any, Generic, Protocol, TypeVar

from dartboard.utils.signals import held_back

STOP = "stop"
GRACE = 5.0
"""Seconds that a process with nothing to do has to end by itself."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)

J = TypeVar("J")
R = TypeVar("R")
J_contra = TypeVar("J_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Doer(Protocol[J_contra, R_co]):
    """Does jobs in a process."""

    def attempt(self, job: J_contra) -> R_co:
        """What comes of a job, whatever that is; raises nothing that a job can bring about."""
        ...

    def stop(self) -> None:
        """Asks to stop as soon as possible; called from another thread."""
        ...


class Worker(Generic[J, R]):
    """A process that does jobs.

    Args:
        hire: Makes who does them; it is called in the process, with what it needs to travel there.

    Attributes:
        job: What it is at; None for nothing.
    """

    def __init__(self, hire: Callable[[], Doer[J, R]]) -> None:
        context = multiprocessing.get_context("spawn")  # torch has threads, which forks do not survive
        self.job: J | None = None
        self.connection, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, hire), daemon=False)
        with apart():
            self.process.start()
        other.close()  # so that its end is noticed here

    def begin(self, job: J) -> None:
        """Gives it a job to do."""
        self.job = job
        self.send(job)

    def send(self, message: J | str | None) -> None:
        """Sends it a job, `STOP`, or None for the end; who has ended already hears nothing."""
        with suppress(OSError):
            self.connection.send(message)

    def hear(self) -> R | None:
        """What came of its job; None if it has ended."""
        try:
            outcome: R = self.connection.recv()
        except (EOFError, OSError):
            return None
        return outcome

    def end(self) -> None:
        """Ends it: at once if it is at something."""
        if self.job is None:
            self.send(None)
            self.process.join(GRACE)
        self.process.kill()
        self.process.join()
        self.connection.close()


@dataclass(frozen=True)
class Ended(Generic[J, R]):
    """A job that is over.

    Args:
        job: Which.
        outcome: What came of it; None if its process has ended.
        code: With which code; None if it has not.
    """

    job: J
    outcome: R | None
    code: int | None = None


@dataclass
class Crew(Generic[J, R]):
    """Several workers, one in each place; they are started when they are needed, and used again.

    Args:
        hires: For each place, what makes who does the jobs there.
    """

    hires: Sequence[Callable[[], Doer[J, R]]]
    _workers: dict[int, Worker[J, R]] = field(default_factory=dict, init=False)

    @property
    def room(self) -> int:
        """How many more jobs it takes now."""
        return len(self.hires) - len(self._busy)

    @property
    def is_busy(self) -> bool:
        """Whether anybody is at something."""
        return bool(self._busy)

    @property
    def _busy(self) -> dict[int, Worker[J, R]]:
        return {place: worker for place, worker in self._workers.items() if worker.job is not None}

    def begin(self, job: J) -> None:
        """Gives a job to somebody who has nothing to do; there must be room."""
        free = [place for place in range(len(self.hires)) if place not in self._busy]
        place = next((own for own in free if own in self._workers), free[0])
        if place not in self._workers:
            self._workers[place] = Worker(self.hires[place])
        self._workers[place].begin(job)

    def ended(self, seconds: float) -> list[Ended[J, R]]:
        """The jobs that are over; waits at most so long for the first."""
        busy = self._busy
        ready = wait([worker.connection for worker in busy.values()], seconds)
        return [self._hear(place) for place, worker in busy.items() if worker.connection in ready]

    def _hear(self, place: int) -> Ended[J, R]:
        worker = self._workers[place]
        job, outcome = worker.job, worker.hear()
        assert job is not None  # noqa: S101  # only those that are at something are heard
        if outcome is None:
            del self._workers[place]
            worker.end()
            return Ended(job, None, worker.process.exitcode)
        worker.job = None
        return Ended(job, outcome)

    def stop(self) -> None:
        """Asks all who are at something to stop."""
        for worker in self._busy.values():
            worker.send(STOP)

    def close(self) -> None:
        """Ends all, at once those who are at something."""
        for worker in self._workers.values():
            worker.end()
        self._workers = {}


def serve(connection: Connection, hire: Callable[[], Doer[Any, Any]]) -> None:
    """Does the jobs that come through a connection; what a process runs."""
    for number in SIGNALS:  # what comes of them is left to the main process
        signal.signal(number, signal.SIG_IGN)
    os.setsid()  # what is sent to the program's whole group does not come here
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    doer = hire()
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, doer, jobs), daemon=True).start()
    for job in iter(jobs.get, None):
        outcome = doer.attempt(job)
        try:
            connection.send(outcome)
        except OSError:  # nobody is left to hear it; what it wrote is written
            os._exit(1)


def _listen(connection: Connection, doer: Doer[Any, Any], jobs: "queue.SimpleQueue[Any]") -> None:
    """Passes on what the main process says, and ends this one when that has ended, however it did."""
    while True:
        try:
            message = connection.recv()
        except (EOFError, OSError):
            os._exit(1)
        if message == STOP:
            doer.stop()
        else:
            jobs.put(message)


@contextmanager
def apart() -> Iterator[None]:
    """Processes that start inside see no Ctrl-C or SIGTERM, and do not run the program's main file again."""
    main = sys.modules["__main__"]
    resource_tracker.ensure_running()  # it lets the signals through when it starts
    with held_back(SIGNALS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This DataLoader will create")  # more than there are cores
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main
