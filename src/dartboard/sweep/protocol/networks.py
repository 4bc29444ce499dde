"""The networks that a protocol chooses among: found by searches, or drawn by chance."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from dartboard.space import Genotype, SearchSpace, decode, enumerate_genotypes, sample
from dartboard.space.graph import count

FOUND, RANDOM = "found", "random"
"""The two arms: networks that were searched for, and random ones."""


@dataclass(frozen=True)
class Candidate:
    """An architecture that is trained in stage 2.

    Args:
        name: What its run is called.
        genotype: Its cells, as plain values.
        seeds: Those of the searches that found it; none for one drawn by chance.
    """

    name: str
    genotype: Any
    seeds: Sequence[int]

    @property
    def cells(self) -> Genotype:
        """Its cells."""
        return decode(json.dumps(self.genotype))


@dataclass(frozen=True)
class Trial:
    """What became of a network in stage 2.

    Args:
        short: Its accuracy on held-out images after the short training; None if there was none.
        short_seconds: How long that took.
        accuracy: At the end; None for one that was dropped.
        dropped: Why it was dropped, in words; None for one that was not.
    """

    short: float | None
    short_seconds: float | None
    accuracy: float | None
    dropped: str | None


@dataclass(frozen=True)
class Selection:
    """What stage 2 came to.

    Args:
        best: The best network by held-out images.
        networks: All that it was chosen among.
        trials: What became of each, by name.
    """

    best: Candidate
    networks: Sequence[Candidate]
    trials: Mapping[str, Trial]


def distinct(found: Mapping[int, Any]) -> list[Candidate]:
    """The different genotypes among those that searches found, by their seeds, in the order of these."""
    groups: dict[str, list[int]] = {}
    for seed, genotype in found.items():
        groups.setdefault(json.dumps(genotype), []).append(seed)
    return [
        Candidate(f"{FOUND}-{number}", json.loads(text), seeds)
        for number, (text, seeds) in enumerate(groups.items())
    ]


def draw(space: SearchSpace, wanted: int, rng: Random) -> list[Genotype]:
    """So many different genotypes, drawn uniformly; all there are, if there are no more."""
    if 2 * wanted >= count(space):
        every = list(enumerate_genotypes(space))
        rng.shuffle(every)
        return every[:wanted]
    found: dict[Genotype, None] = {}
    while len(found) < wanted:
        found.setdefault(sample(space, rng))
    return list(found)
