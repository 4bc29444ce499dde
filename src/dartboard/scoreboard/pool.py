"""Searches of a bench in several processes at a time, each of which does one after the other.

A process that is ended from outside loses nothing: its search goes on in another one from the last
checkpoint. When this process is ended the others end with it, at once.
"""

from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import torch

from dartboard.errors import Stopped
from dartboard.plugins import load_plugin
from dartboard.scoreboard.jobs import Job
from dartboard.scoreboard.runner import Desk, Outcome, Place
from dartboard.utils.worker_pool import Crew, Ended

LOOK = 0.2
"""Seconds between two looks at whether to stop."""
TRIES = 3
"""A search whose process ends before it is begun so many times."""


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

    def __call__(self) -> Desk:
        """Who does the searches of a process."""
        torch.set_num_threads(self.threads)
        for path in self.plugins:
            load_plugin(path)
        return Desk(self.place)


class Pool:
    """Does searches in several processes.

    Args:
        setup: What each process is told.
        count: How many there are.
    """

    def __init__(self, setup: Setup, count: int) -> None:
        self._stopping = self._told = False
        self._crew: Crew[Job, Outcome] = Crew([setup] * count)
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
                for ended in self._crew.ended(LOOK):
                    yield from self._hear(ended)
            if self._stopping:
                raise Stopped(f"stopped; searches not begun: {len(self._jobs) + len(self._later)}")
        finally:
            self._crew.close()

    def _give(self) -> bool:
        """Gives everybody something to do, or tells all to stop once; whether anybody is at something."""
        if self._stopping and not self._told:
            self._told = True
            self._crew.stop()
        if not self._jobs and not self._crew.is_busy:  # others may be done now with what they were at
            self._jobs, self._later = deque(self._later), []
        while self._jobs and not self._stopping and self._crew.room:
            self._crew.begin(self._jobs.popleft())
        return self._crew.is_busy

    def _hear(self, ended: Ended[Job, Outcome]) -> Iterator[Outcome]:
        job, outcome = ended.job, ended.outcome
        if outcome is None:
            yield from self._bury(job, ended.code)
        elif outcome.busy and job.name not in self._waited:
            self._waited.add(job.name)
            self._later.append(job)
        elif not outcome.is_stopped:
            yield outcome

    def _bury(self, job: Job, code: int | None) -> Iterator[Outcome]:
        """Puts the search of a process that has ended back, unless that has happened too often."""
        self._ends[job.name] += 1
        if self._ends[job.name] < TRIES:
            self._jobs.appendleft(job)
        else:
            words = f"its process ended {TRIES} times, the last time with code {code}"
            yield Outcome(job, failure=f"{words}; if memory ran out, set fewer --jobs")
