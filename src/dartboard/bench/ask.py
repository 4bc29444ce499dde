"""What an oracle says of the cells that a search would have chosen at every epoch, and of what it chose."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from dartboard.bench.jobs import Job, bare
from dartboard.bench.records import Accuracies, BenchRecord, Correlation, Point
from dartboard.errors import GenotypeError, RunError
from dartboard.oracle import Oracle
from dartboard.runs import Run
from dartboard.space import CODECS, Genotype, decode

VERSIONS = ("dartboard", "python", "torch", "numpy")


def ask(job: Job, run: Run, oracle: Oracle, correlation: Correlation | None) -> BenchRecord:
    """The record of a finished search.

    Args:
        job: The search.
        run: Where it was done.
        oracle: Is asked about every epoch's cell, and the final one.
        correlation: Of its shared weights, if that was measured.

    Raises:
        RunError: If the run is not finished.
        OracleError: If the oracle does not know a cell.
    """
    result = run.result()
    if result is None:
        raise RunError(f"{run.path} is not finished; an oracle is asked when a search is over")
    asking = Asking(oracle)
    rows = [row | run.epoch(row["epoch"]) | {"epoch": row["epoch"] + 1} for row in run.metrics()]
    return BenchRecord(
        label=job.label,
        seed=job.seed,
        oracle=oracle.name,
        best={dataset: oracle.ranking(dataset).best for dataset in oracle.datasets},
        points=tuple(map(asking.point, rows)),
        final=asking.point(result | {"epoch": result["epochs"]}),
        correlation=correlation,
        settings=bare(job.settings()),
        versions=versions(run),
    )


class Asking:
    """Asks an oracle about cells, about equal ones once.

    Args:
        oracle: Who is asked.
    """

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self._told: dict[Genotype, Accuracies] = {}

    def point(self, values: Mapping[str, Any]) -> Point:
        """A search at one time, from what its run says of it."""
        genotype = decode(json.dumps(values["genotype"]))
        return Point(
            epoch=values["epoch"],
            seconds=values["seconds"],
            entropy=values["entropy"],
            cell=shortest(genotype),
            test=self._tests(genotype),
        )

    def _tests(self, genotype: Genotype) -> Accuracies:
        if genotype not in self._told:
            oracle = self._oracle
            self._told[genotype] = {own: oracle.query(genotype, own).test for own in oracle.datasets}
        return self._told[genotype]


def shortest(genotype: Genotype) -> str:
    """A genotype in the shortest notation that can say it."""
    texts = []
    for codec in CODECS.values():
        with suppress(GenotypeError):
            texts.append(codec.encode(genotype))
    return min(texts, key=len)


def versions(run: Run) -> dict[str, str]:
    """What a run was made with, when it was last gone on with."""
    last = run.environment()[-1]
    found = {name: str(last[name]) for name in VERSIONS if name in last}
    source = last.get("git")
    return found | ({"revision": source["revision"]} if isinstance(source, Mapping) else {})
