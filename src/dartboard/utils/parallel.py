"""The same work for many things, in several processes."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor
from concurrent.futures import wait as wait_for
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import TypeVar

from dartboard.errors import DartboardError

T = TypeVar("T")
R = TypeVar("R")
AHEAD = 4
"""Things of each process that are handed out at once: the next one is there when one is done."""


class WorkerError(DartboardError):
    """A process that was ended from outside."""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_processes(
    work: Callable[[T], R], things: Sequence[T], jobs: int, *, threads: int = 1
) -> Iterator[tuple[T, R]]:
    """What comes of each thing, as they are done; with one job in this process, in their order.

    Processes end with this one, however it ends, and leave Ctrl-C to it. Memory does not grow with the number
    of things: as results are taken, more things are handed out.

    Args:
        work: What is done, a function of a module; what it raises is raised here.
        things: What it is done with; things and results travel between processes.
        jobs: How many processes work.
        threads: Torch's, of each process; this one's are left as they are.

    Raises:
        WorkerError: If a process was ended from outside; what was yielded is done.
    """
    if jobs == 1 or len(things) < 2:
        yield from ((thing, work(thing)) for thing in things)
        return
    count = min(jobs, len(things))
    pool = ProcessPoolExecutor(count, get_context("spawn"), _prepare, (threads,))
    try:
        yield from _handed_out(pool, work, things, AHEAD * count)
    except BrokenProcessPool:
        raise WorkerError("a process was ended from outside; if memory ran out, use fewer jobs") from None
    finally:
        _end(pool)


def _handed_out(
    pool: ProcessPoolExecutor, work: Callable[[T], R], things: Sequence[T], most: int
) -> Iterator[tuple[T, R]]:
    """What comes of each thing, as they are done, with at most so many in the pool's hands."""
    left = iter(things)
    asked: dict[Future[R], T] = {pool.submit(work, thing): thing for thing in islice(left, most)}
    while asked:
        for done in wait_for(asked, return_when=FIRST_COMPLETED).done:
            yield asked.pop(done), done.result()
            asked |= {pool.submit(work, thing): thing for thing in islice(left, 1)}


def one_thread() -> AbstractContextManager[None]:
    """Inside, torch computes with one thread on the CPU: results do not depend on how many there are."""
    return using_threads(1)


@contextmanager
def using_threads(count: int | None) -> Iterator[None]:
    """Inside, torch computes with so many threads on a CPU; as before if that is None."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _end(pool: ProcessPoolExecutor) -> None:
    """Ends all processes, at once where they are at something."""
    workers = list((pool._processes or {}).values())  # there is no public way before 3.14
    pool.shutdown(wait=False, cancel_futures=True)
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join()


def _prepare(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None  # noqa: S101
    wait([parent.sentinel])
    os._exit(1)
