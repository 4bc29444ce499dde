"""The scoreboard: searches against an oracle."""

from dartboard.scoreboard.config import BenchConfig, load_bench
from dartboard.scoreboard.correlation import correlate
from dartboard.scoreboard.jobs import BenchSearch, plan_jobs
from dartboard.scoreboard.records import BenchRecord, Correlation, Point, read_records
from dartboard.scoreboard.score import Score, make_score
from dartboard.scoreboard.scored_search import Scoring
from dartboard.scoreboard.scoring import ask

__all__ = [
    "BenchConfig",
    "BenchRecord",
    "BenchSearch",
    "Correlation",
    "Point",
    "Score",
    "Scoring",
    "ask",
    "correlate",
    "load_bench",
    "make_score",
    "plan_jobs",
    "read_records",
]
