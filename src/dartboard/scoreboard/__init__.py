"""The scoreboard: searches against an oracle."""

from dartboard.scoreboard.config import BenchConfig, load_bench
from dartboard.scoreboard.correlation import correlate
from dartboard.scoreboard.jobs import Job, plan_jobs
from dartboard.scoreboard.pool import Pool, Setup
from dartboard.scoreboard.records import BenchRecord, Correlation, Point, read_records
from dartboard.scoreboard.runner import Desk, Outcome, Place
from dartboard.scoreboard.score import Score, make_score
from dartboard.scoreboard.scoring import ask

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
