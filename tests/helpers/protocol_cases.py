"""Helpers of the tests of protocols: few digits in a file, a protocol that takes seconds, its results."""

from pathlib import Path
from typing import Any

import numpy as np

from dartboard.runs import Run
from dartboard.sweep.protocol.config import ProtocolConfig, load_protocol, resolved
from dartboard.sweep.protocol.protocol import Protocol
from helpers.train_cases import digits

TINY = (
    "searches=2",
    "short=1",
    "keep=1",
    "seeds=2",
    "random=count",
    "search.epochs=1",
    "search.batch=16",
    "search.net.channels=4",
    "search.health.examples=16",
    "search.weights.lr=0.1",
    "train.epochs=2",
    "train.batch=16",
    "train.net.channels=4",
    "train.net.auxiliary=0",
    "train.net.drop_path=0",
    "train.data.cutout=0",
    "train.data.flip=false",
    "train.data.pad=1",
    "train.data.valid=0.25",
    "train.weights.lr=0.1",
)


def few_digits(path: Path, test: int = 40) -> str:
    """A file with few digits to train on and, unless there are to be none, few to test with."""
    data = digits(64, test)
    parts = {"train": data.train, "test": data.test}
    arrays = {}
    for name, part in parts.items():
        if part is not None:
            arrays |= {f"x_{name}": part.images[:, 0].numpy(), f"y_{name}": part.labels.numpy()}
    np.savez(path, **arrays)
    return str(path)


def settings(data: str, *words: str) -> ProtocolConfig:
    """A protocol on the images in a file that takes seconds."""
    return load_protocol(flags={"search": {"data": data}}, words=[*TINY, *words])


def start(path: Path, config: ProtocolConfig, **given: Any) -> Protocol:
    """A protocol with a new run."""
    protocol = Protocol(config, **given)
    protocol.run = Run.create(path, resolved(config), space=protocol.space)
    return protocol


def run_protocol(path: Path, config: ProtocolConfig, **given: Any) -> dict[str, Any]:
    """Results of a protocol that runs undisturbed."""
    protocol = start(path, config, **given)
    assert protocol.run is not None
    with protocol.run:
        return protocol.fit().facts()


def without_times(value: Any) -> Any:
    """Plain values without durations."""
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if "seconds" not in key}
    return [without_times(item) for item in value] if isinstance(value, list | tuple) else value


def inner_runs(path: Path) -> dict[str, Run]:
    """The runs inside a protocol, by name."""
    folders = [config.parent for config in sorted(path.glob("*/*/config.yaml"))]
    return {str(folder.relative_to(path)): Run.read(folder) for folder in folders}


def all_results(path: Path) -> dict[str, Any]:
    """Results of a protocol and of the runs inside it, without durations."""
    runs = {name: [run.result(), run.metrics(), run.config] for name, run in inner_runs(path).items()}
    return without_times({"result": Run.read(path).result(), "runs": runs})
