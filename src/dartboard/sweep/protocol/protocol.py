"""The three-stage protocol, which can be stopped, killed and resumed (Li et al. 2021, C.1).

Several searches; each different network that they found is trained for a few epochs, the clearly bad are
dropped, the others trained to the end; the best is trained anew with many seeds. Random architectures with
the same budget go through the same, so that the benefit of the search can be seen.
"""

import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from random import Random
from statistics import fmean
from typing import Any

import torch

from dartboard.engine.process import logged
from dartboard.errors import DivergedError, RunError
from dartboard.jobs.executors.base import Executor
from dartboard.jobs.executors.inline import InlineExecutor
from dartboard.jobs.job import Job, JobResult, Monitor
from dartboard.jobs.queue import JobQueue
from dartboard.jobs.runner import JobRunner
from dartboard.runs import SPACE, Run
from dartboard.search.hooks import AnyHook
from dartboard.search.record import to_json
from dartboard.space import SearchSpace, load_space, space_from_json, space_to_json
from dartboard.sweep.decision_log import DecisionLog
from dartboard.sweep.driver import run_stages
from dartboard.sweep.protocol.config import PROTOCOL, ProtocolConfig
from dartboard.sweep.protocol.jobs import (
    FOUND,
    RANDOM,
    ProtocolCell,
    ProtocolJobs,
    Selection,
    Trial,
    distinct_cells,
    draw_genotypes,
)
from dartboard.sweep.protocol.results import ProtocolResult, conclude
from dartboard.sweep.pruning import DIVERGED, sift
from dartboard.train.build import VALID
from dartboard.utils.progress import Progress
from dartboard.utils.statistics import affordable

log = logging.getLogger(__name__)

ROUNDING = 1 + 1e-9
"""Tolerance of comparisons of sums of times."""


STACK = "stack"
"""Name of the decision that holds the space whose stack the cells go into."""


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
            left = cells if self.log.get(f"best {arm}") is None else []
            jobs = [self.jobs.screening(cell.name, cell.decoded) for cell in left]
        else:
            best = {name: self.selection(name).best for name in self.arms}[arm]
            self._message(f"stage 3, {arm}: {best.name} with {config.seeds} seeds")
            jobs = [self.jobs.final(arm, best.decoded, number) for number in range(config.seeds)]
        self._jobs[stage] = jobs
        return jobs

    def runs(self, stage: str) -> list[Run]:
        """The runs of a stage that has been run, in the order of its jobs."""
        return [Run.read(job.path) for job in self._jobs[stage]]

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

        count = self.log.once("budget", budget)["networks"]

        def draw() -> list[dict[str, Any]]:
            rng = Random(f"{config.seed} random architectures")
            genotypes = map(to_json, draw_genotypes(self.jobs.searched_space, count, rng))
            return [
                asdict(ProtocolCell(f"{RANDOM}-{number}", genotype, ()))
                for number, genotype in enumerate(genotypes)
            ]

        return [ProtocolCell(**values) for values in self.log.once(RANDOM, draw)]

    def rungs(self, stage: str) -> Sequence[int]:
        """Stage 2 has one, after the short trainings."""
        return (self.jobs.config.short,) if stage.startswith("train") else ()

    def prune(self, stage: str, epochs: int, jobs: Mapping[str, Job], queue: JobQueue) -> Collection[str]:
        """Names of the jobs that are dropped after the short trainings, or that no time is left for.

        A training that is no longer than a short one is not paused, and none is dropped.
        """
        arm = stage.partition(" ")[2]
        nothing = {"short": None, "short_seconds": None, "accuracy": None, "dropped": None}

        def screen() -> dict[str, Any]:
            if epochs >= self.jobs.config.train.epochs:
                return {job.path.name: nothing for job in jobs.values()}
            rows = self._train_short(arm, [replace(job, until=epochs) for job in jobs.values()], queue)
            accuracies = {name: row["short"] for name, row in rows.items()}
            reasons = sift(accuracies, self.examples, self.jobs.config.keep)
            for name, reason in reasons.items():
                if reason is not None:
                    self._message(f"train/{name} is dropped at epoch {epochs}: {reason}")
            return {name: {**nothing, **row, "dropped": reasons[name]} for name, row in rows.items()}

        kept = self.log.once(f"kept {arm}", screen)
        staying = [name for name, row in kept.items() if row["dropped"] is None]
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
                row = Run.read(job.path).metrics()[(job.until or 0) - 1]
                accuracy, seconds = row[f"{VALID}_accuracy"], row["seconds"]
                rows[job.path.name] = {"short": accuracy, "short_seconds": seconds}
        return rows

    def selection(self, arm: str) -> Selection:
        """Result of stage 2, whose trainings have ended.

        Raises:
            DivergedError: If none of them came to its end.
        """
        kept = self.log.get(f"kept {arm}")
        cells = [ProtocolCell(**values) for values in self.log.get(arm) if values["name"] in kept]
        last = self.log.once(f"best {arm}", lambda: self._best(arm, kept))
        trials = {name: Trial(**{**kept[name], **last["trials"].get(name, {})}) for name in kept}
        best = next(cell for cell in cells if cell.name == last["name"])
        return Selection(best, cells, trials)

    def _best(self, arm: str, kept: Mapping[str, Any]) -> dict[str, Any]:
        """The results of the cells that were trained to the end, and the name of the best."""
        trials: dict[str, dict[str, Any]] = {}
        for name in [name for name, row in kept.items() if row["dropped"] is None]:
            if f"train/{name}" in self._diverged:
                trials[name] = {"accuracy": None, "dropped": DIVERGED}
                continue
            result = _result(Run.read(self.jobs.folder / "train" / name))
            seconds = kept[name]["short_seconds"]
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


