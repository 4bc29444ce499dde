"""Processes that do one job after the other."""

import os
import signal
import time
from dataclasses import dataclass, field
from functools import partial
from threading import Event

from dartboard.utils.worker_pool import Crew

PATIENCE = 60


@dataclass
class Clerk:
    """Says what it is asked to, or does as it is told."""

    name: str
    asked: Event = field(default_factory=Event)

    def attempt(self, job: str) -> tuple[str, str, int]:
        if job == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if job == "wait":
            assert self.asked.wait(PATIENCE)
        return self.name, job, os.getpid()

    def stop(self) -> None:
        self.asked.set()


def hire(name: str) -> Clerk:
    return Clerk(name)


def listen(crew: Crew[str, tuple[str, str, int]], count: int) -> list[tuple[str, object]]:
    """So many jobs that are over, with what came of them."""
    found: list[tuple[str, object]] = []
    until = time.monotonic() + PATIENCE
    while len(found) < count and time.monotonic() < until:
        found += [(own.job, own.outcome or own.code) for own in crew.ended(0.1)]
    return found


def test_a_crew_at_work() -> None:
    crew: Crew[str, tuple[str, str, int]] = Crew([partial(hire, "a"), partial(hire, "b")])
    try:
        assert (crew.room, crew.is_busy) == (2, False)
        crew.begin("one")
        [(_, first)] = listen(crew, 1)
        crew.begin("two")
        [(_, second)] = listen(crew, 1)
        assert isinstance(first, tuple)
        assert first[:2] == ("a", "one")
        assert second == ("a", "two", first[2])  # by the same process
        crew.begin("wait")
        crew.begin("die")
        assert (crew.room, crew.is_busy) == (0, True)
        assert listen(crew, 1) == [("die", -signal.SIGKILL)]
        crew.stop()
        assert listen(crew, 1) == [("wait", ("a", "wait", first[2]))]
        crew.begin("three")
        crew.begin("four")
        names = {own[0] for _, own in listen(crew, 2) if isinstance(own, tuple)}
        assert names == {"a", "b"}  # somebody else took the place of the dead
    finally:
        crew.close()
    assert crew.room == 2
