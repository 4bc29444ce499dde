"""Where the runs of a sweep are done: in this process, in a pool of them, on Ray, on Slurm."""

from dartboard.scale.executors.base import EXECUTORS, Executor

__all__ = ["EXECUTORS", "Executor"]
