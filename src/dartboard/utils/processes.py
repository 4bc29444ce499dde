"""The one process pool: workers that run jobs one after the other and die with the process that started them.

Also the signals and the threads of a process, for a while other than they are.

Torch has threads, which forks do not survive, so workers are spawned. They ignore Ctrl-C and SIGTERM: the
main process decides what becomes of their jobs, and can ask them to stop. When the main process is gone,
however it ended, the pipe to it breaks and the worker exits at once.
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
from dataclasses import dataclass
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from signal import Signals
from types import ModuleType
from typing import Any, Generic, Protocol, TypeVar

from dartboard.errors import DartboardError

STOP = "stop"
GRACE = 5.0
"""Seconds that an idle worker has to exit by itself."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)

J = TypeVar("J")
R = TypeVar("R")
T = TypeVar("T")
J_contra = TypeVar("J_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class WorkerError(DartboardError):
    """A worker process was ended from outside."""


class Runner(Protocol[J_contra, R_co]):
    """Runs jobs in a worker process."""

    def run(self, job: J_contra) -> R_co:
        """Result of a job; raises nothing that a job can bring about."""
        ...

    def stop(self) -> None:
        """Asks the current job to stop as soon as possible; called from another thread."""
        ...


@dataclass(frozen=True)
class Completed(Generic[J, R]):
    """A job that has ended, with its result, or None and the exit code of its worker if that died."""

    job: J
    result: R | None
    exit_code: int | None = None


class Worker(Generic[J, R]):
    """A process that runs jobs.

    Args:
        factory: Makes the runner; called in the worker process.
        import_main: Whether the worker imports the program's main file, as functions that are defined there
            need.

    Attributes:
        job: The job it is busy with; None if it is idle.
    """

    def __init__(self, factory: Callable[[], Runner[J, R]], *, import_main: bool = False) -> None:
        context = multiprocessing.get_context("spawn")
        self.job: J | None = None
        self.connection, remote_end = context.Pipe()
        self.process = context.Process(target=serve, args=(remote_end, factory), daemon=False)
        with isolated_start(import_main=import_main):
            self.process.start()
        remote_end.close()  # so that the worker's death is noticed here

    def send(self, message: J | str | None) -> None:
        """Sends a job, `STOP`, or None for the end; ignored if the worker has exited."""
        with suppress(OSError):
            self.connection.send(message)

    def close(self) -> None:
        """Ends the process, at once if it is busy."""
        if self.job is None:
            self.send(None)
            self.process.join(GRACE)
        self.process.kill()
        self.process.join()
        self.connection.close()


class WorkerPool(Generic[J, R]):
    """Several workers, started when they are needed and used again.

    Args:
        factories: One for each worker: makes its runner, in the worker process.
        import_main: Whether workers import the program's main file.
    """

    def __init__(self, factories: Sequence[Callable[[], Runner[J, R]]], *, import_main: bool = False) -> None:
        self.factories, self._import_main = factories, import_main
        self._workers: dict[int, Worker[J, R]] = {}

    @property
    def _busy(self) -> dict[int, Worker[J, R]]:
        return {slot: worker for slot, worker in self._workers.items() if worker.job is not None}

    @property
    def free(self) -> int:
        """Number of jobs that can be submitted now."""
        return len(self.factories) - len(self._busy)

    def submit(self, job: J) -> None:
        """Gives a job to an idle worker; there must be one."""
        idle = [slot for slot in range(len(self.factories)) if slot not in self._busy]
        slot = next((slot for slot in idle if slot in self._workers), idle[0])
        if slot not in self._workers:
            self._workers[slot] = Worker(self.factories[slot], import_main=self._import_main)
        worker = self._workers[slot]
        worker.job = job
        worker.send(job)

    def completed(self, seconds: float | None) -> list[Completed[J, R]]:
        """The jobs that have ended; waits at most so long for the first, for ever if None."""
        busy = self._busy
        ready = wait([worker.connection for worker in busy.values()], seconds)
        ended: list[Completed[J, R]] = []
        for slot, worker in busy.items():
            if worker.connection not in ready or worker.job is None:
                continue
            job: J = worker.job
            try:
                result: R = worker.connection.recv()
            except (EOFError, OSError):  # the worker has exited
                del self._workers[slot]
                worker.close()
                ended.append(Completed(job, None, worker.process.exitcode))
            else:
                worker.job = None
                ended.append(Completed(job, result))
        return ended

    def stop(self) -> None:
        """Asks all busy workers to stop."""
        for worker in self._busy.values():
            worker.send(STOP)

    def close(self) -> None:
        """Ends all workers, at once those that are busy."""
        for worker in self._workers.values():
            worker.close()
        self._workers = {}


def serve(connection: Connection, factory: Callable[[], Runner[Any, Any]]) -> None:
    """Runs the jobs that arrive through a connection; the main function of a worker process."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    os.setsid()  # signals to the program's process group do not arrive here
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    runner = factory()
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def listen() -> None:
        while True:
            try:
                message = connection.recv()
            except (EOFError, OSError):
                os._exit(1)  # the main process is gone
            if message == STOP:
                runner.stop()
            else:
                jobs.put(message)

    threading.Thread(target=listen, daemon=True).start()
    for job in iter(jobs.get, None):
        result = runner.run(job)
        try:
            connection.send(result)
        except OSError:  # the main process is gone; what the job wrote is written
            os._exit(1)


@contextmanager
def isolated_start(*, import_main: bool = False) -> Iterator[None]:
    """Inside, processes that start see no Ctrl-C or SIGTERM and do not run the program's main file again."""
    main = sys.modules["__main__"]
    resource_tracker.ensure_running()  # it unblocks the signals when it starts
    with held_back(SIGNALS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This DataLoader will create")  # more than there are cores
        if not import_main:
            sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


@contextmanager
def handling(signals: Sequence[Signals], handle: Callable[[Signals], None]) -> Iterator[list[Signals]]:
    """Inside, signals call `handle`; afterwards they do what they did before. Yields those that arrived."""
    caught: list[Signals] = []

    def catch(number: int, _: object) -> None:
        caught.append(Signals(number))
        handle(caught[-1])

    before = {number: signal.signal(number, catch) for number in signals}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def held_back(signals: Sequence[Signals]) -> Iterator[None]:
    """Inside, signals wait until afterwards; processes that start inside do not see them at all."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def cpu_count() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parallel_map(
    function: Callable[[T], R], items: Sequence[T], jobs: int, *, threads: int = 1
) -> Iterator[tuple[T, R]]:
    """Each item with its result, in the order of completion; one job runs in this process, in order.

    Memory does not grow with the number of items: each worker has one of them at a time.

    Args:
        function: A function of a module; items and results are pickled. What it raises is raised here.
        items: What it is called with, one at a time.
        jobs: Number of processes.
        threads: Torch threads of each worker; those of this process are left as they are.

    Raises:
        WorkerError: If a worker was ended from outside; what was yielded is done.
    """
    if jobs == 1 or len(items) < 2:
        yield from ((item, function(item)) for item in items)
        return
    factory = partial(_MapRunner, function, threads)
    pool: WorkerPool[tuple[int, T], tuple[R | None, Exception | None]]
    pool = WorkerPool([factory] * min(jobs, len(items)), import_main=True)
    waiting = iter(enumerate(items))
    try:
        while True:
            while pool.free and (item := next(waiting, None)) is not None:
                pool.submit(item)
            if pool.free == len(pool.factories):
                return
            for done in pool.completed(None):
                if done.result is None:
                    raise WorkerError("a process was ended from outside; if memory ran out, use fewer jobs")
                result, error = done.result
                if error is not None:
                    raise error
                yield done.job[1], result  # type: ignore[misc]
    finally:
        pool.close()


class _MapRunner(Generic[T, R]):
    """Calls one function with each item."""

    def __init__(self, function: Callable[[T], R], threads: int) -> None:
        import torch

        torch.set_num_threads(threads)
        self._function = function

    def run(self, job: tuple[int, T]) -> tuple[R | None, Exception | None]:
        try:
            return self._function(job[1]), None
        except Exception as error:  # noqa: BLE001  # raised again in the main process
            return None, error

    def stop(self) -> None:
        """Items are short; they run to their end."""


@contextmanager
def using_threads(count: int | None) -> Iterator[None]:
    """Inside, torch computes with this number of threads on the CPU; as before if None.

    With one thread results do not depend on how many there are.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
