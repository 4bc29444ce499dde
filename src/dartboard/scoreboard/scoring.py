"""Scores of a finished search by a benchmark table: of its cells, and of its shared weights."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from scipy.stats import kendalltau, spearmanr

from dartboard.errors import GenotypeError, RunError
from dartboard.relax.base import Relaxation
from dartboard.runs import Run
from dartboard.scoreboard.jobs import BenchSearch, portable
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
from dartboard.search import Searcher
from dartboard.search.evaluate import discrete_accuracy
from dartboard.space import GENOTYPE_FORMATS, Genotype, SearchSpace, decode, sample
from dartboard.tables import Table

VERSIONS = ("dartboard", "python", "torch", "numpy")
SEED = 0
"""Random seed by which architectures are drawn."""
MAX_DRAWS = 20
"""Largest number of draws for each architecture that is wanted: a small space may have fewer."""


def score_run(search: BenchSearch, run: Run, oracle: Table, correlation: Correlation | None) -> BenchRecord:
    """The record of a finished search.

    Args:
        search: The search.
        run: Its run.
        oracle: The benchmark table.
        correlation: Rank correlations of its shared weights, if they were measured.

    Raises:
        RunError: If the run is not finished, or is damaged.
        TableError: If the table does not have a cell.
    """
    result = run.result()
    if result is None:
        raise RunError(f"{run.path} is not finished; an oracle is asked when a search is over")
    accuracies: dict[Genotype, Accuracies] = {}

    def score(values: Mapping[str, Any]) -> EpochScore:
        choice = read_epoch_choice(values, run)
        genotype = choice.decode()
        if genotype not in accuracies:  # most epochs have the cell of the epoch before
            accuracies[genotype] = {name: oracle.query(genotype, name).test for name in oracle.datasets}
        cell, tests = shortest(genotype), accuracies[genotype]
        return EpochScore(choice.epoch, choice.seconds, choice.entropy, cell, tests)

    rows = [row | run.epoch(row["epoch"]) | {"epoch": row["epoch"] + 1} for row in run.metrics()]
    *points, final = map(score, (*rows, result | {"epoch": result.get("epochs")}))
    return BenchRecord(
        label=search.label,
        seed=search.seed,
        oracle=oracle.name,
        best={dataset: oracle.ranking(dataset).best for dataset in oracle.datasets},
        points=tuple(points),
        final=final,
        correlation=correlation,
        settings=portable(search.settings()),
        versions=versions(run),
    )


@dataclass(frozen=True)
class EpochChoice:
    """The cell that a search would select after an epoch, as its run has it; see `EpochScore`."""

    __pydantic_config__: ClassVar = ConfigDict({**STRICT, "extra": "ignore"})

    epoch: Whole
    seconds: Amount | None
    entropy: float | None
    genotype: dict[str, Any]

    def decode(self) -> Genotype:
        """The genotype; raises GenotypeError if it is none."""
        return decode(json.dumps(self.genotype))


@cache
def _adapter() -> TypeAdapter[EpochChoice]:
    return TypeAdapter(EpochChoice)


def read_epoch_choice(values: Mapping[str, Any], run: Run) -> EpochChoice:
    """The cell after an epoch, checked.

    Args:
        values: Metrics of the epoch, or the result of the run.
        run: The run.

    Raises:
        RunError: If the values are damaged; names the run.
    """
    place = f"{run.path} was changed after it was written: epoch {values['epoch']}"
    try:
        choice = _adapter().validate_json(json.dumps(dict(values)))
        choice.decode()
    except ValidationError as error:
        raise RunError(f"{place}: {first_mistake(error)}") from None
    except GenotypeError as error:
        raise RunError(f"{place}: {error}") from None
    return choice


def shortest(genotype: Genotype) -> str:
    """A genotype in the shortest of the formats that can express it."""
    texts = []
    for genotype_format in GENOTYPE_FORMATS.values():
        with suppress(GenotypeError):
            texts.append(genotype_format.encode(genotype))
    return min(texts, key=len)


def versions(run: Run) -> dict[str, str]:
    """Versions of the software that a run was last resumed with."""
    last = run.environment()[-1]
    known = {name: str(last[name]) for name in VERSIONS if name in last}
    source = last.get("git")
    revision = source.get("revision") if isinstance(source, Mapping) else None
    return known | ({} if revision is None else {"revision": str(revision)})


def correlate(searcher: Searcher, oracle: Table, samples: int) -> Correlation | None:
    """Rank correlations of the accuracy with shared weights and the test accuracy of a benchmark table.

    The former is measured on held-out images with the ops of an architecture alone, the latter is that of the
    first data set (the rank disorder of Li et al. 2021). None if there are fewer than two architectures.

    Args:
        searcher: A trained search; it is not changed.
        oracle: The table, which has the cells of its space.
        samples: Number of different architectures; a small space may have fewer.
    """
    drawn = draw(live_space(searcher.space, searcher.relaxation), samples)
    if len(drawn) < 2:
        return None
    shared = [discrete_accuracy(searcher.objective, genotype, searcher.valid_batches()) for genotype in drawn]
    true = [oracle.query(genotype, oracle.datasets[0]).test for genotype in drawn]
    return rank_correlation(shared, true)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> Correlation:
    """Kendall's tau and Spearman's rho; both 0 if all values of one side are equal."""
    if len(set(first)) == 1 or len(set(second)) == 1:
        return Correlation(0.0, 0.0, len(first))
    kendall, spearman = kendalltau(first, second).statistic, spearmanr(first, second).statistic
    return Correlation(float(kendall), float(spearman), len(first))


def live_space(space: SearchSpace, relaxation: Relaxation) -> SearchSpace:
    """The space without the candidates that a search has removed for good, whose weights are gone."""
    groups = []
    for name, cell in space.groups:
        live = zip(cell.edges, relaxation.live(name), strict=True)
        edges = tuple(
            replace(edge, ops=tuple(edge.ops[index] for index in indices)) for edge, indices in live
        )
        groups.append((name, replace(cell, edges=edges)))
    return replace(space, groups=tuple(groups))


def draw(space: SearchSpace, samples: int) -> list[Genotype]:
    """Different architectures of a space, always the same ones; fewer if it has no more."""
    rng, genotypes = Random(SEED), dict[Genotype, None]()
    for _ in range(MAX_DRAWS * samples):
        genotypes.setdefault(sample(space, rng))
        if len(genotypes) == samples:
            break
    return list(genotypes)
