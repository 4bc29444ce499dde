"""Batches that worker processes prepare ahead of time.

The processes come from a fork server. One that is forked from a process with threads, such as torch's, can
hang, and it keeps what its parent has open; one that is spawned imports torch first. The server does so
once, in about a second, and every process after that starts in some hundredths.
"""

import itertools
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import wait
from typing import Any, Generic, TypeVar

import torch
from torch.utils.data import DataLoader, Dataset

from dartboard.data.dataset import check_count
from dartboard.errors import DartboardError, DataError
from dartboard.utils.processes import isolated_start

PREFETCH_FACTOR = 2
"""Results that each worker prepares ahead."""

Task = TypeVar("Task")
Product = TypeVar("Product")


class Prefetcher(Generic[Task, Product]):
    """The results of tasks 0, 1, 2, ..., prepared ahead by worker processes.

    If another index than the next one is requested, the workers discard their results and restart there.

    Args:
        function: Makes CPU tensors from a task. It is pickled for the workers and depends on nothing but the
            task, so that the number of workers does not change results.
        task: The task with an index.
        count: Number of tasks; None for no end.
        workers: Number of processes; 0 calls the function here, on demand.
        pinned: Whether results are put into pinned memory.
    """

    def __init__(
        self,
        function: Callable[[Task], Product],
        task: Callable[[int], Task],
        *,
        count: int | None = None,
        workers: int = 0,
        pinned: bool = False,
    ) -> None:
        check_count("workers", workers, least=0)
        self._function, self._tasks = function, _TaskSampler(task, count)
        self._workers, self._pinned = workers, pinned
        self._loader: DataLoader[Any] | None = None
        self._results: Any = None  # the loader's iterator
        self._next = 0

    def get(self, index: int) -> Product:
        """The result of a task.

        Raises:
            DataError: If the function raised a DartboardError, or a worker was killed.
        """
        if not self._workers:
            return self._function(self._tasks.task(index))
        try:
            if self._results is None or index != self._next:
                self._results = self._start(index)
            self._next = index + 1
            result: Product | str = next(self._results)
            if isinstance(result, str):  # no product is a text
                raise DataError(result)
        except BaseException as error:  # the state of the workers is unknown from here on
            self.close()
            dead = isinstance(error, RuntimeError) and str(error).startswith("DataLoader worker")
            if dead or isinstance(error, ConnectionError | EOFError):  # the latter two during a transfer
                raise DataError(
                    f"a process that prepares images was ended from outside ({error}); if memory or shared "
                    "memory (/dev/shm) ran out, set fewer workers, or 0"
                ) from None
            raise
        return result

    def close(self) -> None:
        """Stop the workers, if there are any; the next `get` starts new ones."""
        results, self._results, self._loader = self._results, None, None
        if results is not None:
            results._shutdown_workers()  # not left to its deletion: the traceback of an error keeps it alive

    def _start(self, index: int) -> Any:
        """The iterator over the results from `index` on."""
        self._tasks.first = index
        with isolated_start():
            if self._loader is None:
                multiprocessing.set_forkserver_preload([__name__])
                self._loader = DataLoader(
                    _TaskDataset(self._function),
                    sampler=self._tasks,
                    batch_size=None,
                    num_workers=self._workers,
                    prefetch_factor=PREFETCH_FACTOR,
                    persistent_workers=True,
                    pin_memory=self._pinned,
                    multiprocessing_context="forkserver",
                    worker_init_fn=_init_worker,
                    generator=torch.Generator(),  # otherwise the global one is drawn from
                )
            return iter(self._loader)


class _TaskSampler(Generic[Task]):
    """The tasks from `first` on, as the sampler of a DataLoader."""

    def __init__(self, task: Callable[[int], Task], count: int | None) -> None:
        self.task, self.count, self.first = task, count, 0

    def __iter__(self) -> Iterator[Task]:
        indices = itertools.count(self.first) if self.count is None else range(self.first, self.count)
        return map(self.task, indices)


class _TaskDataset(Dataset[Any]):
    """The function, as the data set of a DataLoader indexed by tasks."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __getitem__(self, task: Any) -> Any:
        """The result of a task, or a text that says why there is none."""
        try:
            return self.function(task)
        except DartboardError as error:  # sent as it is, it would come with a traceback
            return str(error)


def _init_worker(_: int) -> None:
    """Leave signals to the main process, and exit with it however it exits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setsid()  # signals to the program's process group do not arrive here
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after_parent, args=[parent.sentinel], daemon=True).start()
        threading.Thread(target=_exit_on_sigterm_of, args=[parent.pid], daemon=True).start()


def _exit_after_parent(sentinel: int) -> None:
    """Exit when the main process has; torch watches the fork server, which lives as long as this process."""
    wait([sentinel])
    os._exit(1)


def _exit_on_sigterm_of(parent: int) -> None:
    """Exit when the main process sends SIGTERM; that of a scheduler to all processes is for it to handle."""
    if sys.platform == "darwin":  # the sender of a signal is unknown
        signal.sigwait({signal.SIGTERM})
    else:
        while signal.sigwaitinfo({signal.SIGTERM}).si_pid != parent:
            pass
    os._exit(1)
