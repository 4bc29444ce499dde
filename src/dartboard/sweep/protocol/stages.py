"""The three stages: search, choose, train the best anew; what is decided on the way stands (gaea C.1)."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from statistics import fmean
from typing import Any

from dartboard.errors import DivergedError
from dartboard.jobs.inner import Inner
from dartboard.runs import Run
from dartboard.search.record import to_json
from dartboard.sweep.protocol.decisions import Decisions
from dartboard.sweep.protocol.jobs import Jobs
from dartboard.sweep.protocol.networks import FOUND, RANDOM, Choice, Network, Trial, distinct, draw
from dartboard.train.build import VALID
from dartboard.utils.statistics import DIVERGED, affordable, sift

log = logging.getLogger(__name__)

ROUNDING = 1 + 1e-9
"""Sums of times are compared up to it."""


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
        first = self.decisions.once(f"kept {arm}", lambda: self._sift(arm, networks))
        networks = [own for own in networks if own.name in first]
        last = self.decisions.once(f"best {arm}", lambda: self._best(arm, networks, first))
        trials = {name: Trial(**{**first[name], **last["trials"].get(name, {})}) for name in first}
        return Choice(next(own for own in networks if own.name == last["name"]), networks, trials)

    def _sift(self, arm: str, networks: Sequence[Network]) -> dict[str, Any]:
        """What each network comes to after a short training, and why it is dropped if it is."""
        config = self.jobs.config
        nothing = {"short": None, "short_seconds": None, "accuracy": None, "dropped": None}
        if config.short >= config.train.epochs:
            return {own.name: nothing for own in networks}
        rows = self._begin_all(arm, networks)
        reasons = sift({name: row["short"] for name, row in rows.items()}, self.examples, config.keep)
        for name, reason in reasons.items():
            if reason is not None:
                self._say(f"train/{name} is dropped at epoch {config.short}: {reason}")
        return {name: {**nothing, **row, "dropped": reasons[name]} for name, row in rows.items()}

    def _begin_all(self, arm: str, networks: Sequence[Network]) -> dict[str, dict[str, Any]]:
        """Short trainings; of random networks no more than the time pays for, should they be slower."""
        budget = (self.decisions.get("budget") or {}) if arm == RANDOM else {}
        costs = budget.get("short_seconds", [])
        rows: dict[str, dict[str, Any]] = {}
        for own in networks:
            spent = sum(row.get("short_seconds", 0.0) for row in rows.values())
            if rows and costs and spent + fmean(costs) > (budget["search_seconds"] + sum(costs)) * ROUNDING:
                self._say(f"the time is spent after {len(rows)} random networks")
                break
            rows[own.name] = self._begin(own)
        return rows

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
