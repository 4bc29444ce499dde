"""Benchmarks as ground truth: how well an architecture does, looked up instead of trained."""

from dartboard.oracle.base import ORACLES, Oracle, Ranking, Record, Standing

__all__ = ["ORACLES", "Oracle", "Ranking", "Record", "Standing"]
