"""Benchmarks as ground truth: how well an architecture does, looked up instead of trained."""

from dartboard.oracle.base import ORACLES, Oracle, Ranking, Record, Standing
from dartboard.oracle.nb201 import NasBench201, load_nb201

__all__ = ["ORACLES", "NasBench201", "Oracle", "Ranking", "Record", "Standing", "load_nb201"]
