"""Work that other processes do ahead of time.

The processes come from a fork server. One that is forked from a process with threads, such as torch's, can
hang, and it holds on to what its parent has open; one that is spawned imports torch first. The server does so
once, in about a second, and every process after that starts in some hundredths.
"""

import itertools
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from dartboard.data._check import check_count
from dartboard.errors import DartboardError, DataError
from dartboard.utils.worker_pool import apart

PREFETCH = 2
"""Results that each worker makes ahead."""

Task = TypeVar("Task")


class Ahead(Generic[Task]):
    """What comes of the tasks 0, 1, 2, ..., made ahead by worker processes.

    Asked for another number than the next one, the workers drop what they have made and start anew there.

    Args:
        work: Makes a tensor on the CPU of a task; it is sent to the workers, and depends on nothing but the
            task, so that their number does not matter.
        task: The task with a number.
        count: How many tasks there are; None for no end.
        workers: How many processes; 0 does the work here, when it is asked for.
        pinned: Whether results are wanted in memory that a graphics card copies from.
    """

    def __init__(
        self,
        work: Callable[[Task], Tensor],
        task: Callable[[int], Task],
        *,
        count: int | None = None,
        workers: int = 0,
        pinned: bool = False,
    ) -> None:
        check_count("workers", workers, least=0)
        self._work, self._tasks = work, _Tasks(task, count)
        self._workers, self._pinned = workers, pinned
        self._loader: DataLoader[Any] | None = None
        self._results: Any = None  # the loader's iterator
        self._next = 0

    def get(self, number: int) -> Tensor:
        """The result of a task.

        Raises:
            DataError: If the work failed for a reason that is the caller's to mend, or a worker was ended.
        """
        if not self._workers:
            return self._work(self._tasks.make(number))
        try:
            with _named():
                if self._results is None or number != self._next:
                    self._results = self._start(number)
                self._next = number + 1
                made = next(self._results)
            return _checked(made)
        except BaseException:  # what the workers are at is unknown from here on
            self.close()
            raise

    def close(self) -> None:
        """Ends the workers, if there are any; whoever asks again starts new ones."""
        results, self._results, self._loader = self._results, None, None
        if results is not None:
            results._shutdown_workers()  # not left to its end: the traceback of an error keeps it alive

    def _start(self, number: int) -> Any:
        self._tasks.first = number
        with apart():
            if self._loader is None:
                self._loader = self._make_loader()
            return iter(self._loader)

    def _make_loader(self) -> DataLoader[Any]:
        multiprocessing.set_forkserver_preload([__name__])
        return DataLoader(
            _Work(self._work),
            sampler=self._tasks,
            batch_size=None,
            num_workers=self._workers,
            prefetch_factor=PREFETCH,
            persistent_workers=True,
            pin_memory=self._pinned,
            multiprocessing_context="forkserver",
            worker_init_fn=_begin,
            generator=torch.Generator(),  # else the global one is drawn from
        )


class _Tasks(Generic[Task]):
    """The tasks from `first` on."""

    def __init__(self, make: Callable[[int], Task], count: int | None) -> None:
        self.make, self.count, self.first = make, count, 0

    def __iter__(self) -> Iterator[Task]:
        numbers = itertools.count(self.first) if self.count is None else range(self.first, self.count)
        return map(self.make, numbers)


class _Failure(NamedTuple):
    """Why there is no result."""

    reason: str


class _Work(Dataset[Any]):
    """Work, as a loader asks for it."""

    def __init__(self, work: Callable[[Any], Tensor]) -> None:
        self.work = work

    def __getitem__(self, task: Any) -> Tensor | _Failure:
        try:
            return self.work(task)
        except DartboardError as error:  # sent as it is, it would come with a traceback
            return _Failure(str(error))


def _checked(made: Tensor | _Failure) -> Tensor:
    """A result, or the reason why there is none raised."""
    if isinstance(made, _Failure):
        raise DataError(made.reason)
    return made


@contextmanager
def _named() -> Iterator[None]:
    """Errors of torch and Python inside that mean that a worker or the fork server is gone say so."""
    try:
        yield
    except (RuntimeError, ConnectionError, EOFError) as error:  # the latter while something is handed over
        if isinstance(error, RuntimeError) and not str(error).startswith("DataLoader worker"):
            raise
        raise DataError(
            f"a process that prepares images was ended from outside ({error}); if memory or shared memory "
            "(/dev/shm) ran out, set fewer workers, or 0"
        ) from None


def _begin(_: int) -> None:
    """Leaves it to the main process what comes of signals, and ends with it however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setsid()  # what is sent to the program's whole group does not come here
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    parent = multiprocessing.parent_process()
    if parent is not None:
        for own, what in ((_end_with, parent.sentinel), (_end_by, parent.pid)):
            threading.Thread(target=own, args=[what], daemon=True).start()


def _end_with(sentinel: int) -> None:
    """Waits for the main process to be gone; the fork server, which torch looks at, lives as long as this."""
    wait([sentinel])
    os._exit(1)


def _end_by(parent: int) -> None:
    """Waits for the main process to say so; what schedulers send to every process is for that one to heed."""
    if sys.platform == "darwin":  # does not tell who sent a signal
        signal.sigwait({signal.SIGTERM})
    else:
        while signal.sigwaitinfo({signal.SIGTERM}).si_pid != parent:
            pass
    os._exit(1)