def _result(run: Run) -> dict[str, Any]:
    result = run.result()
    assert result is not None  # noqa: S101  # it is finished
    return result


class Protocol:
    """The three-stage protocol, in a run that has ordinary runs inside.

    In its directory are `search/s0`, ...; `train/found-0`, ... and `train/random-0`, ... of stage 2;
    `final/found-s0`, ... and `final/random-s0`, ... of stage 3; and decisions.json. The same configuration
    gives the same result, whether it runs through or is killed and resumed, but for times; with
    `random: time` the number of random networks follows from times, and is decided once.

    Args:
        config: What to do.
        space: Searched in the place of the one that `config` names, if given.
        stack: Takes the cells in the place of the one that `config` names, if given.
        device: Where to compute.
        run: Where to write; must be set before `fit`.
        hooks: Hooks of every search and every training, for jobs that run in this process.
        message: Called with one line for each stage and decision.
        progress: Reports how far the loading of images is.
        executor: Where the jobs run; by default in this process. Closed at the end of `fit`.
        monitor: Callbacks for what happens to jobs.

    Raises:
        DartboardError: If a search or a training could not be made.
    """

    def __init__(
        self,
        config: ProtocolConfig,
        space: SearchSpace | None = None,
        stack: SearchSpace | None = None,
        *,
        device: torch.device | str = "cpu",
        run: Run | None = None,
        hooks: Sequence[AnyHook] = (),
        message: Callable[[str], None] = lambda _: None,
        progress: Progress | None = None,
        executor: Executor | None = None,
        monitor: Monitor | None = None,
    ) -> None:
        self.config, self.run, self.hooks, self.message = config, run, tuple(hooks), message
        self.device, self.executor, self.monitor = torch.device(device), executor, monitor
        self.jobs = ProtocolJobs(config, space, stack, self.device, progress)
        self.examples = self.jobs.rehearse()
        self._queue: JobQueue | None = None
        self._stopping = False

    def stop(self) -> None:
        """Asks to save the state after the current step and to stop; for signal handlers."""
        self._stopping = True
        if self._queue is not None:
            self._queue.stop()

    def fit(self, *, fall_back: bool = False) -> ProtocolResult:
        """Runs all stages, from where an earlier process left off.

        Args:
            fall_back: Whether an older checkpoint will do where the last is damaged.

        Raises:
            Stopped: If `stop` was called; the state has been saved.
            DivergedError: If a search, a training of stage 3, or all of stage 2 diverged.
            RunError: If there is no run to write to.
        """
        if self.run is None:
            raise RunError("a protocol needs a run to write to: set `run` to Run.create(...)")
        self.jobs.folder, self.jobs.fall_back = self.run.path, fall_back
        executor = self.executor or InlineExecutor(JobRunner(self.hooks, builder=self.jobs.builder))
        queue = self._queue = JobQueue(executor, monitor=self.monitor)
        if self._stopping:  # the request may have come before there was a queue
            queue.stop()
        try:
            with logged(self.run):
                plan = ProtocolPlan(self.jobs, DecisionLog(self.run.path), self.examples, self.message)
                plan.log.once(STACK, lambda: space_to_json(self.jobs.stack_space))
                run_stages(plan, queue)
                selections = {arm: plan.selection(arm) for arm in plan.arms}
                finals = {arm: plan.runs(f"final {arm}") for arm in plan.arms}
                result = conclude(plan.runs("search"), selections, finals, self.examples)
                self.run.finish(result.facts())
                return result
        finally:
            executor.close()
            self._queue, self._stopping = None, False


def reopen(
    run: Run,
    *,
    device: torch.device | str = "cpu",
    hooks: Sequence[AnyHook] = (),
    message: Callable[[str], None] = lambda _: None,
    progress: Progress | None = None,
    executor: Executor | None = None,
    monitor: Monitor | None = None,
) -> Protocol:
    """The protocol of an existing run, with the space and the stack that it has recorded.

    Args:
        run: The run to resume.
        device: Where to compute.
        hooks: Hooks of every search and every training.
        message: Called with one line for each stage and decision.
        progress: Reports how far the loading of images is.
        executor: Where the jobs run; by default in this process.
        monitor: Callbacks for what happens to jobs.
    """
    text = DecisionLog(run.path).get(STACK)
    return Protocol(
        PROTOCOL.validate(run.config),
        load_space(run.path / SPACE),
        None if text is None else space_from_json(text),
        device=device,
        run=run,
        hooks=hooks,
        message=message,
        progress=progress,
        executor=executor,
        monitor=monitor,
    )
