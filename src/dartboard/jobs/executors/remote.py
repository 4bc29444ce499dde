"""Jobs in processes that hear of their driver through the sweep's directory alone.

A job goes on as long as its flag is there: a small file that all machines see. Whoever takes the flag away
makes the job save its state and stop, however the two came to be on different machines.
"""

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from signal import Signals
from threading import Event, Thread
from typing import Any, TypeVar

from pydantic import ValidationError

from dartboard.config.loader import explain
from dartboard.config.schema import Options
from dartboard.jobs.job import Job, Outcome
from dartboard.jobs.runner import Desk
from dartboard.utils.signals import handling

LOOK = 0.5
"""Seconds between two looks at the flag."""
M = TypeVar("M", bound=Options)


def perform(job: Job, flag: Path, signals: Sequence[Signals] = ()) -> Outcome:
    """What comes of a job that is done here, as long as its flag is there.

    Args:
        job: A search or a training.
        flag: The file.
        signals: What the machine sends when the job has to go: it saves its state, and counts as lost.
    """
    if not flag.parent.is_dir():
        words = f"{socket.gethostname()} does not see {flag.parent}"
        return Outcome(job, "failed", f"{words}; put the sweep in a directory that all machines share")
    if not flag.exists():
        return Outcome(job, "stopped")
    desk = Desk()
    with _watched(flag, desk), handling(signals, lambda _: desk.stop()) as caught:
        outcome = desk.attempt(job)
    if outcome.state == "stopped" and caught and flag.exists():
        return Outcome(job, "lost", f"its machine asked it to go, with {caught[0].name}; its state is saved")
    return outcome


@contextmanager
def _watched(flag: Path, desk: Desk) -> Iterator[None]:
    """Inside, the work is asked to stop when the flag goes away."""
    over = Event()

    def watch() -> None:
        while not over.wait(LOOK):
            if not flag.exists():
                desk.stop()
                return

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def fitted(job: Job, *, threads: int | None, device: str | None) -> Job:
    """The job with threads and device as given where it says none itself."""
    return replace(job, threads=job.threads or threads, device=job.device or device)


def checked(model: type[M], values: Mapping[str, Any]) -> M:
    """The options of an executor that plain values say.

    Raises:
        UnknownNameError: If there is no such option.
        OptionError: If a value cannot be used; says which.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise explain(error, model) from None
