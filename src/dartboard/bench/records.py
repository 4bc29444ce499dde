"""What is kept of a finished search: small enough to be committed, enough for every table and plot."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from dartboard.atomic import write_text
from dartboard.errors import OracleError

Accuracies = Mapping[str, float]
"""By data set, a share from 0 to 1."""


@dataclass(frozen=True)
class Point:
    """A search at one time, with what the oracle says of the cell that it would choose.

    Args:
        epoch: How many epochs are complete; for baselines, how many architectures were asked about.
        seconds: How long it has taken; None where that is not known.
        entropy: Mean entropy of the strengths, in nats; None where there are none.
        cell: The genotype, in the shortest notation that its space has.
        test: The oracle's test accuracy on each data set.
    """

    epoch: int
    seconds: float | None
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

    kendall: float
    spearman: float
    samples: int


@dataclass(frozen=True)
class BenchRecord:
    """What came of one search, or of one baseline.

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

    label: str
    seed: int
    oracle: str
    best: Accuracies
    points: tuple[Point, ...]
    final: Point
    correlation: Correlation | None
    settings: Mapping[str, Any]
    versions: Mapping[str, str]

    def regret(self, dataset: str) -> float:
        """How far the final cell is below the best one."""
        return self.best[dataset] - self.final.test[dataset]

    def write(self, folder: Path) -> Path:
        """Writes it under its own name, and returns the path."""
        path = folder / f"{self.label}-s{self.seed}.json"
        write_text(path, json.dumps(asdict(self), separators=(",", ":")) + "\n")
        return path

    @classmethod
    def read(cls, path: Path) -> Self:
        """The record in a file.

        Raises:
            OracleError: If it is none.
        """
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            points = tuple(Point(**point) for point in values.pop("points"))
            final, told = Point(**values.pop("final")), values.pop("correlation")
            correlation = None if told is None else Correlation(**told)
            return cls(points=points, final=final, correlation=correlation, **values)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise OracleError(f"{path} is no record of a search: {error}") from None


def read_records(folder: Path) -> list[BenchRecord]:
    """All records in a folder, by label and seed; none if there is no folder."""
    found = [BenchRecord.read(path) for path in sorted(folder.glob("*-s*.json"))]
    return sorted(found, key=lambda own: (own.label, own.seed))
