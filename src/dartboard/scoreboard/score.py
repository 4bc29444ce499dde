"""From the records of a bench to its scoreboard: what is there, what is missing, and what random would do."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from dartboard.scoreboard.baselines import Baseline, queries_for, run_baseline
from dartboard.scoreboard.config import BenchConfig
from dartboard.scoreboard.jobs import oracle_name, plan_jobs
from dartboard.scoreboard.plots import draw
from dartboard.scoreboard.records import BenchRecord, read_records
from dartboard.scoreboard.store import find_record
from dartboard.scoreboard.table import Scoreboard, make_table
from dartboard.tables import Table
from dartboard.utils.atomic import write_text


@dataclass(frozen=True)
class BenchResult:
    """The scoreboard of a bench.

    Args:
        table: What every method came to.
        records: Those of the bench, methods in its order.
        baselines: What asked the oracle itself.
    """

    table: Scoreboard
    records: tuple[BenchRecord, ...]
    baselines: tuple[Baseline, ...]

    def write(self, folder: Path, oracle: Table) -> list[Path]:
        """Writes tables and pictures, and returns their paths.

        Args:
            folder: Where they go; it is made if it is not there.
            oracle: The benchmark that was asked.
        """
        folder.mkdir(parents=True, exist_ok=True)
        facts = json.dumps(self.table.facts(), indent=1)
        texts = {"md": self.table.markdown(), "csv": self.table.csv(), "json": facts + "\n"}
        for ending, text in texts.items():
            write_text(folder / f"table.{ending}", text)
        tables = [folder / f"table.{ending}" for ending in texts]
        return [*tables, *draw(self.records, oracle, folder, self.baselines)]


def score_bench(config: BenchConfig, folder: Path, oracle: Table) -> BenchResult:
    """The scoreboard of the records in a folder.

    Args:
        config: The bench, which says what there shall be.
        folder: Where the records are.
        oracle: The benchmark that was asked.

    Raises:
        TableError: If a record is of other settings, or nobody knows how often baselines may ask.
    """
    jobs = sorted(plan_jobs(config), key=lambda job: list(config.methods).index(job.label))
    found = [find_record(job, folder, oracle_name(config)) for job in jobs]
    records = tuple(record for record in found if record is not None)
    baselines = tuple(run_baselines(config, records, oracle))
    expected = dict.fromkeys(config.methods, config.seeds)
    return BenchResult(make_table(expected, read_records(folder), oracle, baselines), records, baselines)


def run_baselines(config: BenchConfig, records: Sequence[BenchRecord], oracle: Table) -> list[Baseline]:
    """What asks the oracle itself, as often as the mean search pays for; nothing as long as none is done."""
    seconds = [own.final.seconds for own in records if own.final.seconds is not None]
    if config.queries is None and (not seconds or not config.baselines):
        return []
    queries = config.queries or queries_for(fmean(seconds), oracle)
    return [run_baseline(name, oracle, queries, config.draws) for name in config.baselines]


def check_queries(config: BenchConfig, oracle: Table) -> None:
    """Refuses a bench of which nobody will know how often baselines may ask.

    Raises:
        TableError: Says what to set.
    """
    if config.baselines and config.queries is None:
        queries_for(1.0, oracle)
