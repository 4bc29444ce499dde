"""What the tests of analyses share: finished searches of a few steps."""

from pathlib import Path
from typing import Any

from dartboard.runs import Run
from dartboard_papers._searches import configure, searches
from dartboard_papers.base import RunOptions
from helpers.protocol_cases import few_digits
from helpers.search_cases import SHORT


def search_runs(folder: Path, *methods: str, seeds: int = 1, **more: Any) -> dict[str, Run]:
    """By method and seed, such as `darts-0`, runs of short searches on few digits."""
    folder.mkdir(parents=True, exist_ok=True)
    base = {**SHORT, "space": "nano", "data": few_digits(folder / "few.npz"), **more}
    configs = {
        f"{method}-{seed}": configure(base, {"method": method, "seed": seed})
        for method in methods
        for seed in range(seeds)
    }
    return searches(configs, RunOptions(folder))
