"""The scoreboard: searches compared with each other and with baselines by a benchmark table."""

from dartboard.scoreboard.bench import BenchSearch, plan_jobs
from dartboard.scoreboard.bench_result import BenchResult, score_bench
from dartboard.scoreboard.config import BenchConfig, load_bench
from dartboard.scoreboard.records import BenchRecord, Correlation, EpochScore, read_records
from dartboard.scoreboard.scored_search import Scoring, correlate, score_run

__all__ = [
    "BenchConfig",
    "BenchRecord",
    "BenchResult",
    "BenchSearch",
    "Correlation",
    "EpochScore",
    "Scoring",
    "correlate",
    "load_bench",
    "plan_jobs",
    "read_records",
    "score_bench",
    "score_run",
]
