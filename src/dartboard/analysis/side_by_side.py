"""What is trained side by side: cells, the settings they share, their trainings, and whose folder it is."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dartboard.analysis.comparison import Entry
from dartboard.config.loader import ConfigLoader, Layer, from_words
from dartboard.engine.schedule import SCHEDULES
from dartboard.errors import OptionError, RunError
from dartboard.jobs.job import Job
from dartboard.jobs.loops import LoopBuilder
from dartboard.runs import Lock, differences
from dartboard.space import GENOTYPE_FORMATS, Genotype, adopt, decode, load_space
from dartboard.train import config as train_config
from dartboard.train.config import TRAIN, TrainConfig, TrainSettings
from dartboard.utils.atomic import write_text
from dartboard.utils.progress import Progress

PLAIN: dict[str, Any] = {
    "space": "darts",
    "batch": 80,
    "net": {"auxiliary": 0.0, "drop_path": 0.0},
    "data": {"valid": 0.0, "cutout": 0},
}
"""Where settings differ from those of trainings: nothing regularises (understanding-cells A.4), batches of 80
images (A.3), and the curves are of test images."""
FILE = "comparison.json"
RUNS = "runs"
"""Folder of the trainings, inside the comparison's."""
LABEL = re.compile(r"[A-Za-z0-9][\w.+-]{0,80}")


def make_settings(*layers: Layer, words: Sequence[str] = ()) -> TrainSettings:
    """The settings that all trainings of a comparison share: those of `PLAIN`, and what is given.

    Args:
        layers: Nested values, of which later ones win, such as `{"epochs": 10, "net": {"channels": 8}}`.
        words: The same as text, such as `net.channels=8`; they win over layers.

    Raises:
        UnknownNameError: If there is no such setting.
        OptionError: If a value cannot be used.
    """
    return ConfigLoader(TrainSettings, {}, "").merge([PLAIN, *layers, from_words(words)])


@dataclass(frozen=True)
class Plan:
    """What is compared, as it travels between processes.

    Args:
        cells: For each its label and its genotype in JSON.
        settings: Of all trainings; learning rate and seed are set for each.
    """

    cells: tuple[tuple[str, str], ...]
    settings: TrainSettings

    @classmethod
    def of(cls, cells: Mapping[str, Genotype], settings: TrainSettings) -> "Plan":
        """The plan of some cells by label.

        Raises:
            OptionError: If there are none, or a label cannot name a directory, or the stack is not named.
        """
        if not cells:
            raise OptionError("there is nothing to compare; give one cell or more")
        for label in cells:
            if not LABEL.fullmatch(label):
                raise OptionError(f"a cell cannot be labelled {label!r}; use letters, digits and -_.+")
        if settings.space.name is None:
            raise OptionError("name the space whose stack the cells go into: space.name, such as darts")
        SCHEDULES[settings.weights.schedule]  # a wrong name is better known before the first epoch
        genotype_format = GENOTYPE_FORMATS["json"]
        return cls(tuple((label, genotype_format.encode(own)) for label, own in cells.items()), settings)

    def config(self, entry: Entry) -> TrainConfig:
        """The configuration of a training."""
        values = self.settings.model_dump()
        values["weights"]["lr"] = entry.lr
        return TRAIN.validate(values | {"cell": dict(self.cells)[entry.cell], "seed": entry.seed})


@dataclass(eq=False)
class ComparisonJobs:
    """Makes the jobs of a comparison.

    Args:
        plan: What is compared.
        folder: Directory of the comparison.
        device: Where to compute.
        progress: Reports how far the loading of images is.
    """

    plan: Plan
    folder: Path
    device: torch.device
    progress: Progress | None = None

    def __post_init__(self) -> None:
        self.builder = LoopBuilder(self.device)
        self.builder.progress = self.progress

    def job(self, entry: Entry) -> Job:
        """The job of a training; it has one thread, so that results do not depend on the executor."""
        config, home = self.plan.config(entry), str(self.plan.settings.space.name)
        cells = config.net.cells or adopt(load_space(home), decode(config.cell)).stack.cells
        return Job(
            entry.name,
            str((self.folder / RUNS).resolve()),
            "train",
            train_config.resolved(config, home, cells),
            threads=1,
            device=str(self.device),
            plugins=config.plugins,
        )

    def claims(self) -> dict[str, Any]:
        """What all trainings have in common and must not change: settings and images, as plain values."""
        first = self.plan.config(Entry(self.plan.cells[0][0], 1.0, 0))
        values = train_config.resolved(first, str(self.plan.settings.space.name), 0)
        del values["cell"], values["seed"], values["weights"]["lr"], values["checkpoint"]
        values["net"]["cells"] = self.plan.settings.net.cells
        return {"settings": values, "images": self.builder.images(self.plan.settings.data).fingerprint}


def claim(folder: Path, common: Mapping[str, Any], cells: Mapping[str, str]) -> None:
    """Writes down whose trainings a folder has, new cells with those that were there before.

    Raises:
        RunError: If it has those of another comparison; says what differs.
    """
    path, now = folder / FILE, {label: json.loads(text) for label, text in cells.items()}
    with Lock(folder):
        before = _kept(path)
        there: dict[str, Any] = before.get("cells", {})
        if other := _differences(before, common) if before else "":
            raise RunError(f"{folder} has a comparison with other settings: {other}; name another folder")
        for label, cell in now.items():
            if there.get(label, cell) != cell:
                raise RunError(f"{folder} has another cell called {label}; name another folder")
        write_text(path, json.dumps({**common, "cells": there | now}, indent=1) + "\n")


def _kept(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict) or not {"settings", "images", "cells"} <= set(found):
        raise RunError(f"{path} is damaged; move the folder away, or name another")
    return found


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    if before["images"] != now["images"] and before["settings"] == now["settings"]:
        return "the images have changed"
    return differences(before["settings"], now["settings"])
