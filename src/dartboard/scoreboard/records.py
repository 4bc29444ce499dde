"""The record of a scored search: small enough to be committed, and enough for every table and plot."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from dartboard.errors import DartboardError, RunError, TableError
from dartboard.runs import differences
from dartboard.scoreboard.bench import BenchSearch, portable
from dartboard.search import config as search_config
from dartboard.utils.atomic import write_text
from dartboard.utils.checksums import seal, unseal
from dartboard.utils.safe_files import read_file

Share = Annotated[float, Field(ge=0, le=1)]
Rank = Annotated[float, Field(ge=-1, le=1)]
Amount = Annotated[float, Field(ge=0)]
Whole = Annotated[int, Field(ge=0)]

Accuracies = Annotated[Mapping[str, Share], Field(min_length=1)]
"""Accuracies by data set, as fractions."""

STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
"""How files are read: nothing is converted to another type."""


@dataclass(frozen=True)
class EpochScore:
    """A search after an epoch, with the accuracies of the cell that it would select then.

    Args:
        epoch: Number of completed epochs.
        seconds: Seconds since the start; None if unknown.
        entropy: Mean entropy of the strengths, in nats; None where there are none.
        cell: The genotype, in the shortest notation that its space has.
        test: Test accuracies by data set, from the benchmark table.
    """

    __pydantic_config__: ClassVar = STRICT

    epoch: Whole
    seconds: Amount | None
    entropy: float | None
    cell: str
    test: Accuracies


@dataclass(frozen=True)
class Correlation:
    """Rank correlations of the accuracy with shared weights and the test accuracy of the benchmark table.

    Args:
        kendall: Kendall's tau, b.
        spearman: Spearman's rho.
        samples: Number of architectures.
    """

    __pydantic_config__: ClassVar = STRICT

    kendall: Rank
    spearman: Rank
    samples: Whole


@dataclass(frozen=True)
class BenchRecord:
    """The scores of one search.

    Args:
        label: Label of its method.
        seed: Random seed of the search.
        oracle: Name of the benchmark table.
        best: Best test accuracy of the benchmark by data set.
        points: The scores after each epoch.
        final: The score of the selected cell.
        correlation: Rank correlations of the trained supernet; None where they were not measured.
        settings: Settings of the search, as plain values; files by name, without their folders.
        versions: Versions of the software it ran with.
    """

    __pydantic_config__: ClassVar = STRICT

    label: str
    seed: Whole
    oracle: str
    best: Accuracies
    points: tuple[EpochScore, ...]
    final: EpochScore
    correlation: Correlation | None
    settings: Mapping[str, Any]
    versions: Mapping[str, str]

    @property
    def name(self) -> str:
        """Name of its file, without the suffix."""
        return f"{self.label}-s{self.seed}"

    def regret(self, dataset: str) -> float:
        """Regret of the final cell: how far its test accuracy is below the best."""
        return self.best[dataset] - self.final.test[dataset]

    def write(self, folder: Path) -> Path:
        """Writes the record into a folder, and returns the path of the file."""
        path = folder / f"{self.name}.json"
        write_text(path, seal(json.dumps(asdict(self), separators=(",", ":"))))
        return path

    @staticmethod
    def read(path: Path) -> "BenchRecord":
        """The record in a file; raises TableError if there is none, or its name is not that of the file."""
        try:
            record = _reader().validate_json(unseal(read_file(path, root=path.parent), path))
        except OSError as error:
            raise TableError(f"{path} cannot be read: {error.strerror}") from None
        except RunError as error:
            raise TableError(str(error)) from None
        except ValidationError as error:
            raise TableError(f"{path} is not a record of a search: {first_mistake(error)}") from None
        if any(point.test.keys() != record.best.keys() for point in (*record.points, record.final)):
            raise TableError(f"{path} is not a record of a search: data sets differ within it")
        if record.name != path.stem:
            raise TableError(f"{path} is the record of {record.name}; give it that name, or remove it")
        return record


@cache
def _reader() -> TypeAdapter[BenchRecord]:
    return TypeAdapter(BenchRecord)


def first_mistake(error: ValidationError) -> str:
    """The first error of a validation in one line: where, and why."""
    first = error.errors()[0]
    reason = first["msg"][0].lower() + first["msg"][1:]
    return ": ".join(filter(None, [".".join(map(str, first["loc"])), reason]))


def record_files(folder: Path) -> list[Path]:
    """Paths of the records in a folder; none if there is no folder."""
    return sorted(folder.glob("*-s*.json"))


def read_records(folder: Path) -> list[BenchRecord]:
    """All records in a folder, by label and seed; none if there is no folder."""
    return sorted(map(BenchRecord.read, record_files(folder)), key=lambda record: (record.label, record.seed))


def find_record(search: BenchSearch, folder: Path, table_name: str) -> BenchRecord | None:
    """The record of a search; None if there is none.

    Raises:
        TableError: If it is damaged or of other settings; names them.
        RunError: If no search has its settings.
    """
    path = folder / f"{search.name}.json"
    if not os.path.lexists(path):
        return None
    record = BenchRecord.read(path)
    try:  # fills in settings that did not exist when the record was written
        settings = search_config.resolved(search_config.recorded_config(record.settings))
    except (DartboardError, AttributeError) as error:  # the latter where there are no settings at all
        raise RunError(f"{path} has other settings than searches have: {error}") from None
    before = {"oracle": record.oracle, **portable(settings)}
    if changes := differences(before, {"oracle": table_name, **portable(search.settings())}):
        raise TableError(f"{path} is a record of other settings: {changes}; name another --results")
    return record
