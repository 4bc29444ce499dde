"""The three stages: search, select, train the best again; what is decided on the way stands (gaea C.1)."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from statistics import fmean
from typing import Any

from dartboard.errors import DivergedError, RunError
from dartboard.jobs.job import Job, JobResult
from dartboard.jobs.queue import JobQueue
from dartboard.runs import Run
from dartboard.search.record import to_json
from dartboard.sweep.protocol.decisions import Decisions
from dartboard.sweep.protocol.jobs import ProtocolJobs
from dartboard.sweep.protocol.networks import FOUND, RANDOM, Candidate, Selection, Trial, distinct, draw
from dartboard.train.build import VALID
from dartboard.utils.statistics import DIVERGED, affordable, sift

log = logging.getLogger(__name__)

ROUNDING = 1 + 1e-9
"""Sums of times are compared up to it."""


@dataclass(frozen=True, eq=False)
class Stages:
    """Runs the stages of a protocol.

    Args:
        jobs: Makes its jobs.
        queue: Runs them.
        decisions: What has been decided.
        examples: Number of images that networks are selected with.
        message: Called with what is decided, in words.
    """

    jobs: ProtocolJobs
    queue: JobQueue
    decisions: Decisions
    examples: int
    message: Callable[[str], None]

    def search(self) -> tuple[list[Run], list[Candidate]]:
        """Stage 1: the searches, and the different networks that they found."""
        config = self.jobs.config
        self._log(f"stage 1: {config.searches} searches")
        runs = self._finish([self.jobs.search(number) for number in range(config.searches)])
        genotypes = {run.config["seed"]: _result(run)["genotype"] for run in runs}
        decided = self.decisions.once(FOUND, lambda: [asdict(network) for network in distinct(genotypes)])
        networks = [Candidate(**values) for values in decided]
        for network in networks:
            if len(network.seeds) > 1:
                seeds = ", ".join(map(str, network.seeds))
                self._log(f"the searches with seeds {seeds} found the same network: it is trained once")
        return runs, networks

    def draw(self, runs: Sequence[Run], trials: Mapping[str, Trial]) -> list[Candidate]:
        """Random networks: as many as searches, or as many as the searches and trainings took time for.

        Args:
            runs: The searches.
            trials: What became of the networks that they found.
        """
        budget = self.decisions.once("budget", lambda: self._budget(runs, trials))
        rng = Random(f"{self.jobs.config.seed} random architectures")

        def drawn() -> list[dict[str, Any]]:
            genotypes = map(to_json, draw(self.jobs.searched_space, budget["networks"], rng))
            return [asdict(Candidate(f"{RANDOM}-{n}", genotype, ())) for n, genotype in enumerate(genotypes)]

        return [Candidate(**values) for values in self.decisions.once(RANDOM, drawn)]

    def _budget(self, runs: Sequence[Run], trials: Mapping[str, Trial]) -> dict[str, Any]:
        config = self.jobs.config
        if config.random == "count":
            return {"networks": config.searches}
        seconds = sum(_result(run)["seconds"] for run in runs)
        costs = [trial.short_seconds for trial in trials.values() if trial.short_seconds is not None]
        more = affordable(seconds, costs)
        self._log(f"{seconds:.0f} s of searching pay for {more} more random networks in stage 2")
        return {"search_seconds": seconds, "short_seconds": costs, "networks": len(trials) + more}

    def select(self, arm: str, networks: Sequence[Candidate]) -> Selection:
        """Stage 2: trains networks for a while, drops the clearly bad, and trains the others to the end.

        Raises:
            DivergedError: If no training came to its end.
        """
        self._log(f"stage 2, {arm}: {len(networks)} networks")
        first = self.decisions.once(f"kept {arm}", lambda: self._screen(arm, networks))
        networks = [network for network in networks if network.name in first]
        last = self.decisions.once(f"best {arm}", lambda: self._best(arm, networks, first))
        trials = {name: Trial(**{**first[name], **last["trials"].get(name, {})}) for name in first}
        best = next(network for network in networks if network.name == last["name"])
        return Selection(best, networks, trials)

    def _screen(self, arm: str, networks: Sequence[Candidate]) -> dict[str, Any]:
        """Results of each network after a short training, and why it is dropped if it is."""
        config = self.jobs.config
        nothing = {"short": None, "short_seconds": None, "accuracy": None, "dropped": None}
        if config.short >= config.train.epochs:
            return {network.name: nothing for network in networks}
        rows = self._train_short(arm, networks)
        reasons = sift({name: row["short"] for name, row in rows.items()}, self.examples, config.keep)
        for name, reason in reasons.items():
            if reason is not None:
                self._log(f"train/{name} is dropped at epoch {config.short}: {reason}")
        return {name: {**nothing, **row, "dropped": reasons[name]} for name, row in rows.items()}

    def _train_short(self, arm: str, networks: Sequence[Candidate]) -> dict[str, dict[str, Any]]:
        """Short trainings; of random networks no more than the time pays for, should they be slower.

        As many are trained at a time as the executor takes. Which of them count is decided in their order, so
        that it does not depend on how many that are.
        """
        budget = (self.decisions.get("budget") or {}) if arm == RANDOM else {}
        costs = budget.get("short_seconds", [])
        short, size = self.jobs.config.short, max(self.queue.executor.capacity, 1)
        rows: dict[str, dict[str, Any]] = {}
        for start in range(0, len(networks), size if costs else max(len(networks), 1)):
            batch = networks[start : start + size] if costs else networks
            jobs = [self.jobs.screening(network.name, network.cells, short) for network in batch]
            results = {result.job.name: result for result in self._run(jobs)}
            for network, job in zip(batch, jobs, strict=True):
                spent = sum(row.get("short_seconds", 0.0) for row in rows.values())
                allowed = (budget["search_seconds"] + sum(costs)) * ROUNDING if costs else 0.0
                if rows and costs and spent + fmean(costs) > allowed:
                    self._log(f"the time is spent after {len(rows)} random networks")
                    return rows
                if _diverged(results[job.name]):
                    rows[network.name] = {"short": None}
                else:
                    row = Run.read(job.path).metrics()[short - 1]
                    rows[network.name] = {"short": row[f"{VALID}_accuracy"], "short_seconds": row["seconds"]}
        return rows

    def _best(self, arm: str, networks: Sequence[Candidate], first: Mapping[str, Any]) -> dict[str, Any]:
        """Trains those that were not dropped to the end, and names the best."""
        jobs = {
            network.name: self.jobs.screening(network.name, network.cells)
            for network in networks
            if first[network.name]["dropped"] is None
        }
        results = {result.job.name: result for result in self._run(list(jobs.values()))}
        trials: dict[str, dict[str, Any]] = {}
        for name, job in jobs.items():
            if _diverged(results[job.name]):
                trials[name] = {"accuracy": None, "dropped": DIVERGED}
                continue
            result, seconds = _result(Run.read(job.path)), first[name]["short_seconds"]
            trials[name] = {
                "accuracy": result["last"][VALID]["top1"],
                "short_seconds": result["seconds"] if seconds is None else seconds,
            }
        accuracies = {
            name: trial["accuracy"] for name, trial in trials.items() if trial["accuracy"] is not None
        }
        if not accuracies:
            raise DivergedError(
                f"the trainings of all {arm} networks diverged; a smaller train.weights.lr may help"
            )
        best = max(accuracies, key=lambda name: accuracies[name])
        self._log(f"train/{best} is the best {arm} network: {accuracies[best]:.2%} of held-out images")
        return {"name": best, "trials": trials}

    def retrain(self, arm: str, network: Candidate) -> list[Run]:
        """Stage 3: trains the best network again, with every seed."""
        seeds = self.jobs.config.seeds
        self._log(f"stage 3, {arm}: {network.name} with {seeds} seeds")
        return self._finish([self.jobs.final(arm, network.cells, number) for number in range(seeds)])

    def screening_run(self, network: Candidate) -> Run:
        """The run of a network in stage 2, read-only."""
        return Run.read(self.jobs.folder / "train" / network.name)

    def _finish(self, jobs: Sequence[Job]) -> list[Run]:
        """Runs jobs to their ends; their runs in order.

        Raises:
            DivergedError: If one of them diverged.
        """
        for result in self._run(jobs):
            if _diverged(result):
                raise DivergedError(result.error)
        return [Run.read(job.path) for job in jobs]

    def _run(self, jobs: Sequence[Job]) -> Iterator[JobResult]:
        """Results of jobs, in the order of completion.

        Raises:
            Stopped: If the queue was stopped; all states have been saved.
            RunError: If a job failed for another reason than that it diverged.
        """
        for result in self.queue.run(jobs):
            if _diverged(result):
                log.warning("%s: %s", result.job.name, result.error)
            elif result.state == "failed":
                raise RunError(f"{result.job.name}: {result.error}")
            yield result

    def _log(self, text: str) -> None:
        log.info("%s", text)
        self.message(text)


def _diverged(result: JobResult) -> bool:
    return result.error_type == DivergedError.__name__


def _result(run: Run) -> dict[str, Any]:
    result = run.result()
    assert result is not None  # noqa: S101  # it is finished
    return result
