"""The three-stage protocol, which can be stopped, killed and resumed (Li et al. 2021, C.1).

Several searches; each different network that they found is trained for a few epochs, the clearly bad are
dropped, the others trained to the end; the best is trained anew with many seeds. Random architectures with
the same budget go through the same, so that the benefit of the search can be seen.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from statistics import fmean
from typing import Any

import torch

from dartboard.engine.process import logged
from dartboard.errors import DivergedError, RunError
from dartboard.jobs.executors.base import Executor
from dartboard.jobs.executors.inline import InlineExecutor
from dartboard.jobs.job import Job, JobResult
from dartboard.jobs.monitor import Monitor
from dartboard.jobs.queue import JobQueue
from dartboard.jobs.runner import JobRunner
from dartboard.runs import SPACE, Run
from dartboard.search.hooks import AnyHook
from dartboard.search.record import to_json
from dartboard.space import SearchSpace, load_space, space_from_json, space_to_json
from dartboard.sweep.decision_log import DecisionLog
from dartboard.sweep.protocol.config import PROTOCOL, ProtocolConfig
from dartboard.sweep.protocol.jobs import (
    FOUND,
    RANDOM,
    Candidate,
    ProtocolJobs,
    Selection,
    Trial,
    distinct_candidates,
    draw_genotypes,
)
from dartboard.sweep.protocol.results import (
    ProtocolResult,
    arm,
    candidate_facts,
    conclude,
    measured_on,
    search_facts,
)
from dartboard.sweep.pruning import DIVERGED, sift
from dartboard.train.build import VALID
from dartboard.utils.progress import Progress
from dartboard.utils.statistics import affordable

log = logging.getLogger(__name__)

ROUNDING = 1 + 1e-9
"""Tolerance of comparisons of sums of times."""


@dataclass(frozen=True, eq=False)
class Stages:
    """Runs the stages of a protocol.

    Args:
        jobs: Makes its jobs.
        queue: Runs them.
        log: Log of the decisions.
        examples: Number of images that networks are selected with.
        message: Called with one line for each stage and decision.
    """

    jobs: ProtocolJobs
    queue: JobQueue
    log: DecisionLog
    examples: int
    message: Callable[[str], None]

    def search(self) -> tuple[list[Run], list[Candidate]]:
        """Stage 1: the searches, and the distinct networks that they found."""
        config = self.jobs.config
        self._message(f"stage 1: {config.searches} searches")
        runs = self._finish([self.jobs.search(number) for number in range(config.searches)])
        genotypes = {run.config["seed"]: _result(run)["genotype"] for run in runs}
        decided = self.log.once(
            FOUND, lambda: [asdict(candidate) for candidate in distinct_candidates(genotypes)]
        )
        candidates = [Candidate(**values) for values in decided]
        for candidate in candidates:
            if len(candidate.seeds) > 1:
                seeds = ", ".join(map(str, candidate.seeds))
                self._message(f"the searches with seeds {seeds} found the same network: it is trained once")
        return runs, candidates

    def draw(self, runs: Sequence[Run], trials: Mapping[str, Trial]) -> list[Candidate]:
        """Random networks: as many as searches, or as many as the searches and trainings took time for.

        Args:
            runs: The searches.
            trials: Results of the networks that they found.
        """
        budget = self.log.once("budget", lambda: self._budget(runs, trials))
        rng = Random(f"{self.jobs.config.seed} random architectures")

        def drawn() -> list[dict[str, Any]]:
            genotypes = map(to_json, draw_genotypes(self.jobs.searched_space, budget["networks"], rng))
            return [asdict(Candidate(f"{RANDOM}-{n}", genotype, ())) for n, genotype in enumerate(genotypes)]

        return [Candidate(**values) for values in self.log.once(RANDOM, drawn)]

    def _budget(self, runs: Sequence[Run], trials: Mapping[str, Trial]) -> dict[str, Any]:
        config = self.jobs.config
        if config.random == "count":
            return {"networks": config.searches}
        seconds = sum(_result(run)["seconds"] for run in runs)
        costs = [trial.short_seconds for trial in trials.values() if trial.short_seconds is not None]
        more = affordable(seconds, costs)
        self._message(f"{seconds:.0f} s of searching pay for {more} more random networks in stage 2")
        return {"search_seconds": seconds, "short_seconds": costs, "networks": len(trials) + more}

    def select(self, arm: str, candidates: Sequence[Candidate]) -> Selection:
        """Stage 2: trains candidates for a while, drops the clearly bad, and trains the others to the end.

        Raises:
            DivergedError: If no training came to its end.
        """
        self._message(f"stage 2, {arm}: {len(candidates)} networks")
        first = self.log.once(f"kept {arm}", lambda: self._screen(arm, candidates))
        candidates = [candidate for candidate in candidates if candidate.name in first]
        last = self.log.once(f"best {arm}", lambda: self._best(arm, candidates, first))
        trials = {name: Trial(**{**first[name], **last["trials"].get(name, {})}) for name in first}
        best = next(candidate for candidate in candidates if candidate.name == last["name"])
        return Selection(best, candidates, trials)

    def _screen(self, arm: str, candidates: Sequence[Candidate]) -> dict[str, Any]:
        """Results of each candidate after a short training; `dropped` is the reason if it is dropped."""
        config = self.jobs.config
        nothing = {"short": None, "short_seconds": None, "accuracy": None, "dropped": None}
        if config.short >= config.train.epochs:
            return {candidate.name: nothing for candidate in candidates}
        rows = self._train_short(arm, candidates)
        reasons = sift({name: row["short"] for name, row in rows.items()}, self.examples, config.keep)
        for name, reason in reasons.items():
            if reason is not None:
                self._message(f"train/{name} is dropped at epoch {config.short}: {reason}")
        return {name: {**nothing, **row, "dropped": reasons[name]} for name, row in rows.items()}

    def _train_short(self, arm: str, candidates: Sequence[Candidate]) -> dict[str, dict[str, Any]]:
        """Short trainings; of random networks no more than the time pays for, should they be slower.

        As many are trained at a time as the executor takes. Which of them count is decided in their order, so
        that it does not depend on how many that are.
        """
        budget = (self.log.get("budget") or {}) if arm == RANDOM else {}
        costs = budget.get("short_seconds", [])
        short, size = self.jobs.config.short, max(self.queue.executor.capacity, 1)
        rows: dict[str, dict[str, Any]] = {}
        for start in range(0, len(candidates), size if costs else max(len(candidates), 1)):
            batch = candidates[start : start + size] if costs else candidates
            jobs = [self.jobs.screening(candidate.name, candidate.cells, short) for candidate in batch]
            results = {result.job.name: result for result in self._run(jobs)}
            for candidate, job in zip(batch, jobs, strict=True):
                spent = sum(row.get("short_seconds", 0.0) for row in rows.values())
                allowed = (budget["search_seconds"] + sum(costs)) * ROUNDING if costs else 0.0
                if rows and costs and spent + fmean(costs) > allowed:
                    self._message(f"the time is spent after {len(rows)} random networks")
                    return rows
                if _diverged(results[job.name]):
                    rows[candidate.name] = {"short": None}
                else:
                    row = Run.read(job.path).metrics()[short - 1]
                    rows[candidate.name] = {
                        "short": row[f"{VALID}_accuracy"],
                        "short_seconds": row["seconds"],
                    }
        return rows

    def _best(self, arm: str, candidates: Sequence[Candidate], first: Mapping[str, Any]) -> dict[str, Any]:
        """Trains those that were not dropped to the end, and names the best."""
        jobs = {
            candidate.name: self.jobs.screening(candidate.name, candidate.cells)
            for candidate in candidates
            if first[candidate.name]["dropped"] is None
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
        self._message(f"train/{best} is the best {arm} network: {accuracies[best]:.2%} of held-out images")
        return {"name": best, "trials": trials}

    def retrain(self, arm: str, candidate: Candidate) -> list[Run]:
        """Stage 3: trains the best network again, with every seed."""
        seeds = self.jobs.config.seeds
        self._message(f"stage 3, {arm}: {candidate.name} with {seeds} seeds")
        return self._finish([self.jobs.final(arm, candidate.cells, number) for number in range(seeds)])

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

    def _message(self, text: str) -> None:
        log.info("%s", text)
        self.message(text)


def _diverged(result: JobResult) -> bool:
    return result.error_type == DivergedError.__name__


def _result(run: Run) -> dict[str, Any]:
    result = run.result()
    assert result is not None  # noqa: S101  # it is finished
    return result


STACK = "stack"
"""Name of the decision that holds the space whose stack the cells go into."""


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
                stages = Stages(self.jobs, queue, DecisionLog(self.run.path), self.examples, self.message)
                result = self._run_stages(stages)
                self.run.finish(result.facts())
                return result
        finally:
            executor.close()
            self._queue, self._stopping = None, False

    def _run_stages(self, stages: Stages) -> ProtocolResult:
        stages.log.once(STACK, lambda: space_to_json(self.jobs.stack_space))
        searches, candidates = stages.search()
        selections = {FOUND: stages.select(FOUND, candidates)}
        if self.config.random != "none":
            drawn = stages.draw(searches, selections[FOUND].trials)
            selections[RANDOM] = stages.select(RANDOM, drawn)
        finals = {name: stages.retrain(name, selection.best) for name, selection in selections.items()}
        rows = [search_facts(run, candidates) for run in searches]
        search_seconds = {FOUND: sum(row.seconds for row in rows), RANDOM: 0.0}
        arms = {}
        for name, selection in selections.items():
            screened = []
            for candidate in selection.candidates:
                run = Run.read(self.jobs.folder / "train" / candidate.name)
                screened.append(candidate_facts(candidate, selection.trials[candidate.name], run))
            arms[name] = arm(selection.best, screened, finals[name], search_seconds[name])
        return conclude(rows, arms, part=measured_on(finals[FOUND][0]), examples=self.examples)


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
