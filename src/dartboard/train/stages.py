"""The three stages: search, choose, train the best anew; what is decided on the way stands (gaea C.1)."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from dartboard.errors import DivergedError
from dartboard.runs import Run
from dartboard.search.record import to_json
from dartboard.space import Genotype, SearchSpace, decode, enumerate_genotypes, sample
from dartboard.space.graph import count
from dartboard.train.build import VALID
from dartboard.train.compare import DIVERGED, affordable, sift
from dartboard.train.decisions import Decisions
from dartboard.train.inner import Inner
from dartboard.train.jobs import Jobs

log = logging.getLogger(__name__)

FOUND, RANDOM = "found", "random"
"""The two arms: networks that were searched for, and random ones."""


@dataclass(frozen=True)
class Network:
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
class Choice:
    """What stage 2 came to.

    Args:
        best: The best network by held-out images.
        networks: All that it was chosen among.
        trials: What became of each, by name.
    """

    best: Network
    networks: Sequence[Network]
    trials: Mapping[str, Trial]


def distinct(found: Mapping[int, Any]) -> list[Network]:
    """The different genotypes among those that searches found, by their seeds, in the order of these."""
    groups: dict[str, list[int]] = {}
    for seed, genotype in found.items():
        groups.setdefault(json.dumps(genotype), []).append(seed)
    return [
        Network(f"{FOUND}-{number}", json.loads(text), seeds)
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


@dataclass(frozen=True, eq=False)
class Stages:
    """Goes through the stages of a protocol.

    Args:
        jobs: Makes its searches and trainings.
        inner: Does them.
        decisions: What has been decided.
        examples: How many images networks are chosen with.
        tell: Is told what is decided, in words.
    """

    jobs: Jobs
    inner: Inner
    decisions: Decisions
    examples: int
    tell: Callable[[str], None]

    def search(self) -> tuple[list[Run], list[Network]]:
        """Stage 1: the searches, and the different networks that they found."""
        config = self.jobs.config
        self._say(f"stage 1: {config.searches} searches")
        runs = [self.inner.finish(self.jobs.search(number)) for number in range(config.searches)]
        found = {run.config["seed"]: _result(run)["genotype"] for run in runs}
        kept = self.decisions.once(FOUND, lambda: [asdict(own) for own in distinct(found)])
        networks = [Network(**own) for own in kept]
        for network in networks:
            if len(network.seeds) > 1:
                seeds = ", ".join(map(str, network.seeds))
                self._say(f"the searches with seeds {seeds} found the same network: it is trained once")
        return runs, networks

    def draw(self, runs: Sequence[Run], trials: Mapping[str, Trial]) -> list[Network]:
        """Random networks: as many as searches, or as many as the searches and trainings took time for.

        Args:
            runs: The searches.
            trials: What became of the networks that they found.
        """
        config, space = self.jobs.config, self.jobs.material.space
        budget = self.decisions.once("budget", lambda: self._budget(runs, trials))
        rng = Random(f"{config.seed} random architectures")

        def drawn() -> list[dict[str, Any]]:
            found = map(to_json, draw(space, budget["networks"], rng))
            return [asdict(Network(f"{RANDOM}-{n}", genotype, ())) for n, genotype in enumerate(found)]

        return [Network(**own) for own in self.decisions.once(RANDOM, drawn)]

    def _budget(self, runs: Sequence[Run], trials: Mapping[str, Trial]) -> dict[str, Any]:
        config = self.jobs.config
        if config.random == "count":
            return {"networks": config.searches}
        seconds = sum(_result(run)["seconds"] for run in runs)
        costs = [own.short_seconds for own in trials.values() if own.short_seconds is not None]
        more = affordable(seconds, costs)
        self._say(f"{seconds:.0f} s of searching pay for {more} more random networks in stage 2")
        return {"search_seconds": seconds, "short_seconds": costs, "networks": len(trials) + more}

    def choose(self, arm: str, networks: Sequence[Network]) -> Choice:
        """Stage 2: trains networks for a while, drops the clearly bad, and trains the others to the end.

        Raises:
            DivergedError: If no training came to its end.
        """
        self._say(f"stage 2, {arm}: {len(networks)} networks")
        first = self.decisions.once(f"kept {arm}", lambda: self._sift(networks))
        last = self.decisions.once(f"best {arm}", lambda: self._best(arm, networks, first))
        trials = {name: Trial(**{**first[name], **last["trials"].get(name, {})}) for name in first}
        return Choice(next(own for own in networks if own.name == last["name"]), networks, trials)

    def _sift(self, networks: Sequence[Network]) -> dict[str, Any]:
        """What each network comes to after a short training, and why it is dropped if it is."""
        config = self.jobs.config
        nothing = {"short": None, "short_seconds": None, "accuracy": None, "dropped": None}
        if config.short >= config.train.epochs:
            return {own.name: nothing for own in networks}
        rows = {own.name: self._begin(own) for own in networks}
        reasons = sift({name: row["short"] for name, row in rows.items()}, self.examples, config.keep)
        for name, reason in reasons.items():
            if reason is not None:
                self._say(f"train/{name} is dropped at epoch {config.short}: {reason}")
        return {name: {**nothing, **row, "dropped": reasons[name]} for name, row in rows.items()}

    def _begin(self, network: Network) -> dict[str, Any]:
        short = self.jobs.config.short
        job = self.jobs.choosing(network.name, network.cells)
        try:
            row = self.inner.begin(job, short).metrics()[short - 1]
        except DivergedError as error:
            log.warning("%s: %s", job.name, error)
            return {"short": None}
        return {"short": row[f"{VALID}_accuracy"], "short_seconds": row["seconds"]}

    def _best(self, arm: str, networks: Sequence[Network], first: Mapping[str, Any]) -> dict[str, Any]:
        """Trains those that were not dropped to the end, and names the best."""
        kept = [own for own in networks if first[own.name]["dropped"] is None]
        trials = {own.name: self._end(own, first[own.name]) for own in kept}
        known = {name: own["accuracy"] for name, own in trials.items() if own["accuracy"] is not None}
        if not known:
            raise DivergedError(
                f"the trainings of all {arm} networks diverged; a smaller train.weights.lr may help"
            )
        best = max(known, key=lambda name: known[name])
        self._say(f"train/{best} is the best {arm} network: {known[best]:.2%} of held-out images")
        return {"name": best, "trials": trials}

    def _end(self, network: Network, first: Mapping[str, Any]) -> dict[str, Any]:
        job = self.jobs.choosing(network.name, network.cells)
        try:
            result = _result(self.inner.finish(job))
        except DivergedError as error:
            log.warning("%s: %s", job.name, error)
            return {"accuracy": None, "dropped": DIVERGED}
        seconds = first["short_seconds"]
        return {
            "accuracy": result["last"][VALID]["top1"],
            "short_seconds": result["seconds"] if seconds is None else seconds,
        }

    def retrain(self, arm: str, network: Network) -> list[Run]:
        """Stage 3: trains the best network anew, with every seed."""
        seeds = self.jobs.config.seeds
        self._say(f"stage 3, {arm}: {network.name} with {seeds} seeds")
        cells = network.cells
        return [self.inner.finish(self.jobs.final(arm, cells, number)) for number in range(seeds)]

    def run_of(self, network: Network) -> Run:
        """The run of a network in stage 2, to look at."""
        return Run.read(self.inner.folder / "train" / network.name)

    def _say(self, words: str) -> None:
        log.info("%s", words)
        self.tell(words)


def _result(run: Run) -> dict[str, Any]:
    found = run.result()
    assert found is not None  # noqa: S101  # it is finished
    return found
