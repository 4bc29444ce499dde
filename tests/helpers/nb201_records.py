"""Made-up records of searches in NAS-Bench-201, and boards of them."""

from collections.abc import Sequence

from dartboard.scoreboard import BenchRecord, EpochScore
from dartboard_papers._bench import BenchResults

BEST = 0.95
OPS = ("nor_conv_3x3", "skip_connect")


def cell(skips: int) -> str:
    """A cell with so many skip connections."""
    ops = [OPS[place < skips] for place in range(6)]
    return f"|{ops[0]}~0|+|{ops[1]}~0|{ops[2]}~1|+|{ops[3]}~0|{ops[4]}~1|{ops[5]}~2|"


def search(label: str, seed: int, tests: Sequence[float], skips: Sequence[int]) -> BenchRecord:
    """A search whose cells had those test accuracies and skip connections, one an epoch."""
    points = tuple(
        EpochScore(epoch, 60.0 * epoch, 0.5, cell(count), {"cifar10": test})
        for epoch, (test, count) in enumerate(zip(tests, skips, strict=True), start=1)
    )
    settings = {
        "space": {"name": "nb201", "cells": 2},
        "data": {"name": "few.npz", "size": 8},
        "net": {"channels": 4},
        "epochs": len(points),
    }
    best = {"cifar10": BEST}
    return BenchRecord(label, seed, "nb201", best, points, points[-1], None, settings, {})


def bench(**finals: Sequence[tuple[float, int]]) -> BenchResults:
    """By label (- as _), the test accuracy and the skip connections that each seed ended with."""
    groups = {
        label.replace("_", "-"): tuple(
            search(label.replace("_", "-"), seed, [0.5, test], [0, skips])
            for seed, (test, skips) in enumerate(own)
        )
        for label, own in finals.items()
    }
    return BenchResults(groups, None, 1)
