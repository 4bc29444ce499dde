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
class Member:
    """A run of a sweep that has ended.

    Args:
        stage: What it belongs to.
        state: `finished`, `dropped` or `failed`.
        reason: Why it was dropped, or what went wrong.
        chooses: Whether the runs of its stage are compared, so that others are trained by what they say.
    """

    stage: str
    state: str
    reason: str
    chooses: bool


@dataclass(frozen=True)
class Origin:
    """Where something comes from.

    Args:
        path: The directory of the run, in full.
        kind: `search`, `train` or `protocol`.
        config: The configuration, resolved.
        starts: What each process that worked on it said of itself; the last is the newest.
        state: Whether it is finished, running or stopped.
        member: What the sweep says of it that it belongs to; None if it belongs to none, or has not ended.
    """

    path: Path
    kind: str
    config: Mapping[str, Any]
    starts: Sequence[Mapping[str, Any]]
    state: State
    member: Member | None = None

    @property
    def given_up(self) -> str | None:
        """In words why its sweep goes no further with it; None if it does, or there is none."""
        own = self.member
        return None if own is None or own.state == "finished" else f"{own.state}: {own.reason}"

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

    @property
    def measured_on(self) -> str:
        """What its accuracy is of in the end: `test` images where there are any, else `valid` ones."""
        last = (self.result or {}).get("last") or {}
        return next((part for part in ("test", "valid") if part in last), self.part)

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
    def compared(self) -> list[TrainFound]:
        """The trainings whose accuracies can be compared: they came to their end and saw the same images.

        Those of a sweep's stages that networks are chosen by count where there are no others alone, and so do
        those that were measured on no test images.
        """
        found = [own for own in self.trainings if own.origin.given_up is None]
        for wanted in (_ended, _tells, _tested):
            found = [own for own in found if wanted(own)] or found
        return found

    @property
    def running(self) -> bool:
        """Whether something is being written still."""
        return any(own.state == "running" for own in self.origins)


def _ended(training: TrainFound) -> bool:
    return training.result is not None


def _tells(training: TrainFound) -> bool:
    return training.origin.member is None or not training.origin.member.chooses


def _tested(training: TrainFound) -> bool:
    return training.measured_on == "test"
