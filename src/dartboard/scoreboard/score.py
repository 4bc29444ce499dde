"""The result of a bench: its scoreboard, from its records and its baselines, with tables and plots."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from dartboard.scoreboard.baselines import Baseline, queries_for, run_baseline
from dartboard.scoreboard.config import BenchConfig
from dartboard.scoreboard.jobs import oracle_name, plan_jobs
from dartboard.scoreboard.plots import draw
from dartboard.scoreboard.records import BenchRecord, find_record, read_records
from dartboard.scoreboard.table import Scoreboard, make_table
from dartboard.tables import Table
from dartboard.utils.atomic import write_text


@dataclass(frozen=True)
class BenchResult:
    """The result of a bench.

    Args:
        table: The scoreboard.
        records: The records of its searches, by method.
        baselines: The results of the baselines.
    """

    table: Scoreboard
    records: tuple[BenchRecord, ...]
    baselines: tuple[Baseline, ...]

    def write(self, folder: Path, oracle: Table) -> list[Path]:
        """Writes tables and plots, and returns their paths.

        Args:
            folder: Their folder, which is created if it does not exist.
            oracle: The benchmark table.
        """
        folder.mkdir(parents=True, exist_ok=True)
        facts = json.dumps(self.table.facts(), indent=1)
        texts = {"md": self.table.markdown(), "csv": self.table.csv(), "json": facts + "\n"}
        for ending, text in texts.items():
            write_text(folder / f"table.{ending}", text)
        tables = [folder / f"table.{ending}" for ending in texts]
        return [*tables, *draw(self.records, oracle, folder, self.baselines)]


def score_bench(config: BenchConfig, folder: Path, oracle: Table) -> BenchResult:
    """The result of a bench from the records in a folder.

    Args:
        config: The bench, which says which records are expected.
        folder: Folder of the records.
        oracle: The benchmark table.

    Raises:
        TableError: If a record is of other settings, or the budget of the baselines is unknown.
    """
    jobs = sorted(plan_jobs(config), key=lambda job: list(config.methods).index(job.label))
    oracle_label = oracle_name(config)
    records = tuple(record for job in jobs if (record := find_record(job, folder, oracle_label)) is not None)
    baselines = tuple(run_baselines(config, records, oracle))
    expected = dict.fromkeys(config.methods, config.seeds)
    return BenchResult(make_table(expected, read_records(folder), oracle, baselines), records, baselines)


def run_baselines(config: BenchConfig, records: Sequence[BenchRecord], oracle: Table) -> list[Baseline]:
    """Results of the baselines with the budget of the mean search; none as long as no search is finished."""
    seconds = [record.final.seconds for record in records if record.final.seconds is not None]
    if config.queries is None and (not seconds or not config.baselines):
        return []
    queries = config.queries or queries_for(fmean(seconds), oracle)
    return [run_baseline(name, oracle, queries, config.draws) for name in config.baselines]


def check_queries(config: BenchConfig, oracle: Table) -> None:
    """Refuses a bench of which the budget of the baselines would be unknown.

    Raises:
        TableError: Says what to set.
    """
    if config.baselines and config.queries is None:
        queries_for(1.0, oracle)
