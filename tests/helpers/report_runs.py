"""What the tests of reports share: run directories of every kind, written in moments without any training."""

import json
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from dartboard.relax.base import Strength
from dartboard.runs import Run
from dartboard.search import config as search_config
from dartboard.search import health
from dartboard.search.config import SEARCH
from dartboard.search.record import to_json
from dartboard.search.select import strongest
from dartboard.space import GENOTYPE_FORMATS, Genotype, SearchSpace, adopt, decode, get_space, sample
from dartboard.train import config as train_config
from dartboard.train.config import TRAIN
from dartboard.utils import checksums

NASTY = "<script>window.hacked=1</script><!--\u2028</title>&quot;'\""
"""A name that would run if it were put into a page as it is."""


class Reader(HTMLParser):
    """What a browser would make of HTML: its elements, attributes and texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def make_search(
    path: Path,
    space: str | SearchSpace = "nano",
    *,
    method: str = "gaea-darts",
    seed: int = 0,
    epochs: int = 4,
    finish: bool = True,
    warning: str = "",
    **more: Any,
) -> Run:
    """A search whose strengths become decided from epoch to epoch, as chance will have it.

    Args:
        path: Its directory.
        space: A space, or the name of one.
        method: The name of its method.
        seed: Of the search, and of all chance here.
        epochs: How many are recorded.
        finish: Whether it has come to its end.
        warning: What goes wrong, in words.
        more: Other settings.
    """
    space = get_space(space) if isinstance(space, str) else space
    config = SEARCH.validate({"method": method, "seed": seed, "epochs": max(epochs, 1), **more})
    values = search_config.resolved(config)
    values["space"]["name"] = space.name
    chance = np.random.default_rng(seed)
    leanings = {arch: chance.normal(size=cell.shape) for arch, cell in space.groups}
    genotype, metrics = sample(space, Random(seed)), {}
    with Run.create(path, values, space=space, device="cpu") as run:
        for epoch in range(epochs):
            strengths = _strengths(space, leanings, 4 * (epoch + 1) / epochs)
            genotype = strongest(space, strengths)
            metrics = _metrics(space, genotype, strengths, epoch, epochs, seed)
            metrics["warnings"] = [warning] if warning and epoch else []
            details = {
                "epoch": epoch,
                "genotype": to_json(genotype),
                "strengths": {
                    arch: {"ops": own.ops.tolist(), "edges": own.edges.tolist()}
                    for arch, own in strengths.items()
                },
            }
            run.record(epoch, metrics, details)
        if finish:
            run.finish(_result(genotype, metrics, epochs, warning))
    return Run.read(path)


def _strengths(space: SearchSpace, leanings: dict[str, Any], sharp: float) -> dict[str, Strength]:
    found = {}
    for arch, cell in space.groups:
        weights = np.exp(sharp * leanings[arch])
        for index, edge in enumerate(cell.edges):
            weights[index, len(edge.ops) :] = 0
        weights /= weights.sum(1, keepdims=True)
        found[arch] = Strength(torch.tensor(weights), torch.ones(len(cell.edges), dtype=torch.float64))
    return found


def _metrics(
    space: SearchSpace, genotype: Genotype, strengths: dict[str, Strength], epoch: int, epochs: int, seed: int
) -> dict[str, Any]:
    cells = health.measure(space, genotype, strengths)
    done, luck = (epoch + 1) / epochs, 0.01 * seed
    return {
        "step": 10 * (epoch + 1),
        "seconds": 3.0 * (epoch + 1),
        "lr": 0.025,
        "train_loss": 2.3 - 1.5 * done + luck,
        "train_accuracy": 0.1 + 0.75 * done,
        "arch_loss": 2.3 - 1.4 * done,
        "valid_accuracy": 0.1 + 0.6 * done - luck,
        "entropy": health.mean_entropy(cells),
        "pieces": 1,
        "cells": {arch: asdict(own) for arch, own in cells.items()},
        "discrete_accuracy": 0.1 + 0.4 * done,
    }


def _result(genotype: Genotype, metrics: dict[str, Any], epochs: int, warning: str) -> dict[str, Any]:
    known = {key: metrics.get(key) for key in ("entropy", "valid_accuracy", "discrete_accuracy")}
    return {
        "genotype": to_json(genotype),
        "epochs": epochs,
        "seconds": metrics.get("seconds", 1.0),
        "digest": "0" * 64,
        "warnings": [warning] if warning else [],
        **known,
    }


def make_training(
    path: Path,
    genotype: Genotype,
    space: str = "nano",
    *,
    seed: int = 0,
    epochs: int = 4,
    finish: bool = True,
    classes: tuple[str, ...] = ("zero", "one", "two"),
) -> Run:
    """A training of a cell, with the test accuracy of every epoch."""
    config = TRAIN.validate(
        {"cell": GENOTYPE_FORMATS["json"].encode(genotype), "seed": seed, "epochs": epochs}
    )
    stack = adopt(get_space(space), genotype)
    values = train_config.resolved(config, space, stack.stack.cells)
    with Run.create(path, values, space=stack, device="cpu") as run:
        for epoch in range(epochs):
            done = (epoch + 1) / epochs
            row = {
                "step": epoch,
                "seconds": 2.0 * (epoch + 1),
                "lr": 0.025 * (1 - done),
                "train_loss": 2 - done,
                "train_accuracy": 0.2 + 0.7 * done,
                "test_loss": 2.1 - done,
                "test_accuracy": 0.15 + 0.7 * done - 0.01 * seed,
            }
            run.record(epoch, row, {"epoch": epoch, "per_class": None})
        if finish:
            run.finish(_trained(epochs, seed, classes))
    return Run.read(path)


def _trained(epochs: int, seed: int, classes: tuple[str, ...]) -> dict[str, Any]:
    shares = [1 - place / (2 * len(classes)) for place in range(len(classes))]
    measured = {
        "loss": 0.5,
        "top1": 0.85 - 0.01 * seed,
        "top5": 1.0,
        "examples": 300,
        "per_class": shares,
        "confusion": [[1] * len(classes)] * len(classes),
    }
    return {
        "epochs": epochs,
        "seconds": 2.0 * epochs,
        "parameters": 12_345,
        "flops": 6_789_012,
        "measured_on": "test",
        "last": {"test": measured},
        "best": {"test": measured},
        "best_epoch": epochs - 1,
        "digest": "0" * 64,
        "classes": list(classes),
    }


def found_cell(run: Run) -> Genotype:
    """What a finished search has found."""
    result = run.result()
    assert result is not None
    return decode(json.dumps(result["genotype"]))


def nearly_equal(run: Run) -> None:
    """Brings the strengths of a search so close to equal ones that three digits do not tell them apart."""
    for path in sorted((run.path / "epochs").iterdir()):
        details = json.loads(path.read_text())
        for own in details["strengths"].values():
            ops = np.array(own["ops"])
            own["ops"] = (1 / ops.shape[1] + 0.002 * (ops - ops.mean())).tolist()
        checksums.write_file(path, json.dumps(details), root=run.path)
