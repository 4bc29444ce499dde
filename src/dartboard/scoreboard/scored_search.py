"""Jobs of a bench: a search, and when it is over the record of what a benchmark table says of it."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dartboard.errors import Stopped
from dartboard.jobs.device import find_device
from dartboard.jobs.job import Job, State
from dartboard.jobs.loops import LoopKind, check_settings
from dartboard.jobs.runner import KINDS, JobRunner
from dartboard.runs import Run, RunReader, is_run
from dartboard.scoreboard.jobs import BenchSearch
from dartboard.scoreboard.records import BenchRecord, Correlation, find_record
from dartboard.scoreboard.scoring import correlate, score_run
from dartboard.search import Searcher
from dartboard.search.config import SEARCH
from dartboard.search.searcher import restore_search
from dartboard.tables import Table, load_table


@dataclass(frozen=True)
class Scoring:
    """Where the searches of a bench run, and how they are scored.

    Args:
        runs: Directory of the runs.
        records: Directory of the records.
        oracle: Name of the benchmark table.
        table: File of the table; None for one that comes with the package.
        correlation: Number of architectures whose accuracy with shared weights is compared with the table.
        device: Where to compute.
        threads: Torch threads of each search.
        plugins: Python files to load first.
        fall_back: Whether an older checkpoint will do where the last of a run is damaged.
    """

    runs: Path
    records: Path
    oracle: str
    table: Path | None = None
    correlation: int = 0
    device: str | None = None
    threads: int | None = None
    plugins: tuple[str, ...] = ()
    fall_back: bool = False

    def job(self, search: BenchSearch) -> Job:
        """The job of a search."""
        options = {
            "label": search.label,
            "records": str(self.records.resolve()),
            "oracle": self.oracle,
            "table": None if self.table is None else str(self.table.resolve()),
            "correlation": self.correlation,
        }
        return Job(
            search.name,
            str(self.runs.resolve()),
            "scored-search",
            search.settings(),
            threads=self.threads,
            device=self.device,
            plugins=self.plugins,
            fall_back=self.fall_back,
            options=options,
        )

    def record(self, search: BenchSearch) -> BenchRecord | None:
        """The record of a search; None if it is not there yet.

        Raises:
            DartboardError: If it is damaged or of other settings; names them.
        """
        return find_record(search, self.records, self.oracle)


@KINDS.register("scored-search")
class ScoredSearch:
    """Runs a search, then writes its record."""

    @staticmethod
    def status(job: Job) -> State | None:
        """`finished` if the record is there, else None; refuses records and runs of other settings."""
        options = job.options or {}
        if find_record(_search_of(job), Path(options["records"]), options["oracle"]) is not None:
            return "finished"
        if is_run(job.path):
            check_settings(job, RunReader.read(job.path))
        return None

    @staticmethod
    def run(job: Job, runner: JobRunner) -> State:
        """Runs the search to its end unless it is there, and scores it."""
        state = LoopKind.status(job) or LoopKind.run(job, runner)
        if state != "finished":
            return state
        options, run, search = job.options or {}, Run.read(job.path), _search_of(job)
        table = _load_table(options["oracle"], options["table"])
        try:
            correlation = _correlation(job, runner, run, table) if options["correlation"] else None
        except Stopped:
            return "stopped"
        record = score_run(search, run, table, correlation)
        folder = Path(options["records"])
        folder.mkdir(parents=True, exist_ok=True)
        record.write(folder)
        return "finished"


def _search_of(job: Job) -> BenchSearch:
    return BenchSearch(str((job.options or {})["label"]), SEARCH.validate(job.config))


@lru_cache(maxsize=1)
def _load_table(name: str, path: str | None) -> Table:
    return load_table(name, None if path is None else Path(path))


def _correlation(job: Job, runner: JobRunner, run: Run, table: Table) -> Correlation | None:
    """Rank correlation of the finished supernet; None where the method trains nothing."""
    searcher = runner.builder(find_device(job.device)).build_job(job)
    assert isinstance(searcher, Searcher)  # noqa: S101
    if not searcher.method.trains:
        return None
    with runner.stoppable(searcher.stop):
        restore_search(searcher, run, fall_back=job.fall_back)
        return correlate(searcher, table, (job.options or {})["correlation"])
