"""Searches of a bench in several processes at a time, each of which does one after the other.

A process that is ended from outside loses nothing: its search goes on in another one from the last
checkpoint. When this process is ended the others end with it, at once.
"""

import multiprocessing
import os
import queue
import signal
import threading
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

import torch

from dartboard.bench.jobs import Job
from dartboard.bench.work import Desk, Outcome, Place
from dartboard.data.workers import apart
from dartboard.errors import Stopped
from dartboard.search.plugins import load_plugin

STOP = "stop"
LOOK = 0.2
"""Seconds between two looks at whether to stop."""
TRIES = 3
"""A search whose process ends before it is begun so many times."""
GRACE = 5.0
"""Seconds that a process with nothing to do has to end by itself."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class Setup:
    """What each process is told at its start.

    Args:
        place: Where the bench is done.
        threads: Threads of each process on a CPU.
        plugins: Python files to run first.
    """

    place: Place
    threads: int = 1
    plugins: tuple[str, ...] = ()


class Worker:
    """A process that does searches.

    Args:
        setup: What it is told at its start.

    Attributes:
        job: What it is at; None for nothing.
    """

    def __init__(self, setup: Setup) -> None:
        context = multiprocessing.get_context("spawn")  # torch has threads, which forks do not survive
        self.job: Job | None = None
        self.connection, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, setup), daemon=False)
        with apart():
            self.process.start()
        other.close()  # so that its end is noticed here

    def begin(self, job: Job) -> None:
        """Gives it a search to do."""
        self.job = job
        self.send(job)

    def send(self, message: Job | str | None) -> None:
        """Sends it a search, `STOP`, or None for the end; who has ended already hears nothing."""
        with suppress(OSError):
            self.connection.send(message)

    def hear(self) -> Outcome | None:
        """What came of its search; None if it has ended."""
        try:
            outcome: Outcome = self.connection.recv()
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


class Pool:
    """Does searches in several processes.

    Args:
        setup: What each process is told.
        count: How many there are.
    """

    def __init__(self, setup: Setup, count: int) -> None:
        self._setup, self._count = setup, count
        self._stopping = self._told = False
        self._workers: list[Worker] = []
        self._jobs: deque[Job] = deque()
        self._later: list[Job] = []
        self._waited: set[str] = set()
        self._ends: Counter[str] = Counter()

    def stop(self) -> None:
        """Asks all to save their states after the current step and to stop; for signal handlers."""
        self._stopping = True

    def run(self, jobs: Sequence[Job]) -> Generator[Outcome, None, None]:
        """What comes of each search, as they end; one that fails does not stop the others.

        Raises:
            Stopped: If `stop` was called; all states have been saved.
        """
        self._jobs = deque(jobs)
        try:
            while self._give():
                for worker in self._ready():
                    yield from self._hear(worker)
            if self._stopping:
                raise Stopped(f"stopped; searches not begun: {len(self._jobs) + len(self._later)}")
        finally:
            for worker in self._workers:
                worker.end()
            self._workers = []

    @property
    def _busy(self) -> list[Worker]:
        return [worker for worker in self._workers if worker.job is not None]

    def _give(self) -> bool:
        """Gives everybody something to do, or tells all to stop once; whether anybody is at something."""
        if self._stopping and not self._told:
            self._told = True
            for worker in self._busy:
                worker.send(STOP)
        if not self._jobs and not self._busy:  # others may be done now with what they were at
            self._jobs, self._later = deque(self._later), []
        while self._jobs and not self._stopping and len(self._busy) < self._count:
            self._idle().begin(self._jobs.popleft())
        return bool(self._busy)

    def _idle(self) -> Worker:
        """A process with nothing to do."""
        found = next((worker for worker in self._workers if worker.job is None), None)
        if found is None:
            found = Worker(self._setup)
            self._workers.append(found)
        return found

    def _ready(self) -> list[Worker]:
        """Those that have something to say, or have ended; nobody after a while."""
        ready = wait([worker.connection for worker in self._busy], LOOK)
        return [worker for worker in self._busy if worker.connection in ready]

    def _hear(self, worker: Worker) -> Iterator[Outcome]:
        job, outcome = worker.job, worker.hear()
        assert job is not None  # noqa: S101  # only those that are at something are heard
        if outcome is None:
            yield from self._bury(worker, job)
            return
        worker.job = None
        if outcome.busy and job.name not in self._waited:
            self._waited.add(job.name)
            self._later.append(job)
        elif not outcome.is_stopped:
            yield outcome

    def _bury(self, worker: Worker, job: Job) -> Iterator[Outcome]:
        """Puts the search of a process that has ended back, unless that has happened too often."""
        worker.end()
        self._workers.remove(worker)
        self._ends[job.name] += 1
        if self._ends[job.name] < TRIES:
            self._jobs.appendleft(job)
        else:
            words = f"its process ended {TRIES} times, the last time with code {worker.process.exitcode}"
            yield Outcome(job, failure=f"{words}; if memory ran out, set fewer --jobs")


def serve(connection: Connection, setup: Setup) -> None:
    """Does the searches that come through a connection; what a process of the pool runs."""
    for number in SIGNALS:  # what comes of them is left to the main process
        signal.signal(number, signal.SIG_IGN)
    os.setsid()  # what is sent to the program's whole group does not come here
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    torch.set_num_threads(setup.threads)
    for path in setup.plugins:
        load_plugin(path)
    desk = Desk(setup.place)
    jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, desk, jobs), daemon=True).start()
    for job in iter(jobs.get, None):
        outcome = desk.attempt(job)
        try:
            connection.send(outcome)
        except OSError:  # nobody is left to hear it; the record is written
            os._exit(1)


def _listen(connection: Connection, desk: Desk, jobs: "queue.SimpleQueue[Job | None]") -> None:
    """Passes on what the main process says, and ends this one when that has ended, however it did."""
    while True:
        try:
            message = connection.recv()
        except (EOFError, OSError):
            os._exit(1)
        if message == STOP:
            desk.stop()
        else:
            jobs.put(message)
