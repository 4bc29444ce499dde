"""What an oracle says of the cells that a search would have chosen at every epoch, and of what it chose."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from dartboard.errors import GenotypeError, RunError
from dartboard.runs import Run
from dartboard.scoreboard.jobs import BenchSearch, bare
from dartboard.scoreboard.records import (
    STRICT,
    Accuracies,
    Amount,
    BenchRecord,
    Correlation,
    EpochScore,
    Whole,
    first_mistake,
)
from dartboard.space import GENOTYPE_FORMATS, Genotype, decode
from dartboard.tables import Table

VERSIONS = ("dartboard", "python", "torch", "numpy")


def score_run(search: BenchSearch, run: Run, oracle: Table, correlation: Correlation | None) -> BenchRecord:
    """The record of a finished search.

    Args:
        search: The search.
        run: Where it was done.
        oracle: Is asked about every epoch's cell, and the final one.
        correlation: Of its shared weights, if that was measured.

    Raises:
        RunError: If the run is not finished, or is damaged.
        TableError: If the oracle does not know a cell.
    """
    result = run.result()
    if result is None:
        raise RunError(f"{run.path} is not finished; an oracle is asked when a search is over")
    asking = CellScores(oracle)
    rows = [row | run.epoch(row["epoch"]) | {"epoch": row["epoch"] + 1} for row in run.metrics()]
    moments = [read_epoch_choice(row, run) for row in (*rows, result | {"epoch": result.get("epochs")})]
    *points, final = map(asking.point, moments)
    return BenchRecord(
        label=search.label,
        seed=search.seed,
        oracle=oracle.name,
        best={dataset: oracle.ranking(dataset).best for dataset in oracle.datasets},
        points=tuple(points),
        final=final,
        correlation=correlation,
        settings=bare(search.settings()),
        versions=versions(run),
    )


@dataclass(frozen=True)
class EpochChoice:
    """What a run says of a search at one time; see `Point`."""

    __pydantic_config__: ClassVar = ConfigDict({**STRICT, "extra": "ignore"})

    epoch: Whole
    seconds: Amount | None
    entropy: float | None
    genotype: dict[str, Any]

    def cell(self) -> Genotype:
        """What would be chosen then; raises GenotypeError if it is none."""
        return decode(json.dumps(self.genotype))


@cache
def _reader() -> TypeAdapter[EpochChoice]:
    return TypeAdapter(EpochChoice)


def read_epoch_choice(values: Mapping[str, Any], run: Run) -> EpochChoice:
    """What a run says, once it is known to be what it should.

    Raises:
        RunError: If it is not; names the run.
    """
    place = f"{run.path} was changed after it was written: epoch {values['epoch']}"
    try:
        moment = _reader().validate_json(json.dumps(dict(values)))
        moment.cell()
    except ValidationError as error:
        raise RunError(f"{place}: {first_mistake(error)}") from None
    except GenotypeError as error:
        raise RunError(f"{place}: {error}") from None
    return moment


class CellScores:
    """Asks an oracle about cells, about equal ones once.

    Args:
        oracle: Who is asked.
    """

    def __init__(self, oracle: Table) -> None:
        self._oracle = oracle
        self._told: dict[Genotype, Accuracies] = {}

    def point(self, moment: EpochChoice) -> EpochScore:
        """A search at one time, with what the oracle says."""
        cell = moment.cell()
        return EpochScore(moment.epoch, moment.seconds, moment.entropy, shortest(cell), self._tests(cell))

    def _tests(self, genotype: Genotype) -> Accuracies:
        if genotype not in self._told:
            oracle = self._oracle
            self._told[genotype] = {own: oracle.query(genotype, own).test for own in oracle.datasets}
        return self._told[genotype]


def shortest(genotype: Genotype) -> str:
    """A genotype in the shortest notation that can say it."""
    texts = []
    for genotype_format in GENOTYPE_FORMATS.values():
        with suppress(GenotypeError):
            texts.append(genotype_format.encode(genotype))
    return min(texts, key=len)


def versions(run: Run) -> dict[str, str]:
    """What a run was made with, when it was last gone on with."""
    last = run.environment()[-1]
    found = {name: str(last[name]) for name in VERSIONS if name in last}
    source = last.get("git")
    revision = source.get("revision") if isinstance(source, Mapping) else None
    return found | ({} if revision is None else {"revision": str(revision)})
