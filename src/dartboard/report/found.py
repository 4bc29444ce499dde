"""What reports are about, as runs on disk tell it: searches, trainings and protocols."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dartboard.runs.store import State
from dartboard.space import Genotype, SearchSpace

Floats = NDArray[np.float64]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Origin:
    """Where something comes from.

    Args:
        path: The directory of the run, in full.
        kind: `search`, `train` or `protocol`.
        config: The configuration, resolved.
        starts: What each process that worked on it said of itself; the last is the newest.
        state: Whether it is finished, running or stopped.
    """

    path: Path
    kind: str
    config: Mapping[str, Any]
    starts: Sequence[Mapping[str, Any]]
    state: State

    @property
    def name(self) -> str:
        """The name of its directory."""
        return self.path.name

    def setting(self, *keys: str) -> Any:
        """A value of the configuration, by the keys that lead to it; None where there is none."""
        value: Any = self.config
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value


@dataclass(frozen=True, eq=False)
class Moment:
    """A search after an epoch.

    Args:
        epoch: How many are complete.
        row: Its metrics.
        genotype: What would be chosen.
        ops: By arch, the strengths of candidates [E, N].
        edges: By arch, the weights of edges [E].
    """

    epoch: int
    row: Row
    genotype: Genotype
    ops: Mapping[str, Floats]
    edges: Mapping[str, Floats]


@dataclass(frozen=True, eq=False)
class SearchFound:
    """A search.

    Args:
        origin: Where it comes from.
        settings: By dotted names all that make it another search, but for its seed.
        space: What is searched.
        moments: After each epoch.
        result: What it came to; None as long as it is not finished.
        genotype: What was chosen, or would be now; None before the first epoch is over.
        attends: Whether its strengths are means of what attention gave to ops.
    """

    origin: Origin
    settings: Mapping[str, Any]
    space: SearchSpace
    moments: Sequence[Moment]
    result: Mapping[str, Any] | None
    genotype: Genotype | None
    attends: bool

    @property
    def path(self) -> Path:
        """The directory of its run."""
        return self.origin.path

    @property
    def seed(self) -> int:
        """Where its chance started."""
        return int(self.origin.config["seed"])

    @property
    def method(self) -> str:
        """The name of its method."""
        return str(self.origin.setting("method", "name"))

    @property
    def data(self) -> str:
        """What its images are called."""
        return str(self.origin.setting("data", "name"))

    @property
    def last(self) -> Mapping[str, Any]:
        """The newest numbers: the result, or else the metrics of the last epoch, or nothing."""
        if self.result is not None:
            return self.result
        return self.moments[-1].row if self.moments else {}


@dataclass(frozen=True, eq=False)
class TrainFound:
    """A training.

    Args:
        origin: Where it comes from.
        genotype: What is trained.
        space: The stack with these cells.
        rows: The metrics of each epoch.
        result: What it came to; None as long as it is not finished.
    """

    origin: Origin
    genotype: Genotype
    space: SearchSpace
    rows: Sequence[Row]
    result: Mapping[str, Any] | None

    @property
    def seed(self) -> int:
        """Where its chance started."""
        return int(self.origin.config["seed"])

    @property
    def part(self) -> str:
        """What its accuracies are of: `valid` or `test` images."""
        known = [part for part in ("valid", "test") for row in self.rows if f"{part}_accuracy" in row]
        return known[0] if known else "valid"

    def curve(self, name: str) -> tuple[list[int], list[float]]:
        """A metric where it was measured, over complete epochs."""
        known = [row for row in self.rows if row.get(name) is not None]
        return [row["epoch"] + 1 for row in known], [float(row[name]) for row in known]


@dataclass(frozen=True)
class ProtocolFound:
    """A protocol.

    Args:
        origin: Where it comes from.
        result: What it came to; None as long as it is not finished.
    """

    origin: Origin
    result: Mapping[str, Any] | None


@dataclass(frozen=True)
class Material:
    """All that a report is about.

    Args:
        searches: Those given and those of protocols.
        trainings: Those given, those of protocols, and those that are found beside searches.
        protocols: Those given.
    """

    searches: Sequence[SearchFound]
    trainings: Sequence[TrainFound]
    protocols: Sequence[ProtocolFound]

    @property
    def origins(self) -> list[Origin]:
        """Of everything, protocols first, then searches, then trainings."""
        protocols = [own.origin for own in self.protocols]
        searches = [own.origin for own in self.searches]
        return [*protocols, *searches, *(own.origin for own in self.trainings)]

    @property
    def running(self) -> bool:
        """Whether something is being written still."""
        return any(own.state == "running" for own in self.origins)
