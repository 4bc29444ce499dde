"""The plan of a protocol, a preset of a sweep with three stages (Li et al. 2021, C.1), and what it decides.

Several searches; each different network that they found is trained for a few epochs, the clearly bad are
pruned, the others trained to the end; the best is trained anew with many seeds. Random architectures with
the same budget go through the same, so that the benefit of the search can be seen.
"""

import json
import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from random import Random
from statistics import fmean
from typing import Any

from dartboard.errors import DivergedError, RunError
from dartboard.jobs.job import Job, JobResult
from dartboard.jobs.queue import JobQueue
from dartboard.runs import RunReader
from dartboard.search.record import to_json
from dartboard.space import Genotype, SearchSpace, decode, enumerate_genotypes, sample
from dartboard.space.graph import count
from dartboard.sweep.decision_log import DecisionLog
from dartboard.sweep.protocol.jobs import ProtocolJobs
from dartboard.sweep.pruning import DIVERGED, reasons_to_prune
from dartboard.train.build import VALID
from dartboard.utils.statistics import affordable

log = logging.getLogger(__name__)

ROUNDING = 1 + 1e-9
"""Tolerance of comparisons of sums of times."""


FOUND, RANDOM = "found", "random"
"""The two arms: networks that searches found, and random ones."""


@dataclass(frozen=True)
class ProtocolCell:
    """An architecture that is trained in stage 2, as decisions record it.

    Args:
        name: Name of its run.
        genotype: Its cells, as plain values.
        seeds: Seeds of the searches that found it; empty for a random one.
    """

    name: str
    genotype: Any
    seeds: Sequence[int]

    @property
    def decoded(self) -> Genotype:
        """Its genotype."""
        return decode(json.dumps(self.genotype))


@dataclass(frozen=True)
class Trial:
    """Result of a cell in stage 2.

    Args:
        short: Accuracy on held-out images after the short training; None if there was none.
        short_seconds: Duration of the short training.
        accuracy: Accuracy at the end; None for one that was pruned.
        dropped: Reason for which it was pruned; None for one that was not.
    """

    short: float | None
    short_seconds: float | None
    accuracy: float | None
    dropped: str | None


@dataclass(frozen=True)
class Selection:
    """Result of stage 2.

    Args:
        best: The best cell by held-out images.
        cells: All that it was selected among.
        trials: The result of each, by name.
    """

    best: ProtocolCell
    cells: Sequence[ProtocolCell]
    trials: Mapping[str, Trial]


def distinct_cells(genotypes: Mapping[int, Any]) -> list[ProtocolCell]:
    """The distinct ones among the genotypes that searches found: plain values by the seed of the search."""
    groups: dict[str, list[int]] = {}
    for seed, genotype in genotypes.items():
        groups.setdefault(json.dumps(genotype), []).append(seed)
    return [
        ProtocolCell(f"{FOUND}-{number}", json.loads(text), seeds)
        for number, (text, seeds) in enumerate(groups.items())
    ]


def draw_genotypes(space: SearchSpace, size: int, rng: Random) -> list[Genotype]:
    """A number of distinct genotypes, drawn uniformly; all of them if the space has no more."""
    if 2 * size >= count(space):
        every = list(enumerate_genotypes(space))
        rng.shuffle(every)
        return every[:size]
    genotypes: dict[Genotype, None] = {}
    while len(genotypes) < size:
        genotypes.setdefault(sample(space, rng))
    return list(genotypes)


