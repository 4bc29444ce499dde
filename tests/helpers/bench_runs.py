"""What the tests of benches share: made-up numbers to ask for, a bench that takes seconds, its records."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dartboard.jobs.executors import Executor
from dartboard.jobs.executors.local import InlineExecutor
from dartboard.jobs.job import JobResult
from dartboard.jobs.queue import JobQueue
from dartboard.plugins import load_plugin
from dartboard.scoreboard.bench import BenchSearch
from dartboard.scoreboard.config import BenchConfig, load_bench
from dartboard.scoreboard.records import BenchRecord, read_records
from dartboard.scoreboard.scored_search import Scoring
from dartboard.tables import Table, load_table
from helpers.protocol_cases import without_times

PLUGIN = str(Path(__file__).with_name("toy_table.py"))
TINY = (
    "epochs=2",
    "batch=16",
    "net.channels=4",
    "health.examples=16",
    "weights.lr=0.1",
    "correlation=4",
    "draws=3",
)


def toy_table() -> Table:
    """The benchmark with made-up numbers."""
    load_plugin(PLUGIN)
    return load_table("toy", None)


def settings(data: str, *words: str, methods: str = "darts", seeds: str = "0") -> BenchConfig:
    """A bench on the images in a file that takes seconds."""
    load_plugin(PLUGIN)
    flags = {"search": {"data": data}, "oracle": "toy", "seeds": seeds}
    return load_bench(flags=flags, words=[*TINY, *words], labels=methods.split(","))


def scoring(path: Path, correlation: int = 4, **options: Any) -> Scoring:
    """Where a bench runs whose runs and records are below `path`."""
    more = {"device": "cpu", "plugins": (PLUGIN,)} | options
    return Scoring(path / "runs", path / "records", "toy", None, correlation, **more)


def run_searches(
    path: Path, searches: Sequence[BenchSearch], executor: Executor | None = None, *, correlation: int = 4
) -> dict[str, JobResult]:
    """Results of searches that run below `path`, in the order of completion; the executor is closed."""
    executor = executor or InlineExecutor()
    try:
        queue = JobQueue(executor)
        jobs = [scoring(path, correlation).job(search) for search in searches]
        return {result.job.name: result for result in queue.run(jobs)}
    finally:
        executor.close()


def record_of(path: Path, search: BenchSearch, correlation: int = 4) -> BenchRecord:
    """The record of a search that runs below `path`."""
    result = run_searches(path, [search], correlation=correlation)[search.name]
    assert result.state == "finished", result.error
    record = scoring(path).record(search)
    assert record is not None
    return record


def read_comparable(folder: Path) -> list[Any]:
    """All that the records in a folder say but for times and versions."""
    return [comparable(record) for record in read_records(folder)]


def comparable(record: BenchRecord) -> Any:
    return without_times(asdict(record) | {"versions": None})
