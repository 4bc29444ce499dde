"""Random cells of the spaces that were searched: a given number, or as many as some time pays for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import Any

from dartboard.runs import RunReader
from dartboard.space import (
    GENOTYPE_FORMATS,
    Genotype,
    SearchSpace,
    all_connected,
    count,
    draw_connected,
    enumerate_genotypes,
    sample,
)
from dartboard.space.genotype import MAX_DRAWS
from dartboard.sweep.cells import SweepCell, images_of

ROUNDING = 1 + 1e-9
"""Tolerance of comparisons of sums of times."""
NO_TIME = "the time of random cells is spent"
"""Reason for which random cells are pruned that a budget does not pay for."""


@dataclass(frozen=True)
class Budget:
    """The time that random cells of a stage may take, as decisions record it.

    Args:
        search_seconds: Duration of the searches that found the cells they are compared with.
        short_seconds: Duration of the trainings of each of these cells, up to the first comparison.
        networks: Number of random cells that this pays for.
    """

    search_seconds: float
    short_seconds: Sequence[float]
    networks: int

    def is_spent(self, seconds: float) -> bool:
        """True if another cell would take more time than is left after this many seconds."""
        allowed = (self.search_seconds + sum(self.short_seconds)) * ROUNDING
        return seconds + fmean(self.short_seconds) > allowed


def draw_genotypes(space: SearchSpace, size: int, rng: Random) -> list[Genotype]:
    """A number of distinct genotypes, drawn uniformly; all of them if the space has no more.

    Those in which nothing leads from the inputs to the output are not among them.
    """
    if 2 * size >= count(space):
        every = list(filter(all_connected, enumerate_genotypes(space)))
        rng.shuffle(every)
        return every[:size]
    genotypes: dict[Genotype, None] = {}
    repeats = 0
    while len(genotypes) < size and repeats < MAX_DRAWS:
        before = len(genotypes)
        genotypes.setdefault(draw_connected(lambda: sample(space, rng)))
        repeats = repeats + 1 if len(genotypes) == before else 0
    return list(genotypes)


def random_cells(
    searches: Sequence[Mapping[str, Any]],
    space_of: Callable[[Mapping[str, Any]], SearchSpace],
    size: int,
    seed: int,
) -> list[SweepCell]:
    """So many distinct random cells for each of these configurations of searches, from its space."""
    cells: list[SweepCell] = []
    for config in searches:
        space, rng = space_of(config), Random(f"{seed} random architectures")
        for genotype in draw_genotypes(space, size, rng):
            text, label = GENOTYPE_FORMATS["json"].encode(genotype), f"random-{len(cells)}"
            name, stack = config["space"]["name"], space.stack.cells
            cells.append(SweepCell(label, text, name, stack, images_of(config)))
    return cells


def seconds_of(run: RunReader, epochs: int | None) -> float | None:
    """Duration of a run up to this epoch, by default to its end; None if it has not got there."""
    if epochs is None:
        result = run.result()
        return None if result is None else float(result["seconds"])
    rows = run.metrics()[epochs - 1 : epochs]
    return float(rows[0]["seconds"]) if rows else None