@dataclass(eq=False)
class ProtocolPlan:
    """The plan of a protocol, a preset of a sweep: `search`, then `train` and `final` of each arm.

    Args:
        jobs: Makes its jobs.
        log: Log of the decisions.
        examples: Number of images that networks are selected with.
        message: Called with one line for each stage and decision.
    """

    jobs: ProtocolJobs
    log: DecisionLog
    examples: int
    message: Callable[[str], None]
    _jobs: dict[str, list[Job]] = field(default_factory=dict, init=False)
    _diverged: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self.arms = (FOUND,) if self.jobs.config.random == "none" else (FOUND, RANDOM)
        self.stages = ["search", *(f"{kind} {arm}" for kind in ("train", "final") for arm in self.arms)]

    def begin(self, stage: str) -> list[Job]:
        """The jobs of a stage; first decides what follows from the stages before it."""
        config, (kind, _, arm) = self.jobs.config, stage.partition(" ")
        if kind == "search":
            self._message(f"stage 1: {config.searches} searches")
            jobs = [self.jobs.search(number) for number in range(config.searches)]
        elif kind == "train":
            cells = self._found_cells() if arm == FOUND else self._random_cells()
            self._message(f"stage 2, {arm}: {len(cells)} networks")
            pending = cells if self.log.get(f"best {arm}") is None else []
            jobs = [self.jobs.screening(cell.name, cell.decoded) for cell in pending]
        else:
            best = {name: self.selection(name).best for name in self.arms}[arm]
            self._message(f"stage 3, {arm}: {best.name} with {config.seeds} seeds")
            jobs = [self.jobs.final(arm, best.decoded, number) for number in range(config.seeds)]
        self._jobs[stage] = jobs
        return jobs

    def runs(self, stage: str) -> list[RunReader]:
        """The runs of a stage that has been run, in the order of its jobs."""
        return [RunReader.read(job.path) for job in self._jobs[stage]]

    def _found_cells(self) -> list[ProtocolCell]:
        """The distinct cells that the searches found."""
        genotypes = {run.config["seed"]: _result(run)["genotype"] for run in self.runs("search")}
        decided = self.log.once(FOUND, lambda: [asdict(cell) for cell in distinct_cells(genotypes)])
        cells = [ProtocolCell(**values) for values in decided]
        for cell in cells:
            if len(cell.seeds) > 1:
                seeds = ", ".join(map(str, cell.seeds))
                self._message(f"the searches with seeds {seeds} found the same network: it is trained once")
        return cells

    def _random_cells(self) -> list[ProtocolCell]:
        """Random cells: as many as searches, or as many as the searches and trainings took time for."""
        config, trials = self.jobs.config, self.selection(FOUND).trials

        def budget() -> dict[str, Any]:
            if config.random == "count":
                return {"networks": config.searches}
            seconds = sum(_result(run)["seconds"] for run in self.runs("search"))
            costs = [trial.short_seconds for trial in trials.values() if trial.short_seconds is not None]
            more = affordable(seconds, costs)
            self._message(f"{seconds:.0f} s of searching pay for {more} more random networks in stage 2")
            return {"search_seconds": seconds, "short_seconds": costs, "networks": len(trials) + more}

        size = self.log.once("budget", budget)["networks"]

        def draw() -> list[dict[str, Any]]:
            rng = Random(f"{config.seed} random architectures")
            genotypes = map(to_json, draw_genotypes(self.jobs.searched_space, size, rng))
            return [
                asdict(ProtocolCell(f"{RANDOM}-{number}", genotype, ()))
                for number, genotype in enumerate(genotypes)
            ]

        return [ProtocolCell(**values) for values in self.log.once(RANDOM, draw)]

    def rungs(self, stage: str) -> Sequence[int]:
        """Stage 2 has one, after the short trainings."""
        return (self.jobs.config.short,) if stage.startswith("train") else ()

    def prune(self, stage: str, epochs: int, jobs: Mapping[str, Job], queue: JobQueue) -> Collection[str]:
        """Names of the jobs that are pruned after the short trainings, or that no time is left for.

        A training that is no longer than a short one is not paused, and none is pruned.
        """
        arm = stage.partition(" ")[2]
        blank = {"short": None, "short_seconds": None, "accuracy": None, "dropped": None}

        def screen() -> dict[str, Any]:
            if epochs >= self.jobs.config.train.epochs:
                return {job.path.name: blank for job in jobs.values()}
            rows = self._train_short(arm, [replace(job, until=epochs) for job in jobs.values()], queue)
            accuracies = {name: row["short"] for name, row in rows.items() if row["short"] is not None}
            reasons = dict.fromkeys(rows.keys() - accuracies.keys(), DIVERGED)
            reasons |= reasons_to_prune(accuracies, self.examples, self.jobs.config.keep)
            for name in rows:
                if name in reasons:
                    self._message(f"train/{name} is pruned at epoch {epochs}: {reasons[name]}")
            return {name: {**blank, **row, "dropped": reasons.get(name)} for name, row in rows.items()}

        rows = self.log.once(f"kept {arm}", screen)
        staying = [name for name, row in rows.items() if row["dropped"] is None]
        return [name for name, job in jobs.items() if job.path.name not in staying]

    def _train_short(self, arm: str, jobs: Sequence[Job], queue: JobQueue) -> dict[str, dict[str, Any]]:
        """Results of short trainings; of random cells no more than the time pays for, should they be slower.

        As many are trained at a time as the executor takes. Which of them count is decided in their order, so
        that it does not depend on how many that are.
        """
        budget = (self.log.get("budget") or {}) if arm == RANDOM else {}
        costs = budget.get("short_seconds", [])
        allowed = (budget["search_seconds"] + sum(costs)) * ROUNDING if costs else math.inf
        size = max(queue.executor.capacity if costs else len(jobs), 1)
        rows: dict[str, dict[str, Any]] = {}
        for start in range(0, len(jobs), size):
            batch = jobs[start : start + size]
            for result in queue.run(batch):
                self._check(result)
            for job in batch:
                spent = sum(row.get("short_seconds", 0.0) for row in rows.values())
                if rows and costs and spent + fmean(costs) > allowed:
                    self._message(f"the time is spent after {len(rows)} random networks")
                    return rows
                if job.name in self._diverged:
                    rows[job.path.name] = {"short": None}
                    continue
                row = RunReader.read(job.path).metrics()[(job.until or 0) - 1]
                accuracy, seconds = row[f"{VALID}_accuracy"], row["seconds"]
                rows[job.path.name] = {"short": accuracy, "short_seconds": seconds}
        return rows

    def selection(self, arm: str) -> Selection:
        """Result of stage 2, whose trainings have ended.

        Raises:
            DivergedError: If none of them came to its end.
        """
        rows = self.log.get(f"kept {arm}")
        cells = [ProtocolCell(**values) for values in self.log.get(arm) if values["name"] in rows]
        decision = self.log.once(f"best {arm}", lambda: self._best(arm, rows))
        trials = {name: Trial(**{**rows[name], **decision["trials"].get(name, {})}) for name in rows}
        best = next(cell for cell in cells if cell.name == decision["name"])
        return Selection(best, cells, trials)

    def _best(self, arm: str, rows: Mapping[str, Any]) -> dict[str, Any]:
        """The results of the cells that were trained to the end, and the name of the best."""
        trials: dict[str, dict[str, Any]] = {}
        for name in [name for name, row in rows.items() if row["dropped"] is None]:
            if f"train/{name}" in self._diverged:
                trials[name] = {"accuracy": None, "dropped": DIVERGED}
                continue
            result = _result(RunReader.read(self.jobs.folder / "train" / name))
            seconds = rows[name]["short_seconds"]
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
        self._message(f"train/{best} is the best {arm} network: {accuracies[best]:.2%} of held-out images")
        return {"name": best, "trials": trials}

    def end(self, result: JobResult) -> None:
        """Takes the result of a job.

        Raises:
            DivergedError: If a search or a training of stage 3 diverged.
            RunError: If a job failed for another reason.
        """
        self._check(result)
        if result.job.name in self._diverged and not result.job.name.startswith("train/"):
            raise DivergedError(result.error)

    def _check(self, result: JobResult) -> None:
        if result.error_type == DivergedError.__name__:
            log.warning("%s: %s", result.job.name, result.error)
            self._diverged.add(result.job.name)
        elif result.state == "failed":
            raise RunError(f"{result.job.name}: {result.error}")

    def _message(self, text: str) -> None:
        log.info("%s", text)
        self.message(text)


def _result(run: RunReader) -> dict[str, Any]:
    result = run.result()
    assert result is not None  # noqa: S101  # it is finished
    return result
