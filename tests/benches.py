"""What the tests of benches share: made-up numbers to ask for, a bench that takes seconds, its records."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from dartboard.scoreboard.runner import Desk, Place

from dartboard.plugins import load_plugin
from dartboard.scoreboard.config import BenchConfig, load_bench
from dartboard.scoreboard.records import BenchRecord, read_records
from dartboard.tables import Table, load_table
from protocols import timeless

PLUGIN = str(Path(__file__).with_name("toy_oracle.py"))
TINY = (
    "epochs=2",
    "batch=16",
    "net.channels=4",
    "health.examples=16",
    "weights.lr=0.1",
    "correlation=4",
    "draws=3",
)


def toy() -> Table:
    """The benchmark with made-up numbers."""
    load_plugin(PLUGIN)
    return load_table("toy", None)


def settings(data: str, *words: str, methods: str = "darts", seeds: str = "0") -> BenchConfig:
    """A bench on the images in a file that takes seconds."""
    load_plugin(PLUGIN)
    flags = {"search": {"data": data}, "oracle": "toy", "seeds": seeds}
    return load_bench(flags=flags, words=[*TINY, *words], labels=methods.split(","))


def place(path: Path, correlation: int = 4) -> Place:
    """Where a bench is done whose runs and records are below `path`."""
    return Place(path / "runs", path / "records", "toy", None, correlation, torch.device("cpu"))


def desk(path: Path, correlation: int = 4) -> Desk:
    """Does searches below `path`."""
    return Desk(place(path, correlation))


def story(folder: Path) -> list[Any]:
    """All that the records in a folder say but for times and versions."""
    return [said(record) for record in read_records(folder)]


def said(record: BenchRecord) -> Any:
    return timeless(asdict(record) | {"versions": None})
