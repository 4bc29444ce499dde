"""What is kept of a finished search: small enough to be committed, enough for every table and plot."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from dartboard.errors import TableError
from dartboard.utils.atomic import write_text

Share = Annotated[float, Field(ge=0, le=1)]
Rank = Annotated[float, Field(ge=-1, le=1)]
Amount = Annotated[float, Field(ge=0)]
Whole = Annotated[int, Field(ge=0)]

Accuracies = Annotated[Mapping[str, Share], Field(min_length=1)]
"""By data set, a share from 0 to 1."""

STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
"""How files are read: what is no number is not made one."""


@dataclass(frozen=True)
class EpochScore:
    """A search at one time, with what the oracle says of the cell that it would choose.

    Args:
        epoch: How many epochs are complete.
        seconds: How long it has taken; None where that is not known.
        entropy: Mean entropy of the strengths, in nats; None where there are none.
        cell: The genotype, in the shortest notation that its space has.
        test: The oracle's test accuracy on each data set.
    """

    __pydantic_config__: ClassVar = STRICT

    epoch: Whole
    seconds: Amount | None
    entropy: float | None
    cell: str
    test: Accuracies


@dataclass(frozen=True)
class Correlation:
    """How well shared weights order architectures: rank correlations with the oracle's test accuracy.

    Args:
        kendall: Kendall's tau, b.
        spearman: Spearman's rho.
        samples: Of how many architectures.
    """

    __pydantic_config__: ClassVar = STRICT

    kendall: Rank
    spearman: Rank
    samples: Whole


@dataclass(frozen=True)
class BenchRecord:
    """What came of one search.

    Args:
        label: The method, under the name that the table has for it.
        seed: Of the search.
        oracle: Who was asked.
        best: The best test accuracy of the benchmark on each data set.
        points: One an epoch.
        final: What was chosen at the end.
        correlation: Of the trained supernet; None where nothing was trained, or it was not asked for.
        settings: Of the search, as plain values; files by their names alone.
        versions: Of what it was made with.
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
        """Of its file, without the ending."""
        return f"{self.label}-s{self.seed}"

    def regret(self, dataset: str) -> float:
        """How far the final cell is below the best one."""
        return self.best[dataset] - self.final.test[dataset]

    def write(self, folder: Path) -> Path:
        """Writes it under its own name, and returns the path."""
        path = folder / f"{self.name}.json"
        write_text(path, json.dumps(asdict(self), separators=(",", ":")) + "\n")
        return path

    @staticmethod
    def read(path: Path) -> "BenchRecord":
        """The record in a file.

        Raises:
            TableError: If it is none, or that of another search than the file is named after.
        """
        try:
            record = _reader().validate_json(path.read_bytes())
        except OSError as error:
            raise TableError(f"{path} cannot be read: {error.strerror}") from None
        except ValidationError as error:
            raise TableError(f"{path} is no record of a search: {first_mistake(error)}") from None
        if any(point.test.keys() != record.best.keys() for point in (*record.points, record.final)):
            raise TableError(f"{path} is no record of a search: data sets differ within it")
        if record.name != path.stem:
            raise TableError(f"{path} is the record of {record.name}; give it that name, or remove it")
        return record


@cache
def _reader() -> TypeAdapter[BenchRecord]:
    return TypeAdapter(BenchRecord)


def first_mistake(error: ValidationError) -> str:
    """Where values are not what they should be, and why, in words."""
    first = error.errors()[0]
    reason = first["msg"][0].lower() + first["msg"][1:]
    return ": ".join(filter(None, [".".join(map(str, first["loc"])), reason]))


def record_files(folder: Path) -> list[Path]:
    """Where a folder has records; nowhere if there is no folder."""
    return sorted(folder.glob("*-s*.json"))


def read_records(folder: Path) -> list[BenchRecord]:
    """All records in a folder, by label and seed; none if there is no folder."""
    return sorted(map(BenchRecord.read, record_files(folder)), key=lambda own: (own.label, own.seed))
