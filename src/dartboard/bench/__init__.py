"""The scoreboard: searches against an oracle."""

from dartboard.bench.ask import ask
from dartboard.bench.config import BenchConfig, load_bench
from dartboard.bench.correlation import correlate
from dartboard.bench.jobs import Job, plan_jobs
from dartboard.bench.pool import Pool, Setup
from dartboard.bench.records import BenchRecord, Correlation, Point, read_records
from dartboard.bench.score import Score, make_score
from dartboard.bench.work import Desk, Outcome, Place

__all__ = [
    "BenchConfig",
    "BenchRecord",
    "Correlation",
    "Desk",
    "Job",
    "Outcome",
    "Place",
    "Point",
    "Pool",
    "Score",
    "Setup",
    "ask",
    "correlate",
    "load_bench",
    "make_score",
    "plan_jobs",
    "read_records",
]
