"""Searches of a bench, done one after the other in this process; see `pool` for several at a time."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from dartboard.engine.memory import is_out_of_memory
from dartboard.engine.rng_scope import unheard
from dartboard.errors import DartboardError, RunError, Stopped, one_line
from dartboard.jobs.inner import Inner
from dartboard.runs import Run, is_locked
from dartboard.scoreboard.correlation import correlate
from dartboard.scoreboard.jobs import Job, Maker
from dartboard.scoreboard.records import BenchRecord, Correlation
from dartboard.scoreboard.scoring import ask
from dartboard.scoreboard.store import check_run, find_record
from dartboard.search import Searcher
from dartboard.search.revive import revive
from dartboard.tables import Table, load_table


@dataclass(frozen=True)
class Place:
    """Where a bench is done.

    Args:
        runs: The directory that the runs are in.
        records: The directory of the records.
        oracle: Who is asked.
        table: The oracle's file; None for one that comes with the package.
        correlation: How many architectures are compared with the oracle; 0 for none.
        device: Where to compute.
        fall_back: Whether an older checkpoint will do where the last of a run is damaged.
    """

    runs: Path
    records: Path
    oracle: str
    table: Path | None
    correlation: int
    device: torch.device
    fall_back: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came of a search.

    Args:
        job: The search.
        record: Its record; None if there is none.
        failure: Why there is none, in words; None where there is, or the search was asked to stop.
        busy: Whether another process is at it.
    """

    job: Job
    record: BenchRecord | None = None
    failure: str | None = None
    busy: bool = False

    @property
    def is_stopped(self) -> bool:
        """Whether the search was asked to stop."""
        return self.record is None and self.failure is None and not self.busy


class BusyError(RunError):
    """A run that another process is at."""


@dataclass
class Desk:
    """Does searches one after the other, and asks the oracle when each is over.

    Args:
        place: Where.

    Attributes:
        maker: Makes the loops.
    """

    place: Place
    _searcher: Searcher | None = field(default=None, init=False)
    _oracle: Table | None = field(default=None, init=False)
    _stopping: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.maker = Maker(self.place.device)
        self._inner = Inner(self.place.runs, self.place.device, fall_back=self.place.fall_back)

    def stop(self) -> None:
        """Asks to save the state after the current step and to stop; for signal handlers."""
        self._stopping = True
        self._inner.stop()
        if self._searcher is not None:
            self._searcher.stop()

    def run(self, jobs: Sequence[Job]) -> Generator[Outcome, None, None]:
        """What comes of each search; one that fails does not stop the others.

        Raises:
            Stopped: If `stop` was called; the state has been saved.
        """
        later = []
        for job in jobs:
            outcome = self._attempt(job)
            if outcome.busy:
                later.append(job)  # it may be done when the others are
            else:
                yield outcome
        yield from map(self._attempt, later)

    def _attempt(self, job: Job) -> Outcome:
        outcome = self.attempt(job)
        if outcome.is_stopped:
            raise Stopped(f"stopped in {job.name}")
        return outcome

    def attempt(self, job: Job) -> Outcome:
        """What comes of a search, whatever that is."""
        try:
            with unheard():
                return Outcome(job, self.do(job))
        except Stopped:
            return Outcome(job)
        except BusyError:
            return Outcome(job, busy=True)
        except (DartboardError, OSError) as error:
            return Outcome(job, failure=one_line(error))
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            return Outcome(job, failure="out of memory; use a smaller net.channels or batch, or fewer cells")

    def do(self, job: Job) -> BenchRecord:
        """The record of a search, which is done to its end unless it was before.

        Raises:
            Stopped: If `stop` was called; the state has been saved.
            BusyError: If another process is at it.
            DartboardError: If the search fails, or the oracle does not know what it found.
        """
        if (found := find_record(job, self.place.records, self.place.oracle)) is not None:
            return found
        check_run(job, self.place.runs / job.name)
        run = self._finish(job)
        self._oracle = self._oracle or load_table(self.place.oracle, self.place.table)
        record = ask(job, run, self._oracle, self._correlate(job, run, self._oracle))
        self.place.records.mkdir(parents=True, exist_ok=True)
        record.write(self.place.records)
        return record

    def _finish(self, job: Job) -> Run:
        try:
            return self._inner.finish(self.maker.inside(job))
        except RunError as error:
            if is_locked(self.place.runs / job.name):
                raise BusyError(str(error)) from None
            raise

    def _correlate(self, job: Job, run: Run, oracle: Table) -> Correlation | None:
        """None where that was not asked for, or the method trains nothing."""
        if not self.place.correlation:
            return None
        self._searcher = searcher = self.maker.make(job.config)
        try:
            if not searcher.method.trains:
                return None
            if self._stopping:  # it may have come before there was anybody to tell
                searcher.stop()
            revive(searcher, run, fall_back=self.place.fall_back)
            return correlate(searcher, oracle, self.place.correlation)
        finally:
            self._searcher = None
